// Sockets that are under way in messages of sockets, and finding those that nobody can reach any more.
//
// A socket whose only references are in messages can be received again, as long as the sockets in whose queues these messages lie
// can be reached. Sockets that are in one another's queues and nowhere else would stay for ever: collect() finds and
// empties them.
//
// Why nothing that is reachable is taken for garbage: a socket is a candidate when all references to its file are counted here.
// It is garbage when all of them are found in queues of candidates that are garbage themselves. A file comes out of a
// message, or into one, only with a count changed under the lock that collect() holds all the while, so messages do not move
// meanwhile; and what a thread holds in its hands is either not counted, or counted and in no queue.
// Looks that take nothing (MSG_PEEK) only add references, and need a socket that can be reached.
// Source of the problem: Linux unix(7), SCM_RIGHTS. Lock: rank in_flight; a socket's own is taken inside.
#pragma once

#include "fs/socket/message.h"

namespace corral::fs::in_flight {

// The files get into a message, which is not in a queue yet; or they come out of one that is in no queue any more. No lock held.
void add(const Rights& rights);
void remove(const Rights& rights);
// A socket was closed: the time to look. No lock held.
void collect_if_due();

}  // namespace corral::fs::in_flight

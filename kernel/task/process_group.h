// Process groups that lose their last connection to their session: nobody is left who could continue what is stopped in them.
// A group is orphaned when no member has a parent in another group of the same session (POSIX.1-2017, 3.264). Unlike on Linux the
// first process is a parent like others: it may be the shell.
#pragma once

#include "lib/thread_annotations.h"
#include "lib/types.h"

namespace corral {

class Process;

namespace process_groups {

// Any step; takes processes::lock().
[[nodiscard]] bool is_orphaned(i32 group);
// The session that the group belongs to; 0: there is no such group.
[[nodiscard]] i32 session_of(i32 group);

// A process ends, and its children will be `heir`'s: marks the groups with stopped members that this orphans. True: hang_up_marked() is
// to be called, without the lock. The caller holds processes::lock(), and the process still has its children.
[[nodiscard]] bool mark_orphaned_by(Process& ending, const Process& heir);
// Their members get SIGHUP and SIGCONT.
void hang_up_marked();

// How many processes are stopped: while there is none, no group needs to be looked at.
void count_stopped(bool more);

}  // namespace process_groups
}  // namespace corral

// Sockets as open files.
#pragma once

#include "fs/socket/unix_socket.h"

namespace corral::fs {

// A file for the socket, which ends with it. `flags`: o_nonblock or 0. enomem: the socket is closed.
Result<Ref<OpenFile>> make_socket_file(Ref<Socket> socket, u32 flags);
// The socket behind an open file, or null.
[[nodiscard]] Socket* socket_of(OpenFile& file);
// The same if it is a UNIX socket.
[[nodiscard]] UnixSocket* unix_socket_of(OpenFile& file);
// Who the calling process is.
[[nodiscard]] Identity identity_of(const Thread& thread);         // who connects: what the peer is told (SO_PEERCRED)
[[nodiscard]] Identity sender_identity_of(const Thread& thread);  // who sends: what comes with a message (SCM_CREDENTIALS)

}  // namespace corral::fs

// Names of UNIX sockets: a path, whose file is found by its inode, or bytes of a name space of their own ("abstract").
// One table for the machine; a socket is in it from bind to its end. Beside it stands a list of all sockets that have a file.
// Lock: rank socket_names; a socket's own is taken inside.
#pragma once

#include <span>

#include "fs/inode.h"
#include "lib/ref.h"
#include "lib/result.h"

namespace corral::fs {

class UnixSocket;

// sun_path as it was bound, and for a path the file that it named then.
struct SocketName final : RefCounted<SocketName> {
  static constexpr u64 longest = 108;
  u32 size = 0;
  char text[longest];
  Ref<Inode> file;  // null: abstract
  [[nodiscard]] std::string_view view() const { return {text, size}; }
  // enomem.
  static Result<Ref<SocketName>> make(std::string_view text, Ref<Inode> file);
};

namespace socket_names {
// Gives the socket its name. eaddrinuse: abstract, and another one has it; einval: it has one already.
Result<void> bind(UnixSocket& socket, Ref<SocketName> name);
// An abstract name that is free: five hexadecimal digits. eaddrinuse: none left; einval; enomem.
Result<void> bind_any(UnixSocket& socket);
void enter(UnixSocket& socket);  // into the list
void remove(UnixSocket& socket);  // from both
// econnrefused: nobody has that name, or only sockets of other types; for a file eprototype: one of another type has.
Result<Ref<UnixSocket>> find(std::string_view abstract, u8 type);
Result<Ref<UnixSocket>> find(const Inode& file, u8 type);
// Writes down all of the list if there is room for it, each with a reference; answers how many there are.
u64 list(std::span<UnixSocket*> to);
}  // namespace socket_names

}  // namespace corral::fs

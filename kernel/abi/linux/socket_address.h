// Addresses of sockets as programs give and get them (struct sockaddr_un, sockaddr_in). Source: Linux man-pages unix(7), ip(7).
#pragma once

#include "abi/linux/file_handlers.h"
#include "fs/socket/socket_file.h"

namespace corral::abi {

inline constexpr u16 family_unspecified = 0, family_unix = 1, family_internet = 2;
inline constexpr u32 largest_address = 128;  // struct sockaddr_storage

// An address of a program, copied in.
struct SocketAddress {
  u16 family = family_unspecified;
  char path[largest_address];
  u32 size = 0;  // of the path's bytes that were given
  // Takes it in. einval: negative, or longer than any; efault, blocked.
  Result<void> take(Call& call, VirtualAddress from, i64 length);
  [[nodiscard]] bool abstract() const { return size > 0 && path[0] == 0; }
  // The path without what follows its NUL, or the whole abstract name.
  [[nodiscard]] std::string_view text() const;
  // A UNIX address with a name, no longer than any: else einval.
  [[nodiscard]] Result<void> check() const;
  // As struct sockaddr_in has it; what was not given is 0.
  [[nodiscard]] fs::InternetAddress internet() const;
};

// The socket that has this address. einval, enoent, econnrefused, eprototype, and the errors of paths.
Result<Ref<fs::UnixSocket>> socket_at(Call& call, const SocketAddress& address, fs::SocketType type);

// Tells where a socket is found as an address, cut to the program's room; `length_at` holds the room, and gets the whole length, which
// is 0 if nothing is to be told. Both must be prepared, or blocked is possible. efault; einval: negative room.
Result<void> tell_endpoint(Call& call, const fs::Endpoint& endpoint, VirtualAddress to, VirtualAddress length_at);
// Of the whole address.
[[nodiscard]] u32 length_of(const fs::Endpoint& endpoint);
// As tell_endpoint, room given; answers the whole length.
Result<u32> write_endpoint(Call& call, const fs::Endpoint& endpoint, VirtualAddress to, u32 room);

// The file and the socket behind a descriptor. enotsock.
inline Result<fs::Socket*> socket_behind(fs::OpenFile& file) {
  if ((file.flags() & fs::o_path) != 0) return Errno::ebadf;
  fs::Socket* socket = fs::socket_of(file);
  if (socket == nullptr) return Errno::enotsock;
  return socket;
}

[[nodiscard]] std::span<const Entry> socket_calls();
[[nodiscard]] std::span<const Entry> socket_option_calls();
[[nodiscard]] std::span<const Entry> message_calls();

}  // namespace corral::abi

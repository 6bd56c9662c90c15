// See socket_address.h.
#include "abi/linux/socket_address.h"

#include "fs/permission.h"
#include "lib/memory_functions.h"

namespace corral::abi {

Result<void> SocketAddress::take(Call& call, VirtualAddress from, i64 length) {
  if (length < 0 || length > largest_address) return Errno::einval;
  u8 bytes[largest_address] = {};
  TRY(vm::copy_in(call.space, call.thread.caller, bytes, from, static_cast<u64>(length)));
  size = 0;
  if (length < static_cast<i64>(sizeof family)) return {};
  memcpy(&family, bytes, sizeof family);
  size = static_cast<u32>(length) - static_cast<u32>(sizeof family);
  memcpy(path, bytes + sizeof family, size);
  return {};
}

std::string_view SocketAddress::text() const {
  if (abstract()) return {path, size};
  u32 length = 0;
  while (length < size && path[length] != 0) ++length;
  return {path, length};
}

Result<void> SocketAddress::check() const {
  if (family != family_unix || size == 0 || size > fs::SocketName::longest) return Errno::einval;
  return {};
}

Result<Ref<fs::UnixSocket>> socket_at(Call& call, const SocketAddress& address, fs::SocketType type) {
  TRY(address.check());
  const u8 number = static_cast<u8>(type);
  if (address.abstract()) return fs::socket_names::find(address.text(), number);
  const fs::WalkStart start = TRY(resources_of(call).start_at(call.thread, fs::at_fdcwd, address.text()));
  const Ref<fs::Inode> file = TRY(fs::find(start, address.text(), fs::Follow::yes));
  TRY(fs::permission::check(*file, call.thread.credentials(), fs::may_write));
  if (file->type() != fs::FileType::socket) return Errno::econnrefused;
  return fs::socket_names::find(*file, number);
}

u32 length_of(const fs::SocketName* name) {
  constexpr u32 family_size = sizeof family_unix;
  return name == nullptr ? family_size : family_size + name->size + (name->file ? 1 : 0);  // a path has its NUL
}

Result<u32> write_name(Call& call, const fs::SocketName* name, VirtualAddress to, u32 room) {
  char bytes[sizeof family_unix + fs::SocketName::longest + 1] = {};
  memcpy(bytes, &family_unix, sizeof family_unix);
  if (name != nullptr) memcpy(bytes + sizeof family_unix, name->text, name->size);
  const u32 length = length_of(name);
  TRY(vm::copy_out(call.space, call.thread.caller, to, bytes, fs::smaller(length, room)));
  return length;
}

Result<void> tell_name(Call& call, const fs::SocketName* name, VirtualAddress to, VirtualAddress length_at) {
  const i32 room = TRY(call.read<i32>(length_at));
  if (room < 0) return Errno::einval;
  const u32 length = TRY(write_name(call, name, to, static_cast<u32>(room)));
  return call.write(length_at, length);
}

}  // namespace corral::abi

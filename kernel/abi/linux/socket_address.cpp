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

fs::InternetAddress SocketAddress::internet() const {
  const auto byte = [&](u32 at) -> u32 { return at < size ? static_cast<u8>(path[at]) : 0; };
  return {byte(2) << 24 | byte(3) << 16 | byte(4) << 8 | byte(5), static_cast<u16>(byte(0) << 8 | byte(1))};
}

namespace {

constexpr u32 family_size = sizeof(u16);
constexpr u32 internet_size = 16;  // struct sockaddr_in

// Into `bytes`, which are zeros.
void write_unix(const fs::SocketName* name, char* bytes) {
  if (name != nullptr) memcpy(bytes, name->text, name->size);
}

void write_internet(const fs::InternetAddress& address, char* bytes) {
  const u32 values[] = {u32{address.port} >> 8, address.port,      address.host >> 24,
                        address.host >> 16,     address.host >> 8, address.host};
  for (const u32 value : values) *bytes++ = static_cast<char>(value);
}

}  // namespace

u32 length_of(const fs::Endpoint& endpoint) {
  const fs::SocketName* const name = endpoint.name.get();
  switch (endpoint.family) {
    case fs::SocketFamily::unspecified: return 0;
    case fs::SocketFamily::internet: return internet_size;
    case fs::SocketFamily::unix:
      return name == nullptr ? family_size : family_size + name->size + (name->file ? 1 : 0);  // a path has its NUL
  }
  return 0;
}

Result<u32> write_endpoint(Call& call, const fs::Endpoint& endpoint, VirtualAddress to, u32 room) {
  char bytes[family_size + fs::SocketName::longest + 1] = {};
  const u16 family = static_cast<u16>(endpoint.family);
  memcpy(bytes, &family, family_size);
  if (endpoint.family == fs::SocketFamily::internet) {
    write_internet(endpoint.address, bytes + family_size);
  } else {
    write_unix(endpoint.name.get(), bytes + family_size);
  }
  const u32 length = length_of(endpoint);
  TRY(vm::copy_out(call.space, call.thread.caller, to, bytes, fs::smaller(length, room)));
  return length;
}

Result<void> tell_endpoint(Call& call, const fs::Endpoint& endpoint, VirtualAddress to, VirtualAddress length_at) {
  const i32 room = TRY(call.read<i32>(length_at));
  if (room < 0) return Errno::einval;
  const u32 length = TRY(write_endpoint(call, endpoint, to, static_cast<u32>(room)));
  return call.write(length_at, length);
}

}  // namespace corral::abi

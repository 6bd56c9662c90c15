// socket, socketpair, bind, listen, accept, connect, shutdown and names. Source: Linux man-pages of these calls, unix(7).
// The order of the checks is Linux's. There are UNIX sockets, and Internet ones within the machine (docs/sockets.md).
#include "abi/linux/held_file.h"
#include "abi/linux/internet_calls.h"
#include "abi/linux/socket_address.h"
#include "fs/inode.h"
#include "fs/permission.h"
#include "fs/socket/time_limit.h"
#include "fs/watch/notices.h"
#include "memory/heap.h"

namespace corral::abi {

namespace {

using fs::OpenFile;
using fs::Socket;
using fs::SocketType;
using fs::UnixSocket;

constexpr u32 flag_mask = fs::o_cloexec | fs::o_nonblock;

u64 limit_of(Call& call) {
  return call.process.limits.open_files;
}

Result<int> install(Call& call, Ref<OpenFile> file, u32 flags) {
  return resources_of(call).files().install(std::move(file), (flags & fs::o_cloexec) != 0, limit_of(call));
}

// ---- making ------------------------------------------------------------------------------------------------------------

constexpr u32 type_mask = 0xf;

struct Kind {
  u16 family;
  SocketType type;
};

Result<SocketType> unix_type(u32 type, int protocol) {
  constexpr int unix_protocol = 1;
  if (protocol != 0 && protocol != unix_protocol) return Errno::eprotonosupport;
  switch (type) {
    case 1: return SocketType::stream;
    case 2:
    case 3: return SocketType::datagram;  // raw ones are datagrams
    case 5: return SocketType::packets;
    default: return Errno::esocktnosupport;
  }
}

Result<Kind> kind_of(int family, u32 wanted, int protocol) {
  constexpr int families = 46;
  constexpr u32 types = 11;
  if ((wanted & ~(type_mask | flag_mask)) != 0) return Errno::einval;
  const u32 type = wanted & type_mask;
  if (family < 0 || family >= families) return Errno::eafnosupport;
  if (type >= types) return Errno::einval;
  if (family == family_unix) return Kind{family_unix, TRY(unix_type(type, protocol))};
  if (family == family_internet) return Kind{family_internet, TRY(internet_type(type, protocol))};
  return Errno::eafnosupport;
}

Result<Ref<UnixSocket>> make_unix_socket(Call& call, SocketType type) {
  return Ref<UnixSocket>::adopt(TRY(memory::make<UnixSocket>(type, fs::identity_of(call.thread))));
}

Result<Ref<Socket>> make_socket(Call& call, const Kind& kind) {
  if (kind.family == family_internet) return Ref<Socket>{TRY(net::InternetSocket::make(kind.type))};
  return Ref<Socket>{TRY(make_unix_socket(call, kind.type))};
}

Result<i64> sys_socket(Call& call) {
  const u32 wanted = static_cast<u32>(call.argument[1]);
  const Kind kind = TRY(kind_of(call.number(0), wanted, call.number(2)));
  Ref<OpenFile> file = TRY(fs::make_socket_file(TRY(make_socket(call, kind)), wanted & fs::o_nonblock));
  return i64{TRY(install(call, file, wanted))};
}

Result<i64> sys_socketpair(Call& call) {
  const u32 wanted = static_cast<u32>(call.argument[1]);
  if ((wanted & ~(type_mask | flag_mask)) != 0) return Errno::einval;
  TRY(resources_of(call).files().check_room(limit_of(call)));
  TRY(vm::prepare(call.space, call.thread.caller, call.address(3), 8, vm::Access::write));
  const Kind kind = TRY(kind_of(call.number(0), wanted, call.number(2)));
  if (kind.family != family_unix) return Errno::eopnotsupp;
  Ref<UnixSocket> a = TRY(make_unix_socket(call, kind.type));
  Ref<UnixSocket> b = TRY(make_unix_socket(call, kind.type));
  UnixSocket::pair(*a, *b);
  Result<Ref<OpenFile>> first = fs::make_socket_file(a, wanted & fs::o_nonblock);
  Result<Ref<OpenFile>> second = fs::make_socket_file(b, wanted & fs::o_nonblock);
  if (!first.ok() || !second.ok()) return Errno::enomem;
  const int one = TRY(install(call, first.value(), wanted));
  const Result<int> other = install(call, second.value(), wanted);
  if (!other.ok()) {
    (void)resources_of(call).files().close(one);
    return other.error();
  }
  struct Pair {
    i32 one, other;
  };
  TRY(call.write(call.address(3), Pair{one, other.value()}));
  return 0;
}

// ---- names -------------------------------------------------------------------------------------------------------------

// The file of the name is made first; if the socket has got another name meanwhile, the file is taken away again.
Result<void> bind_to_path(Call& call, UnixSocket& socket, std::string_view path) {
  const fs::WalkStart start = TRY(resources_of(call).start_at(call.thread, fs::at_fdcwd, path));
  fs::Walk walk;
  TRY(walk.run(start, path, fs::Follow::never));
  if (walk.file) return Errno::eaddrinuse;
  if (walk.must_be_directory) return Errno::enoent;
  if (socket.own_name()) return Errno::einval;
  const Credentials& credentials = call.thread.credentials();
  TRY(fs::permission::check_add(*walk.directory, credentials));
  fs::Creation creation{.type = fs::FileType::socket, .permissions = 0777};
  fs::permission::set_owner(creation, *walk.directory, credentials, umask_of(call));
  const Result<Ref<fs::Inode>> made = walk.directory->create(walk.name(), creation);
  if (!made.ok()) return made.error() == Errno::eexist ? Errno::eaddrinuse : made.error();
  Result<Ref<fs::SocketName>> name = fs::SocketName::make(path, made.value());
  const Result<void> bound = name.ok() ? fs::socket_names::bind(socket, name.value()) : Result<void>{name.error()};
  if (bound.ok()) {
    fs::notices::made(*walk.directory, walk.name(), false);
  } else {
    (void)walk.directory->unlink(walk.name());
  }
  return bound;
}

Result<void> bind_unix(Call& call, UnixSocket& socket, const SocketAddress& address) {
  if (address.family == family_unix && address.size == 0 && call.number(2) == sizeof address.family) {
    if (socket.own_name()) return {};  // as Linux: any name will do, and it has one
    return fs::socket_names::bind_any(socket);
  }
  TRY(address.check());
  if (!address.abstract()) return bind_to_path(call, socket, address.text());
  if (socket.own_name()) return Errno::einval;
  return fs::socket_names::bind(socket, TRY(fs::SocketName::make(address.text(), {})));
}

Result<i64> sys_bind(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  Socket& socket = *TRY(socket_behind(*file));
  SocketAddress address;
  TRY(address.take(call, call.address(1), call.number(2)));
  if (socket.family() == fs::SocketFamily::unix) return success(bind_unix(call, static_cast<UnixSocket&>(socket), address));
  return success(bind_internet(call, static_cast<net::InternetSocket&>(socket), address));
}

Result<i64> sys_getsockname(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  return success(tell_endpoint(call, TRY(socket_behind(*file))->name(), call.address(1), call.address(2)));
}

Result<i64> sys_getpeername(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  const fs::Endpoint peer = TRY(TRY(socket_behind(*file))->peer_name());
  return success(tell_endpoint(call, peer, call.address(1), call.address(2)));
}

// ---- connections ---------------------------------------------------------------------------------------------------------

Result<i64> sys_listen(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  return success(TRY(socket_behind(*file))->listen(call.thread, static_cast<u32>(call.argument[1])));
}

Result<void> connect_unix(Call& call, UnixSocket& socket, const SocketAddress& address, bool nonblocking) {
  if (address.family == family_unspecified && !socket.connection_based()) {
    socket.disconnect();
    return {};
  }
  TRY(address.check());
  TRY(socket.name_for_identity());
  const Ref<UnixSocket> to = TRY(socket_at(call, address, socket.type()));
  const Instant deadline = fs::deadline_at_socket(call.thread, socket.send_timeout_ns);
  return socket.connect(call.thread, *to, fs::identity_of(call.thread), nonblocking, deadline);
}

Result<i64> connect(Call& call, OpenFile& file) {
  if ((file.flags() & fs::o_path) != 0) return Errno::ebadf;
  SocketAddress address;
  TRY(address.take(call, call.address(1), call.number(2)));
  Socket& socket = *TRY(socket_behind(file));
  if (call.number(2) < static_cast<int>(sizeof address.family)) return Errno::einval;
  const bool nonblocking = file.nonblocking();
  if (socket.family() == fs::SocketFamily::unix) {
    return success(connect_unix(call, static_cast<UnixSocket&>(socket), address, nonblocking));
  }
  return success(connect_internet(call, static_cast<net::InternetSocket&>(socket), address, nonblocking));
}

Result<i64> sys_connect(Call& call) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  return file.answer(call, connect(call, *file));
}

// So that nothing of what follows can block.
Result<void> prepare_name(Call& call, VirtualAddress name_at, VirtualAddress length_at) {
  const i32 room = TRY(call.read<i32>(length_at));
  if (room < 0) return Errno::einval;
  TRY(vm::prepare(call.space, call.thread.caller, length_at, sizeof(i32), vm::Access::write));
  return vm::prepare(call.space, call.thread.caller, name_at, fs::smaller(static_cast<u64>(room), largest_address),
                     vm::Access::write);
}

// As on Linux a connection whose name cannot be told is lost.
Result<i64> accept(Call& call, OpenFile& file, u32 flags) {
  if ((file.flags() & fs::o_path) != 0) return Errno::ebadf;
  if ((flags & ~flag_mask) != 0) return Errno::einval;
  const Result<void> room = resources_of(call).files().check_room(limit_of(call));
  const Result<Socket*> behind = socket_behind(file);
  if (!room.ok()) {
    if (behind.ok()) behind.value()->leave_connection();
    return room.error();
  }
  if (!behind.ok()) return behind.error();
  Socket& socket = *behind.value();
  const VirtualAddress name_at = call.address(1);
  const VirtualAddress length_at = call.address(2);
  const Instant deadline = fs::deadline_at_socket(call.thread, socket.receive_timeout_ns);
  const Result<void> ready = name_at.value != 0 ? prepare_name(call, name_at, length_at) : Result<void>{};
  if (!ready.ok() && ready.error() == Errno::blocked) return Errno::blocked;
  Result<Ref<Socket>> accepted = socket.accept(call.thread, file.nonblocking(), deadline);
  if (!accepted.ok()) return accepted.error();
  const Ref<Socket>& connection = accepted.value();
  Ref<OpenFile> made = TRY(fs::make_socket_file(connection, flags & fs::o_nonblock));
  const int descriptor = TRY(install(call, made, flags));
  if (name_at.value == 0) return descriptor;
  const Result<fs::Endpoint> client = connection->peer_name();
  const fs::Endpoint unknown{connection->family(), {}, {}};
  const fs::Endpoint& from = client.ok() ? client.value() : unknown;
  const Result<void> told = ready.ok() ? tell_endpoint(call, from, name_at, length_at) : ready;
  if (!told.ok()) {
    (void)resources_of(call).files().close(descriptor);
    return told.error();
  }
  return descriptor;
}

Result<i64> accept_with(Call& call, u32 flags) {
  HeldFile file = TRY(HeldFile::take(call, 0));
  return file.answer(call, accept(call, *file, flags));
}

Result<i64> sys_accept(Call& call) {
  return accept_with(call, 0);
}

Result<i64> sys_accept4(Call& call) {
  return accept_with(call, static_cast<u32>(call.argument[3]));
}

Result<i64> sys_shutdown(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  Socket& socket = *TRY(socket_behind(*file));
  const u32 how = static_cast<u32>(call.argument[1]);  // 0: no more receiving; 1: no more sending; 2: neither
  if (how > 2) return Errno::einval;
  return success(socket.shutdown(how + 1));
}

constexpr Entry entries[] = {
    {41, "socket", sys_socket},
    {42, "connect", sys_connect},
    {43, "accept", sys_accept},
    {48, "shutdown", sys_shutdown},
    {49, "bind", sys_bind},
    {50, "listen", sys_listen},
    {51, "getsockname", sys_getsockname},
    {52, "getpeername", sys_getpeername},
    {53, "socketpair", sys_socketpair},
    {288, "accept4", sys_accept4},
};

}  // namespace

std::span<const Entry> socket_calls() {
  return entries;
}

}  // namespace corral::abi

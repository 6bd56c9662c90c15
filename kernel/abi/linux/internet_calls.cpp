// See internet_calls.h. The order of the checks is Linux's.
#include "abi/linux/internet_calls.h"

#include "abi/linux/socket_options.h"
#include "abi/linux/tcp_info.h"
#include "fs/socket/time_limit.h"
#include "lib/memory_functions.h"
#include "net/tcp_socket.h"
#include "net/udp_socket.h"

namespace corral::abi {

namespace {

constexpr u32 address_size = 16;  // struct sockaddr_in
constexpr u16 first_free_port = 1024;  // lower ones are for those with the right
constexpr int protocol_tcp = 6, protocol_udp = 17;
constexpr int option_segment = 2, option_info = 11;  // TCP_MAXSEG, TCP_INFO

Result<fs::InternetAddress> address_in(const SocketAddress& address) {
  if (address.size + sizeof address.family < address_size) return Errno::einval;
  if (address.family != family_internet) return Errno::eafnosupport;
  return address.internet();
}

}  // namespace

Result<fs::SocketType> internet_type(u32 type, int protocol) {
  constexpr u32 stream = 1, datagram = 2, raw = 3;
  if (protocol < 0 || protocol > 255) return Errno::einval;
  if (type == raw) return Errno::eprotonosupport;
  if (type != stream && type != datagram) return Errno::esocktnosupport;
  if (protocol != 0 && protocol != (type == stream ? protocol_tcp : protocol_udp)) return Errno::eprotonosupport;
  return type == stream ? fs::SocketType::stream : fs::SocketType::datagram;
}

Result<void> bind_internet(Call& call, net::InternetSocket& socket, const SocketAddress& address) {
  if (address.size + sizeof address.family < address_size) return Errno::einval;
  const fs::InternetAddress to = address.internet();
  const bool any = address.family == family_unspecified && to.host == net::any_host;
  if (address.family != family_internet && !any) return Errno::eafnosupport;
  if (!net::is_own(to.host)) return Errno::eaddrnotavail;
  if (to.port != 0 && to.port < first_free_port && !call.thread.credentials().may(Capability::net_bind_service)) {
    return Errno::eacces;
  }
  return socket.bind(to);
}

Result<void> connect_internet(Call& call, net::InternetSocket& socket, const SocketAddress& address, bool nonblocking) {
  if (address.family == family_unspecified) return socket.disconnect();
  const fs::InternetAddress to = TRY(address_in(address));
  return socket.connect(call.thread, to, nonblocking, fs::deadline_at_socket(call.thread, socket.send_timeout_ns));
}

Result<fs::InternetAddress> internet_target(const SocketAddress& address) {
  if (address.size + sizeof address.family < address_size) return Errno::einval;
  if (address.family != family_internet && address.family != family_unspecified) return Errno::eafnosupport;
  return address.internet();
}

// ---- options ---------------------------------------------------------------------------------------------------------------

Result<i64> get_internet_option(Call& call, net::InternetSocket& socket) {
  const int level = call.number(1);
  const int option = call.number(2);
  const i32 room = TRY(call.read<i32>(call.address(4)));
  if (room < 0) return Errno::einval;
  if (level == protocol_tcp && option == option_info && socket.connection_based()) {
    const TcpInfo info = tcp_info(static_cast<net::TcpSocket&>(socket));
    return tell_option(call, &info, sizeof info, static_cast<u64>(room));
  }
  i32 value = 0;
  if (const Result<i32> kept = socket.kept_option(level, option); kept.ok()) {
    value = kept.value();
  } else if (level == protocol_tcp && option == option_segment && socket.connection_based()) {
    value = net::TcpSocket::largest_segment;
  } else {
    return level == net::level_ip || level == socket.protocol() ? Errno::enoprotoopt : Errno::eopnotsupp;
  }
  return tell_option(call, &value, sizeof value, static_cast<u64>(room));
}

Result<i64> set_internet_option(Call& call, net::InternetSocket& socket) {
  const int level = call.number(1);
  const int option = call.number(2);
  const u32 size = static_cast<u32>(call.argument[4]);
  (void)TRY(socket.kept_option(level, option));
  i32 value = 0;
  if (size >= sizeof value) {
    value = TRY(call.read<i32>(call.address(3)));
  } else if (level == net::level_ip && size > 0) {
    value = TRY(call.read<u8>(call.address(3)));
  } else {
    return Errno::einval;
  }
  TRY(socket.keep_option(level, option, value));
  if (level == protocol_tcp) static_cast<net::TcpSocket&>(socket).option_set(option);
  return 0;
}

}  // namespace corral::abi

// What the socket calls do for Internet sockets. Source: Linux man-pages ip(7), tcp(7), udp(7), netdevice(7).
#pragma once

#include "abi/linux/socket_address.h"
#include "net/internet_socket.h"

namespace corral::abi {

// esocktnosupport, eprotonosupport.
Result<fs::SocketType> internet_type(u32 type, int protocol);
Result<void> bind_internet(Call& call, net::InternetSocket& socket, const SocketAddress& address);
Result<void> connect_internet(Call& call, net::InternetSocket& socket, const SocketAddress& address, bool nonblocking);
// Where a datagram goes. einval, eafnosupport.
Result<fs::InternetAddress> internet_target(const SocketAddress& address);
// Options of the levels below sockets. enoprotoopt, eopnotsupp (a level that is not the socket's), einval, efault.
Result<i64> get_internet_option(Call& call, net::InternetSocket& socket);
Result<i64> set_internet_option(Call& call, net::InternetSocket& socket);

}  // namespace corral::abi

// See tcp_info.h.
#include "abi/linux/tcp_info.h"

#include "net/socket_table.h"

namespace corral::abi {

namespace {

constexpr u32 us_in_ms = 1000;
constexpr u8 option_window_scale = 4;  // TCPI_OPT_WSCALE
constexpr u32 no_threshold = 0x7fffffff;
constexpr u32 headers = 40;  // of IP and TCP

// What was finished has one number more to be acknowledged than bytes: that of the end.
bool ends(net::ConnectionState state) {
  using enum net::ConnectionState;
  return state == finishing || state == closing || state == both_finishing;
}

u32 segments(u64 bytes) {
  return static_cast<u32>((bytes + net::TcpSocket::largest_segment - 1) / net::TcpSocket::largest_segment);
}

}  // namespace

TcpInfo tcp_info(net::TcpSocket& socket) {
  const net::SocketEntry entry = socket.describe();
  TcpInfo info;
  info.state = static_cast<u8>(entry.state);
  if (entry.state == net::ConnectionState::listening) {
    info.unacknowledged = static_cast<u32>(entry.to_read);
    info.selectively_acknowledged = entry.backlog;
    return info;
  }
  info.retransmits = entry.repeats;
  info.repeated = entry.repeats > 0 ? 1 : 0;
  info.repeat_us = entry.repeat_ms * us_in_ms;
  info.send_threshold = entry.threshold < 0 ? no_threshold : static_cast<u32>(entry.threshold);
  info.send_window = entry.window;
  info.send_segment = info.receive_segment = info.offered_segment = net::TcpSocket::largest_segment;
  info.path_mtu = net::TcpSocket::largest_segment + headers;
  if (entry.state == net::ConnectionState::closed || entry.state == net::ConnectionState::connecting) return info;
  info.options = option_window_scale;
  info.window_scales = net::TcpSocket::window_scale | net::TcpSocket::window_scale << 4;
  info.unacknowledged = segments(entry.to_send - entry.not_sent);
  info.bytes_not_sent = static_cast<u32>(entry.not_sent);
  const u64 end = ends(entry.state) ? 1 : 0;
  info.bytes_sent = entry.written - (entry.not_sent == 0 ? 0 : entry.not_sent - end);
  info.bytes_acknowledged = entry.written - (entry.to_send == 0 ? 0 : entry.to_send - end);
  info.bytes_received = entry.received;
  info.peer_window = entry.peer_window;
  return info;
}

}  // namespace corral::abi

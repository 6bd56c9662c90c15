// What TCP_INFO tells of a connection, as Linux 6.1 lays it out. What lwIP does not count is 0. Source: Linux include/uapi/linux/tcp.h, tcp(7).
#pragma once

#include "net/tcp_socket.h"

namespace corral::abi {

struct TcpInfo {
  u8 state = 0;  // net::ConnectionState
  u8 congestion = 0, retransmits = 0, probes = 0, backoff = 0;
  u8 options = 0;
  u8 window_scales = 0;  // what the peer shifts its windows by, and above it what this side does
  u8 flags = 0;
  u32 repeat_us = 0, late_acknowledgement_us = 0, send_segment = 0, receive_segment = 0;
  u32 unacknowledged = 0, selectively_acknowledged = 0, lost = 0, repeated = 0,
      forward = 0;  // segments; a listener: connections, and how many may wait
  u32 last_sent_ms = 0, last_acknowledgement_sent_ms = 0, last_received_ms = 0, last_acknowledgement_received_ms = 0;
  u32 path_mtu = 0, receive_threshold = 0;
  u32 round_trip_us = 0, round_trip_variance_us = 0;
  u32 send_threshold = 0, send_window = 0;  // segments
  u32 offered_segment = 0, reordering = 0;
  u32 receive_round_trip_us = 0, receive_space = 0;
  u32 all_repeated = 0;
  u64 pacing = 0, most_pacing = 0;
  u64 bytes_acknowledged = 0, bytes_received = 0;
  u32 segments_sent = 0, segments_received = 0;
  u32 bytes_not_sent = 0;
  u32 least_round_trip_us = 0, data_segments_received = 0, data_segments_sent = 0;
  u64 rate = 0, busy_us = 0, window_limited_us = 0, buffer_limited_us = 0;
  u32 delivered = 0, delivered_marked = 0;
  u64 bytes_sent = 0, bytes_repeated = 0;
  u32 duplicates = 0, reorderings = 0, out_of_order = 0;
  u32 peer_window = 0;  // bytes
};
static_assert(sizeof(TcpInfo) == 232);

TcpInfo tcp_info(net::TcpSocket& socket);

}  // namespace corral::abi

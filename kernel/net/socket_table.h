// What is known of all Internet sockets, for who wants to see them (/proc/net). Among them are connections that no file has any more, or none
// yet. Lock: the stack's, for as long as it takes to write a list down. Source: Linux man-pages proc_pid_net(5).
#pragma once

#include <span>

#include "fs/socket/endpoint.h"
#include "lib/types.h"

namespace corral::net {

using fs::InternetAddress;

// The numbers are those that programs see.
enum class ConnectionState : u8 {
  established = 1,
  connecting,
  answering,
  finishing,
  finished,
  remembered,
  closed,
  peer_finished,
  both_finishing,
  listening,
  closing,
};

enum class ConnectionTimer : u8 { none = 0, repeat = 1, forget = 3, probe = 4 };

struct SocketEntry {
  InternetAddress local, peer;
  ConnectionState state = ConnectionState::closed;
  ConnectionTimer timer = ConnectionTimer::none;
  u8 repeats = 0;
  u32 timer_ms = 0;  // when it is due
  u32 repeat_ms = 0;  // how long the next answer is waited for
  u32 window = 0;  // segments that may be under way
  i32 threshold = -1;  // segments, from which on the window grows slowly; -1: none found yet
  u64 to_send = 0;  // bytes that the peer has not acknowledged
  u64 not_sent = 0;  // of those, bytes that have not been sent at all
  u64 to_read = 0;  // bytes that the program has not read; a listener: connections
  u64 lost = 0;  // datagrams
  u64 written = 0, received = 0;  // bytes, from the connection's beginning on
  u32 peer_window = 0;  // bytes that the peer takes beyond what it has acknowledged
  u32 backlog = 0;  // what listen() was given
  u64 file = 0;  // number of its inode; 0: no file has it
  u32 owner = 0;
};

// Writes down as many as there is room for; answers how many there are.
u64 list_tcp(std::span<SocketEntry> to);
u64 list_udp(std::span<SocketEntry> to);

}  // namespace corral::net

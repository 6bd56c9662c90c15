// getsockopt and setsockopt, the level of sockets. Source: Linux man-pages socket(7), unix(7).
#include "abi/linux/socket_options.h"

#include "abi/linux/file_handlers.h"
#include "abi/linux/internet_calls.h"
#include "abi/linux/socket_address.h"
#include "abi/linux/time_values.h"
#include "fs/inode.h"

namespace corral::abi {

namespace {

using fs::Socket;

constexpr int level_socket = 1;

enum Option : int {
  debug = 1,
  reuse_address = 2,
  socket_type = 3,
  pending_error = 4,
  do_not_route = 5,
  broadcast = 6,
  send_buffer = 7,
  receive_buffer = 8,
  keep_alive = 9,
  out_of_band_inline = 10,
  no_check = 11,
  priority = 12,
  linger = 13,
  reuse_port = 15,
  pass_credentials = 16,
  peer_credentials = 17,
  receive_least = 18,
  send_least = 19,
  receive_timeout = 20,
  send_timeout = 21,
  peer_name = 28,
  time_stamp = 29,
  accepting = 30,
  force_send_buffer = 32,
  force_receive_buffer = 33,
  pass_security = 34,
  time_stamp_ns = 35,
  protocol = 38,
  domain = 39,
  overflow_count = 40,
  wireless_status = 41,
  no_frame_check = 43,
  select_error_queue = 45,
  receive_timeout_64 = 66,  // the same structure where a word has 64 bits
  send_timeout_64 = 67,
};

// Booleans that are kept and told, and change nothing for a UNIX socket.
constexpr u64 plain = [] {
  u64 bits = 0;
  for (const int option :
       {debug, reuse_address, do_not_route, broadcast, keep_alive, out_of_band_inline, no_check, reuse_port, time_stamp,
        pass_security, time_stamp_ns, overflow_count, wireless_status, no_frame_check, select_error_queue}) {
    bits |= u64{1} << option;
  }
  return bits;
}();

bool is_plain(const Socket& socket, int option) {
  if (option == reuse_port && socket.family() == fs::SocketFamily::internet) return false;  // lwIP has it not
  return option > 0 && option < 64 && (plain >> option & 1) != 0;
}

// ---- getting -------------------------------------------------------------------------------------------------------------

Result<i32> number_of(Socket& socket, int option) {
  if (is_plain(socket, option)) return static_cast<i32>(socket.plain_options.load(Order::relaxed) >> option & 1);
  switch (option) {
    case socket_type: return static_cast<i32>(socket.type());
    case pending_error: return static_cast<i32>(socket.take_error());
    case send_buffer: return static_cast<i32>(socket.send_limit());
    case receive_buffer: return static_cast<i32>(socket.receive_limit.load(Order::relaxed));
    case pass_credentials: return socket.wants_identity.load(Order::relaxed) ? 1 : 0;
    case receive_least: return static_cast<i32>(socket.least.load(Order::relaxed));
    case send_least: return 1;
    case accepting: return socket.listening() ? 1 : 0;
    case domain: return static_cast<i32>(socket.family());
    case priority: return socket.priority.load(Order::relaxed);
    case protocol: return socket.protocol();
    default: return Errno::enoprotoopt;
  }
}

Result<i64> sys_getsockopt(Call& call) {
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  Socket& socket = *TRY(socket_behind(*file));
  if (call.number(1) != level_socket) {
    if (socket.family() == fs::SocketFamily::unix) return Errno::eopnotsupp;
    return get_internet_option(call, static_cast<net::InternetSocket&>(socket));
  }
  const int option = call.number(2);
  const i32 given_room = TRY(call.read<i32>(call.address(4)));
  if (given_room < 0) return Errno::einval;
  const u64 room = static_cast<u64>(given_room);
  switch (option) {
    case linger: {
      const u64 value = socket.linger.load(Order::relaxed);
      return tell_option(call, &value, sizeof value, room);
    }
    case peer_credentials: {
      const bool known = socket.family() == fs::SocketFamily::unix;
      const fs::Identity peer = known ? static_cast<fs::UnixSocket&>(socket).peer_identity() : fs::Identity{0, ~0u, ~0u};
      return tell_option(call, &peer, sizeof peer, room);
    }
    case receive_timeout:
    case receive_timeout_64:
    case send_timeout:
    case send_timeout_64: {
      const bool receives = option == receive_timeout || option == receive_timeout_64;
      const i64 ns = (receives ? socket.receive_timeout_ns : socket.send_timeout_ns).load(Order::relaxed);
      const TimeValue value = time_value(ns);
      return tell_option(call, &value, sizeof value, room);
    }
    case peer_name: {
      const fs::Endpoint peer = TRY(socket.peer_name());
      if (room > length_of(peer)) return Errno::einval;  // as Linux: no more may be asked for than there is
      (void)TRY(write_endpoint(call, peer, call.address(3), static_cast<u32>(room)));
      return 0;
    }
    default: {
      const i32 value = TRY(number_of(socket, option));
      return tell_option(call, &value, sizeof value, room);
    }
  }
}

// ---- setting -------------------------------------------------------------------------------------------------------------

// As Linux: half of what is kept is for bookkeeping; no less than one packet, no more than the system's limit.
u32 buffer_of(i32 wish, u32 smallest, bool forced) {
  constexpr u32 system_limit = Socket::default_buffer;
  constexpr u32 half_of_largest = 0x3fff'ffff;
  u32 size = static_cast<u32>(wish < 0 && forced ? 0 : wish);
  const u32 limit = forced ? half_of_largest : system_limit;
  if (size > limit) size = limit;
  return size * 2 < smallest ? smallest : size * 2;
}

Result<void> set_timeout(Call& call, Atomic<i64>& to) {
  constexpr i64 million = 1'000'000;
  if (call.argument[4] < sizeof(TimeValue)) return Errno::einval;
  const auto value = TRY(call.read<TimeValue>(call.address(3)));
  if (value.microseconds < 0 || value.microseconds >= million) return Errno::edom;
  if (value.seconds < 0) {
    to.store(1, Order::relaxed);  // as Linux: no wait at all
    return {};
  }
  const bool huge = value.seconds >= INT64_MAX / (1000 * million) - 1;
  to.store(huge ? 0 : (value.seconds * million + value.microseconds) * 1000, Order::relaxed);
  return {};
}

Result<i64> sys_setsockopt(Call& call) {
  constexpr u32 smallest_send_buffer = 4608, smallest_receive_buffer = 2304;
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  Socket& socket = *TRY(socket_behind(*file));
  if (call.number(4) < 0) return Errno::einval;
  if (call.number(1) != level_socket) {
    if (socket.family() == fs::SocketFamily::unix) return Errno::eopnotsupp;
    return set_internet_option(call, static_cast<net::InternetSocket&>(socket));
  }
  const int option = call.number(2);
  if (static_cast<u32>(call.argument[4]) < sizeof(i32)) return Errno::einval;
  const i32 value = TRY(call.read<i32>(call.address(3)));
  if (is_plain(socket, option)) {
    const u64 bit = u64{1} << option;
    if (value != 0) {
      socket.plain_options.fetch_or(bit, Order::relaxed);
    } else {
      socket.plain_options.fetch_and(~bit, Order::relaxed);
    }
    socket.plain_option_set();
    return 0;
  }
  switch (option) {
    case send_buffer:
    case force_send_buffer:
      socket.set_send_limit(buffer_of(value, smallest_send_buffer, option == force_send_buffer));
      return 0;
    case receive_buffer:
    case force_receive_buffer:
      socket.receive_limit.store(buffer_of(value, smallest_receive_buffer, option == force_receive_buffer), Order::relaxed);
      return 0;
    case priority: socket.priority.store(value, Order::relaxed); return 0;
    case pass_credentials: socket.wants_identity.store(value != 0, Order::relaxed); return 0;
    case receive_least:
      socket.least.store(value < 0 ? 0x7fff'ffffu : value == 0 ? 1u : static_cast<u32>(value), Order::relaxed);
      return 0;
    case linger: {
      if (static_cast<u32>(call.argument[4]) < sizeof(u64)) return Errno::einval;
      const u64 wish = TRY(call.read<u64>(call.address(3)));  // whether, and above that for how many seconds
      const bool lingers = static_cast<u32>(wish) != 0;
      const u64 seconds = lingers ? wish >> 32 : socket.linger.load(Order::relaxed) >> 32;
      socket.linger.store(seconds << 32 | (lingers ? 1 : 0), Order::relaxed);
      return 0;
    }
    case receive_timeout:
    case receive_timeout_64: return success(set_timeout(call, socket.receive_timeout_ns));
    case send_timeout:
    case send_timeout_64: return success(set_timeout(call, socket.send_timeout_ns));
    default: return Errno::enoprotoopt;
  }
}

constexpr Entry entries[] = {{54, "setsockopt", sys_setsockopt}, {55, "getsockopt", sys_getsockopt}};

}  // namespace

Result<i64> tell_option(Call& call, const void* value, u64 size, u64 room) {
  const u64 told = fs::smaller(size, room);
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(3), value, told));
  TRY(call.write(call.address(4), static_cast<i32>(told)));
  return 0;
}

std::span<const Entry> socket_option_calls() {
  return entries;
}

}  // namespace corral::abi

// The TCP/IP stack: lwIP over the loopback interface, one for the machine.
//
// lwIP is code for one thread. So it has one lock, which protects all of it, the sockets above it and their queues; what it calls back is
// called under that lock. A packet that is sent lies in the interface's queue until the lock is let go of: StackGuard then
// delivers what there is, until nothing is left. So a byte has arrived, or is refused, when the call that sent it ends.
// A timer of 250 ms runs while there are connections, for what TCP does by itself (repeating, keeping alive, forgetting).
//
// Neighbours: internet_socket.h, tcp_socket.h, udp_socket.h; port/ (what lwIP asks of the kernel, and how it is built).
// Source: RFC 9293, RFC 768, RFC 1122; lwIP 2.1.3. Context: steps of threads; the timer: its interrupt.
#pragma once

#include <lwip/err.h>
#include <lwip/ip4_addr.h>

#include "fs/socket/endpoint.h"
#include "lib/result.h"
#include "sync/spin_lock.h"

namespace corral::net {

extern SpinLock stack_lock;

class SCOPED_CAPABILITY StackGuard {
 public:
  StackGuard() ACQUIRE(stack_lock) { stack_lock.lock(); }
  ~StackGuard() RELEASE();
  StackGuard(const StackGuard&) = delete;
  StackGuard& operator=(const StackGuard&) = delete;
};

void initialise();  // boot context, once, before the first socket

// Hands on all packets that were sent, and those that are sent by that.
void deliver() REQUIRES(stack_lock);

// Packets that came through the loopback interface, all of which it had sent.
struct Traffic {
  u64 packets = 0, bytes = 0;
};
[[nodiscard]] Traffic traffic() EXCLUDES(stack_lock);
// False: there have been so many since deliver() began that something must be wrong, and this one is to be lost.
[[nodiscard]] bool count_packet(u32 bytes) REQUIRES(stack_lock);

// What lwIP answers, as calls do. The answer must not be ERR_OK.
[[nodiscard]] Errno errno_of(err_t error);

// lwIP has addresses as they travel.
[[nodiscard]] ip4_addr address_of(u32 host);
[[nodiscard]] u32 host_of(const ip4_addr& address);
inline constexpr u32 any_host = 0, loopback_host = 0x7f00'0001;
// An address of this machine: any or loopback.
[[nodiscard]] constexpr bool is_own(u32 host) {
  return host == any_host || host == loopback_host;
}
// Where a packet for `to` goes. enetunreach; econnrefused: in the network of the loopback interface, of which one address is this
// machine's (ip4_input takes no other).
[[nodiscard]] constexpr Result<fs::InternetAddress> reachable(fs::InternetAddress to) {
  if (to.host == any_host) to.host = loopback_host;
  if (is_own(to.host)) return to;
  return to.host >> 24 == 127 ? Errno::econnrefused : Errno::enetunreach;
}

}  // namespace corral::net

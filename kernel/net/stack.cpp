// See stack.h.
#include "net/stack.h"

#include <lwip/init.h>
#include <lwip/ip4_addr.h>
#include <lwip/netif.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/tcp.h>

#include "core/shared_timer.h"
#include "device/clock.h"

namespace corral::net {

constinit SpinLock stack_lock{Rank::socket, "network stack"};

namespace {

constexpr Duration tick = milliseconds(TCP_TMR_INTERVAL);

// Ticks while there are connections, also those that only wait to be forgotten.
// lwIP says when there is a first one (tcp_timer_needed).
class TcpTimer final : public SharedTimer {
 public:
  constexpr TcpTimer() : SharedTimer{stack_lock} {}
  void start() REQUIRES(stack_lock) {
    if (running_) return;
    running_ = true;
    set(clock::now() + tick);
  }

 private:
  void due() override {
    stack_lock.assert_held();
    running_ = false;
    tcp_tmr();
    deliver();
    if (tcp_active_pcbs != nullptr || tcp_tw_pcbs != nullptr) start();
  }
  void keep() override {}  // it lives for ever
  void let_go() override {}
  bool running_ GUARDED_BY(stack_lock) = false;
};

constinit TcpTimer timer;
constinit Traffic counted GUARDED_BY(stack_lock);
constinit u64 delivery_begins GUARDED_BY(stack_lock) = 0;  // what was counted then
constexpr u64 most_in_delivery = 1 << 16;  // more than any window has room for

}  // namespace

static void start_timer() REQUIRES(stack_lock) {
  timer.start();
}

void initialise() {
  lwip_init();
}

void deliver() {
  delivery_begins = counted.packets;
  netif_poll_all();
}

StackGuard::~StackGuard() {
  deliver();
  stack_lock.unlock();
}

Traffic traffic() {
  StackGuard guard;
  return counted;
}

bool count_packet(u32 bytes) {
  ++counted.packets;
  counted.bytes += bytes;
  return counted.packets - delivery_begins <= most_in_delivery;
}

Errno errno_of(err_t error) {
  switch (error) {
    case ERR_MEM:
    case ERR_BUF: return Errno::enobufs;
    case ERR_RTE: return Errno::enetunreach;
    case ERR_USE: return Errno::eaddrinuse;
    case ERR_ALREADY: return Errno::ealready;
    case ERR_ISCONN: return Errno::eisconn;
    case ERR_CONN: return Errno::enotconn;
    case ERR_RST: return Errno::econnreset;
    case ERR_ABRT: return Errno::etimedout;
    case ERR_CLSD: return Errno::epipe;
    case ERR_VAL: return Errno::eacces;  // a broadcast that was not asked for
    default: return Errno::einval;
  }
}

ip4_addr address_of(u32 host) {
  return {lwip_htonl(host)};
}

u32 host_of(const ip4_addr& address) {
  return lwip_ntohl(address.addr);
}

}  // namespace corral::net

void tcp_timer_needed(void) {
  corral::net::stack_lock.assert_held();
  corral::net::start_timer();
}

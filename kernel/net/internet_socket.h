// What TCP and UDP sockets have in common. All of it, and the queues of both kinds, is protected by the stack's lock (net/stack.h).
// Source: Linux man-pages ip(7), tcp(7), udp(7) and the pages of the calls.
#pragma once

#include <lwip/ip.h>

#include "fs/socket/socket.h"
#include "net/stack.h"

namespace corral::net {

struct SocketEntry;
using fs::InternetAddress;

// Of options, as calls number them.
inline constexpr int level_ip = 0, level_tcp = 6;

class InternetSocket : public fs::Socket {
 public:
  // Neither listens nor is connected, has no address. enomem.
  static Result<Ref<InternetSocket>> make(fs::SocketType type);

  // To an address of this machine; port 0: one that is free. einval: it has one; eaddrinuse, eaddrnotavail.
  Result<void> bind(InternetAddress address) EXCLUDES(stack_lock);
  // Streams: eisconn, ealready, einprogress, econnrefused, etimedout, enetunreach, eaddrinuse; blocked, restart, eintr.
  virtual Result<void> connect(Thread& thread, InternetAddress to, bool nonblocking, Instant deadline) = 0;
  virtual Result<void> disconnect() = 0;  // forgets its peer; streams: resets the connection

  // Options that are kept and told, and change nothing where packets never leave memory. enoprotoopt: this socket has no such one;
  // einval: no such value.
  Result<i32> kept_option(int level, int number) const;
  Result<void> keep_option(int level, int number, i32 value);
  void inherit_options(const InternetSocket& from);  // a connection from its listener

  void set_send_limit(u32 bytes) override { send_limit_.store(bytes, Order::relaxed); }
  [[nodiscard]] u32 send_limit() const override { return send_limit_.load(Order::relaxed); }
  [[nodiscard]] Errno take_error() override EXCLUDES(stack_lock);
  void plain_option_set() override EXCLUDES(stack_lock);
  [[nodiscard]] fs::Endpoint name() override EXCLUDES(stack_lock);

  // What the table of sockets says of it (socket_table.h).
  virtual void tell(SocketEntry& entry) const REQUIRES(stack_lock);

 protected:
  explicit InternetSocket(fs::SocketType type);
  [[nodiscard]] bool has_option(unsigned number) const { return (plain_options.load(Order::relaxed) >> number & 1) != 0; }
  static constexpr unsigned option_reuse_address = 2, option_broadcast = 6;
  virtual Result<void> bind_locked(InternetAddress address) REQUIRES(stack_lock) = 0;
  // Hands those on that lwIP looks at itself, if it knows the socket.
  virtual void apply_options() REQUIRES(stack_lock) = 0;
  template <class Pcb>
  void apply_option(Pcb* pcb, unsigned option, u8 flag) const {
    if (has_option(option)) {
      ip_set_option(pcb, flag);
    } else {
      ip_reset_option(pcb, flag);
    }
  }

  WaitQueue data_wanted_{stack_lock};  // receivers, and threads in accept
  WaitQueue room_wanted_{stack_lock};  // senders, and threads in connect
  fs::PollSource source_{stack_lock};
  Errno error_ GUARDED_BY(stack_lock){};  // told once (SO_ERROR)
  u32 shut_ GUARDED_BY(stack_lock) = 0;  // directions that are over: bits of fs::shut_
  InternetAddress local_ GUARDED_BY(stack_lock);
  InternetAddress peer_ GUARDED_BY(stack_lock);
  bool bound_ GUARDED_BY(stack_lock) = false;  // the program wanted this port, not just any

 private:
  static constexpr unsigned most_kept_options = 24;
  Result<unsigned> place_of(int level, int number) const;
  Atomic<u32> send_limit_{default_buffer};
  Atomic<i32> kept_[most_kept_options];
};

}  // namespace corral::net

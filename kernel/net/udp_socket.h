// A UDP socket: what programs see of an endpoint (`pcb_`) of lwIP. What has come lies in its queue, one entry for each datagram; what comes
// when the queue is full is lost, as UDP may. Lock: the stack's. Source: RFC 768; Linux man-pages udp(7).
#pragma once

#include <lwip/udp.h>

#include "net/internet_socket.h"

namespace corral::net {

class UdpSocket final : public InternetSocket {
 public:
  UdpSocket() : InternetSocket{fs::SocketType::datagram} {}
  static constexpr u32 largest = 65507;  // bytes in a datagram

  [[nodiscard]] i32 protocol() const override { return 17; }
  Result<void> connect(Thread& thread, InternetAddress to, bool nonblocking, Instant deadline) override EXCLUDES(stack_lock);
  Result<void> disconnect() override EXCLUDES(stack_lock);
  Result<void> listen(Thread&, u32) override { return Errno::eopnotsupp; }
  Result<Ref<fs::Socket>> accept(Thread&, bool, Instant) override { return Errno::eopnotsupp; }
  Result<void> shutdown(u32 how) override EXCLUDES(stack_lock);
  void close() override EXCLUDES(stack_lock);
  [[nodiscard]] bool listening() const override { return false; }
  Result<fs::Endpoint> peer_name() override EXCLUDES(stack_lock);

  Result<u64> send(Thread& thread, fs::Transfer& transfer, fs::Sending& sending) override EXCLUDES(stack_lock);
  Result<u64> receive(Thread& thread, fs::Transfer& transfer, fs::Receiving& receiving) override EXCLUDES(stack_lock);
  u32 poll(fs::PollEntry* entry) override EXCLUDES(stack_lock);
  Result<u64> available() override EXCLUDES(stack_lock);
  [[nodiscard]] Result<u64> unsent() override { return u64{0}; }

  void tell(SocketEntry& entry) const override REQUIRES(stack_lock);

  // A datagram to `to` reached nobody; who is connected there is told (RFC 1122, 4.1.3.3).
  static void refused(u16 local_port, InternetAddress to) REQUIRES(stack_lock);

 private:
  static void on_datagram(void* argument, udp_pcb* pcb, pbuf* bytes, const ip4_addr* from, u16 port);
  void apply_options() override REQUIRES(stack_lock);
  Result<void> make_pcb() REQUIRES(stack_lock);  // if it has none
  Result<void> send_whole(pbuf* bytes, InternetAddress to, bool more) REQUIRES(stack_lock);
  Result<void> bind_locked(InternetAddress address) override REQUIRES(stack_lock);
  void arrived(pbuf* bytes, InternetAddress from) REQUIRES(stack_lock);

  struct Datagram {
    ListLink link;
    pbuf* bytes;
    InternetAddress from;
    u32 size;
  };
  static u32 charge_of(const Datagram& datagram);  // what it counts in the queue
  static void release(Datagram& datagram);

  udp_pcb* pcb_ GUARDED_BY(stack_lock) = nullptr;
  bool connected_ GUARDED_BY(stack_lock) = false;
  IntrusiveList<Datagram, &Datagram::link> queue_ GUARDED_BY(stack_lock);
  u64 charged_ GUARDED_BY(stack_lock) = 0;
  pbuf* begun_ GUARDED_BY(stack_lock) = nullptr;  // a datagram to which more is to come (MSG_MORE)
  u64 lost_ GUARDED_BY(stack_lock) = 0;  // datagrams that found the queue full
};

}  // namespace corral::net

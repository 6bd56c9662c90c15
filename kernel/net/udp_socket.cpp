// See udp_socket.h.
#include "net/udp_socket.h"

#include <lwip/icmp.h>
#include <lwip/ip4.h>
#include <lwip/pbuf.h>
#include <lwip/prot/udp.h>
#include <lwip/udp.h>

#include "fs/socket/time_limit.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral::net {

// ---- what lwIP calls: under the lock, which it does not know ---------------------------------------------------------------

void UdpSocket::on_datagram(void* argument, udp_pcb*, pbuf* bytes, const ip4_addr* from, u16 port) {
  stack_lock.assert_held();
  static_cast<UdpSocket*>(argument)->arrived(bytes, {host_of(*from), port});
}

u32 UdpSocket::charge_of(const Datagram& datagram) {
  constexpr u32 bookkeeping = 512;
  return datagram.size + bookkeeping;
}

void UdpSocket::release(Datagram& datagram) {
  pbuf_free(datagram.bytes);
  delete &datagram;
}

void UdpSocket::arrived(pbuf* bytes, InternetAddress from) {
  Datagram* const datagram = new (std::nothrow) Datagram{{}, bytes, from, bytes->tot_len};
  if (datagram == nullptr || charged_ + charge_of(*datagram) > receive_limit.load(Order::relaxed)) {
    ++lost_;
    delete datagram;
    pbuf_free(bytes);
    return;
  }
  charged_ += charge_of(*datagram);
  queue_.push_back(*datagram);
  (void)data_wanted_.wake_one();
  source_.notify(fs::poll_readable);
}

void UdpSocket::refused(u16 local_port, InternetAddress to) {
  for (const udp_pcb* pcb = udp_pcbs; pcb != nullptr; pcb = pcb->next) {
    if (pcb->local_port != local_port || pcb->recv_arg == nullptr) continue;
    UdpSocket& socket = *static_cast<UdpSocket*>(pcb->recv_arg);
    [&]() NO_THREAD_SAFETY_ANALYSIS {  // one lock for all sockets
      if (!socket.connected_ || socket.peer_ != to) return;
      socket.error_ = Errno::econnrefused;
      (void)socket.data_wanted_.wake_all();
      socket.source_.notify(fs::poll_err | fs::poll_readable);
    }();
  }
}

// ---- addresses -----------------------------------------------------------------------------------------------------------

void UdpSocket::apply_options() {
  if (pcb_ == nullptr) return;
  apply_option(pcb_, option_reuse_address, SOF_REUSEADDR);
  apply_option(pcb_, option_broadcast, SOF_BROADCAST);
}

Result<void> UdpSocket::make_pcb() {
  if (pcb_ != nullptr) return {};
  pcb_ = udp_new();
  if (pcb_ == nullptr) return Errno::enobufs;
  udp_recv(pcb_, on_datagram, this);
  apply_options();
  return {};
}

Result<void> UdpSocket::bind_locked(InternetAddress address) {
  TRY(make_pcb());
  const ip4_addr host = address_of(address.host);
  if (udp_bind(pcb_, &host, address.port) != ERR_OK) return Errno::eaddrinuse;
  local_ = {address.host, pcb_->local_port};
  return {};
}

Result<void> UdpSocket::connect(Thread&, InternetAddress to, bool, Instant) {
  to = TRY(reachable(to));
  StackGuard guard;
  if (local_.port == 0) TRY(bind_locked({}));
  const ip4_addr host = address_of(to.host);
  if (const err_t error = udp_connect(pcb_, &host, to.port); error != ERR_OK) return errno_of(error);
  if (local_.host == any_host) local_.host = loopback_host;
  peer_ = to;
  connected_ = true;
  error_ = {};
  return {};
}

Result<void> UdpSocket::disconnect() {
  StackGuard guard;
  if (pcb_ != nullptr) udp_disconnect(pcb_);
  connected_ = false;
  peer_ = {};
  error_ = {};
  shut_ = 0;
  if (!bound_ && pcb_ != nullptr) {  // the port was lent by the connection
    udp_remove(std::exchange(pcb_, nullptr));
    local_ = {};
  }
  return {};
}

Result<fs::Endpoint> UdpSocket::peer_name() {
  StackGuard guard;
  if (!connected_) return Errno::enotconn;
  return fs::Endpoint::of(peer_);
}

// ---- sending -------------------------------------------------------------------------------------------------------------

Result<u64> UdpSocket::send(Thread& thread, fs::Transfer& transfer, fs::Sending& sending) {
  const u64 size = transfer.left();
  if (size > 0xffff) return Errno::emsgsize;
  const auto check = [&]() -> Result<InternetAddress> {
    StackGuard guard;
    if (!sending.has_address && !connected_) return Errno::edestaddrreq;
    if (error_ != Errno{}) return std::exchange(error_, Errno{});
    if ((shut_ & fs::shut_send) != 0) return Errno::epipe;
    return sending.has_address ? sending.address : peer_;
  };
  const Result<InternetAddress> checked = check();
  if (!checked.ok()) {
    if (checked.error() == Errno::epipe && !sending.quiet) (void)signals::send(thread, {.number = sigpipe});
    return checked.error();
  }
  InternetAddress to = checked.value();
  if (to.port == 0) return Errno::einval;
  to = TRY(reachable(to));
  if (size > largest) return Errno::emsgsize;
  pbuf* const bytes = pbuf_alloc(PBUF_TRANSPORT, static_cast<u16>(size), PBUF_RAM);
  if (bytes == nullptr) return Errno::enobufs;
  const Result<void> copied = transfer.get(0, bytes->payload, size);
  if (!copied.ok()) {
    pbuf_free(bytes);
    return copied.error();
  }
  StackGuard guard;
  TRY(send_whole(bytes, to, sending.more));
  transfer.advance(size);
  return transfer.done();
}

// The bytes are lwIP's, or kept: what was begun goes with them, or waits with them.
Result<void> UdpSocket::send_whole(pbuf* bytes, InternetAddress to, bool more) {
  if (begun_ != nullptr) {
    if (u32{begun_->tot_len} + bytes->tot_len > largest) {
      pbuf_free(bytes);
      return Errno::emsgsize;
    }
    pbuf_cat(begun_, bytes);
    bytes = std::exchange(begun_, nullptr);
  }
  if (more) {
    begun_ = bytes;
    return {};
  }
  const Result<void> bound = local_.port == 0 ? bind_locked({}) : make_pcb();
  const ip4_addr host = address_of(to.host);
  const err_t outcome = bound.ok() ? udp_sendto(pcb_, bytes, &host, to.port) : err_t{ERR_OK};
  pbuf_free(bytes);
  TRY(bound);
  if (outcome != ERR_OK) return errno_of(outcome);
  return {};
}

// ---- receiving -----------------------------------------------------------------------------------------------------------

Result<u64> UdpSocket::receive(Thread& thread, fs::Transfer& transfer, fs::Receiving& receiving) {
  StackGuard guard;
  if (error_ != Errno{}) return std::exchange(error_, Errno{});
  Datagram* const datagram = queue_.front();
  if (datagram == nullptr) {
    if ((shut_ & fs::shut_receive) != 0) return u64{0};
    return fs::wait_at_socket(data_wanted_, thread, receiving.nonblocking, receiving.deadline);
  }
  const u64 size = fs::smaller(transfer.left(), datagram->size);
  u64 copied = 0;
  Result<void> outcome;
  for (const pbuf* buffer = datagram->bytes; buffer != nullptr && copied < size && outcome.ok(); buffer = buffer->next) {
    const u64 now = fs::smaller(size - copied, buffer->len);
    outcome = transfer.put(copied, buffer->payload, now);
    copied += now;
  }
  if (!outcome.ok() && outcome.error() == Errno::blocked) return Errno::blocked;
  receiving.whole_size = datagram->size;
  receiving.truncated = size < datagram->size;
  if (receiving.wants_name) receiving.from = fs::Endpoint::of(datagram->from);
  if (!receiving.peek) {  // also when the program's memory was wrong, as on Linux
    (void)queue_.pop_front();
    charged_ -= charge_of(*datagram);
    release(*datagram);
  }
  if (!queue_.empty()) (void)data_wanted_.wake_one();
  TRY(outcome);
  transfer.advance(size);
  return transfer.done();
}

Result<u64> UdpSocket::available() {
  StackGuard guard;
  return u64{queue_.empty() ? 0 : queue_.front()->size};
}

u32 UdpSocket::poll(fs::PollEntry* entry) {
  StackGuard guard;
  if (entry != nullptr) source_.enlist(*entry);
  u32 ready = fs::poll_writable | fs::poll_wrband;
  if (error_ != Errno{}) ready |= fs::poll_err;
  if (!queue_.empty()) ready |= fs::poll_readable;
  if ((shut_ & fs::shut_receive) != 0) ready |= fs::poll_readable | fs::poll_rdhup;
  if (shut_ == fs::shut_both) ready |= fs::poll_hup;
  return ready;
}

// ---- the end -------------------------------------------------------------------------------------------------------------

// As on Linux it works without a peer, too, although it says that there is none.
Result<void> UdpSocket::shutdown(u32 how) {
  StackGuard guard;
  shut_ |= how;
  (void)data_wanted_.wake_all();
  source_.notify(fs::poll_readable | fs::poll_writable | fs::poll_hup | fs::poll_rdhup);
  if (!connected_) return Errno::enotconn;
  return {};
}

void UdpSocket::close() {
  StackGuard guard;
  if (pcb_ != nullptr) udp_remove(std::exchange(pcb_, nullptr));
  while (Datagram* const datagram = queue_.pop_front()) release(*datagram);
  charged_ = 0;
  if (begun_ != nullptr) pbuf_free(std::exchange(begun_, nullptr));
  (void)data_wanted_.wake_all();
}

}  // namespace corral::net

// ---- what the stack does not pass on, or count ------------------------------------------------------------------------------

// That a datagram reached no port ("destination unreachable", RFC 792) is told by a packet with the beginning of that datagram.
int corral_look_at_packet(pbuf* packet) {
  corral::net::stack_lock.assert_held();
  if (!corral::net::count_packet(packet->tot_len)) {
    pbuf_free(packet);
    return 1;
  }
  constexpr unsigned header = IP_HLEN, icmp_header = 8, whole = header + icmp_header + header + UDP_HLEN;
  if (packet->len < whole) return 0;
  const corral::u8* const bytes = static_cast<const corral::u8*>(packet->payload);
  const auto* const outer = reinterpret_cast<const ip_hdr*>(bytes);
  if (IPH_PROTO(outer) != IP_PROTO_ICMP || IPH_HL_BYTES(outer) != header) return 0;
  const corral::u8* const icmp = bytes + header;
  if (icmp[0] != ICMP_DUR || icmp[1] != ICMP_DUR_PORT) return 0;
  const auto* const inner = reinterpret_cast<const ip_hdr*>(icmp + icmp_header);
  if (IPH_PROTO(inner) != IP_PROTO_UDP || IPH_HL_BYTES(inner) != header) return 0;
  const auto* const datagram = reinterpret_cast<const udp_hdr*>(icmp + icmp_header + header);
  corral::net::UdpSocket::refused(lwip_ntohs(datagram->src), {lwip_ntohl(inner->dest.addr), lwip_ntohs(datagram->dest)});
  return 0;
}

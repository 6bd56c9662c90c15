// See socket_table.h.
#include "net/socket_table.h"

#include <lwip/priv/tcp_priv.h>
#include <lwip/tcp.h>
#include <lwip/udp.h>

#include "net/stack.h"
#include "net/tcp_socket.h"
#include "net/udp_socket.h"

namespace corral::net {

namespace {

class Writer {
 public:
  explicit Writer(std::span<SocketEntry> to) : to_{to} {}
  void put(const SocketEntry& entry) {
    if (count_ < to_.size()) to_[count_] = entry;
    ++count_;
  }
  [[nodiscard]] u64 count() const { return count_; }

 private:
  std::span<SocketEntry> to_;
  u64 count_ = 0;
};

ConnectionState state_of(tcp_state state) {
  switch (state) {
    case CLOSED: return ConnectionState::closed;
    case LISTEN: return ConnectionState::listening;
    case SYN_SENT: return ConnectionState::connecting;
    case SYN_RCVD: return ConnectionState::answering;
    case ESTABLISHED: return ConnectionState::established;
    case FIN_WAIT_1: return ConnectionState::finishing;
    case FIN_WAIT_2: return ConnectionState::finished;
    case CLOSE_WAIT: return ConnectionState::peer_finished;
    case CLOSING: return ConnectionState::closing;
    case LAST_ACK: return ConnectionState::both_finishing;
    case TIME_WAIT: return ConnectionState::remembered;
  }
  return ConnectionState::closed;
}

// lwIP counts in ticks.
u32 ms_of(i64 ticks) {
  return ticks > 0 ? static_cast<u32>(ticks) * TCP_SLOW_INTERVAL : 0;
}

SocketEntry listener_of(const tcp_pcb_listen& pcb) REQUIRES(stack_lock) {
  SocketEntry entry;
  if (pcb.callback_arg != nullptr) static_cast<const TcpSocket*>(pcb.callback_arg)->tell(entry);
  entry.local = {host_of(pcb.local_ip), pcb.local_port};
  entry.peer = {};
  entry.state = ConnectionState::listening;
  entry.to_read = pcb.accepts_pending;
  entry.backlog = pcb.backlog - 1u;  // one more may wait, as on Linux
  entry.repeat_ms = 1000;  // as Linux tells of those that repeat nothing
  entry.window = 10;
  entry.threshold = 0;
  return entry;
}

SocketEntry connection_of(const tcp_pcb& pcb) REQUIRES(stack_lock) {
  SocketEntry entry;
  // Before it has been answered it is its listener's.
  if (pcb.callback_arg != nullptr && pcb.state != SYN_RCVD) static_cast<const TcpSocket*>(pcb.callback_arg)->tell(entry);
  entry.local = {host_of(pcb.local_ip), pcb.local_port};
  entry.peer = {host_of(pcb.remote_ip), pcb.remote_port};
  entry.state = state_of(pcb.state);
  entry.to_send = pcb.snd_lbb - pcb.lastack;
  entry.not_sent = pcb.snd_lbb - pcb.snd_nxt;
  entry.peer_window = pcb.snd_wnd;
  entry.repeats = pcb.nrtx;
  entry.repeat_ms = ms_of(pcb.rto);
  entry.window = pcb.cwnd / pcb.mss;
  if (pcb.ssthresh < TCP_SND_BUF) entry.threshold = static_cast<i32>(pcb.ssthresh / pcb.mss);
  if (pcb.persist_backoff > 0) {
    entry.timer = ConnectionTimer::probe;  // when, lwIP keeps to itself
  } else if (pcb.rtime >= 0) {
    entry.timer = ConnectionTimer::repeat;
    entry.timer_ms = ms_of(i64{pcb.rto} - pcb.rtime);
  }
  return entry;
}

SocketEntry remembered(const tcp_pcb& pcb) {
  SocketEntry entry;
  entry.local = {host_of(pcb.local_ip), pcb.local_port};
  entry.peer = {host_of(pcb.remote_ip), pcb.remote_port};
  entry.state = ConnectionState::remembered;
  entry.timer = ConnectionTimer::forget;
  entry.timer_ms = ms_of(i64{2 * TCP_MSL / TCP_SLOW_INTERVAL + 1} - i64{tcp_ticks - pcb.tmr});
  return entry;
}

}  // namespace

void InternetSocket::tell(SocketEntry& entry) const {
  entry.local = local_;
  entry.peer = peer_;
  entry.file = file_number.load(Order::relaxed);
  entry.owner = owner.load(Order::relaxed);
}

void TcpSocket::tell(SocketEntry& entry) const {
  InternetSocket::tell(entry);
  entry.to_read = received_bytes_;
  entry.written = all_written_;
  entry.received = all_received_;
}

SocketEntry TcpSocket::describe() {
  StackGuard guard;
  // A listener's pcb is of another type, which begins in the same way.
  if (state_ == State::listening && pcb_ != nullptr) return listener_of(*reinterpret_cast<const tcp_pcb_listen*>(pcb_));
  if (pcb_ != nullptr && pcb_->state != CLOSED) return connection_of(*pcb_);
  SocketEntry entry;
  tell(entry);
  return entry;
}

void UdpSocket::tell(SocketEntry& entry) const {
  InternetSocket::tell(entry);
  entry.state = connected_ ? ConnectionState::established : ConnectionState::closed;
  entry.to_read = charged_;  // with what it costs to keep them, as on Linux
  entry.lost = lost_;
}

u64 list_tcp(std::span<SocketEntry> to) {
  Writer writer{to};
  StackGuard guard;
  for (const tcp_pcb_listen* pcb = tcp_listen_pcbs.listen_pcbs; pcb != nullptr; pcb = pcb->next) writer.put(listener_of(*pcb));
  for (const tcp_pcb* pcb = tcp_active_pcbs; pcb != nullptr; pcb = pcb->next) writer.put(connection_of(*pcb));
  for (const tcp_pcb* pcb = tcp_tw_pcbs; pcb != nullptr; pcb = pcb->next) writer.put(remembered(*pcb));
  return writer.count();
}

u64 list_udp(std::span<SocketEntry> to) {
  Writer writer{to};
  StackGuard guard;
  for (const udp_pcb* pcb = udp_pcbs; pcb != nullptr; pcb = pcb->next) {
    if (pcb->recv_arg == nullptr || pcb->local_port == 0) continue;
    SocketEntry entry;
    static_cast<const UdpSocket*>(pcb->recv_arg)->tell(entry);
    writer.put(entry);
  }
  return writer.count();
}

}  // namespace corral::net

// Bytes: sending, receiving, and asking what could be. See tcp_socket.h.
#include <lwip/pbuf.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/prot/tcp.h>
#include <lwip/tcp.h>

#include "fs/socket/time_limit.h"
#include "lib/memory_functions.h"
#include "memory/heap_array.h"
#include "net/tcp_socket.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral::net {

namespace {

constexpr u32 spare_buffers = 64;  // of lwIP's limit, for one write
constexpr u32 spare_window = 2;  // one for the end of the stream

// No more is given to lwIP than its peer has said that it takes, and a little less: windows are never full. lwIP answers a segment that
// does not fit with one of its own, which two ends whose windows are full would do for ever, and it is slow to send what is left over.
u64 room_in(const tcp_pcb& pcb) {
  if (tcp_sndqueuelen(&pcb) + spare_buffers > TCP_SND_QUEUELEN) return 0;
  const i32 window = static_cast<i32>(pcb.snd_wl2 + pcb.snd_wnd - pcb.snd_lbb);
  if (window <= static_cast<i32>(spare_window)) return 0;
  return fs::smaller(pcb.snd_buf, static_cast<u32>(window) - spare_window);
}

}  // namespace

// ---- sending -----------------------------------------------------------------------------------------------------------

bool TcpSocket::writable() const {
  return pcb_ == nullptr || room_in(*pcb_) >= largest_write;
}

// Only who has found no room is told, as on Linux: else each acknowledgement would be news to who watches for changes.
void TcpSocket::tell_room() {
  if (!room_missed_) return;
  room_missed_ = false;
  (void)room_wanted_.wake_all();
  source_.notify(fs::poll_writable);
}

void TcpSocket::room_came() {
  if (writable()) tell_room();
}

// Before lwIP looks at it: who is woken sees what lwIP makes of it.
void TcpSocket::segment_came(const tcp_pcb& pcb, u32 acknowledged, u32 window) {
  if (static_cast<i32>(acknowledged + window - pcb.snd_lbb) >= static_cast<i32>(largest_write + spare_window)) tell_room();
}

// How much of `wanted` bytes can be written now: all, or a good part of the buffer. epipe, eagain, blocked, restart, and how it failed.
Result<u64> TcpSocket::wait_for_room(Thread& thread, u64 wanted, const fs::Sending& sending) {
  StackGuard guard;
  if (error_ != Errno{}) return std::exchange(error_, Errno{});
  if ((shut_ & fs::shut_send) != 0 || state_ == State::fresh || state_ == State::listening) return Errno::epipe;
  if (established_) {
    const u64 room = room_in(*pcb_);
    if (room >= fs::smaller(wanted, largest_write)) return fs::smaller(room, wanted);
    room_missed_ = true;
  }
  return fs::wait_at_socket(room_wanted_, thread, sending.nonblocking, sending.deadline);
}

// Answers how many of the bytes were taken: none if there is no room any more, or no connection. What is held back, since more is to
// come, lwIP sends after half a second at the latest.
Result<u64> TcpSocket::write(std::span<const u8> bytes, bool more, bool holds_back) {
  StackGuard guard;
  if (pcb_ == nullptr || !established_ || (shut_ & fs::shut_send) != 0) return u64{0};
  const u64 size = fs::smaller(bytes.size(), room_in(*pcb_));
  if (size == 0) return u64{0};
  const u8 flags = static_cast<u8>(TCP_WRITE_FLAG_COPY | (more ? TCP_WRITE_FLAG_MORE : 0));
  if (tcp_write(pcb_, bytes.data(), static_cast<u16>(size), flags) != ERR_OK) return Errno::enobufs;
  all_written_ += size;
  if (!holds_back || pcb_->unsent->len >= pcb_->mss) (void)tcp_output(pcb_);
  return size;
}

Result<u64> TcpSocket::send(Thread& thread, fs::Transfer& transfer, fs::Sending& sending) {
  memory::HeapArray<u8> buffer;
  const auto step = [&]() -> Result<void> {
    do {
      const u64 room = TRY(wait_for_room(thread, fs::smaller(transfer.left(), largest_write), sending));
      if (room == 0) return {};
      if (buffer.size() == 0) TRY(buffer.allocate(room));
      const std::span<u8> bytes = buffer.first(fs::smaller(room, buffer.size()));
      TRY(transfer.get(0, bytes.data(), bytes.size()));
      transfer.advance(TRY(write(bytes, bytes.size() < transfer.left(), sending.more || is_set(option_cork))));
    } while (transfer.left() > 0);
    return {};
  };
  const Result<void> outcome = step();
  if (outcome.ok() || (transfer.done() > 0 && outcome.error() != Errno::blocked)) return transfer.done();
  if (outcome.error() == Errno::epipe && !sending.quiet) (void)signals::send(thread, {.number = sigpipe});
  return outcome.error();
}

Result<u64> TcpSocket::unsent() {
  StackGuard guard;
  if (state_ == State::listening) return Errno::einval;
  return pcb_ == nullptr || !established_ ? u64{0} : u64{TCP_SND_BUF} - pcb_->snd_buf;
}

void TcpSocket::option_set(int number) {
  StackGuard guard;
  if (pcb_ == nullptr || state_ == State::listening) return;
  if (number == option_no_delay) {
    if (is_set(number)) {
      tcp_nagle_disable(pcb_);
    } else {
      tcp_nagle_enable(pcb_);
    }
  }
  if (!is_set(option_cork)) (void)tcp_output(pcb_);
}

// ---- receiving -----------------------------------------------------------------------------------------------------------

// Small segments behind others are put together: each has more bookkeeping than bytes.
bool TcpSocket::put_together(pbuf& bytes) {
  constexpr u16 small = 1024, whole = 4096;
  const u16 size = bytes.tot_len;
  if (received_ == nullptr || size > small) return false;
  if (room_behind_ < size) {
    pbuf* const collecting = pbuf_alloc(PBUF_RAW, whole, PBUF_RAM);
    if (collecting == nullptr) return false;
    collecting->len = collecting->tot_len = 0;
    last_received_->next = collecting;
    last_received_ = collecting;
    room_behind_ = whole;
  }
  (void)pbuf_copy_partial(&bytes, static_cast<u8*>(last_received_->payload) + last_received_->len, size, 0);
  last_received_->len = static_cast<u16>(last_received_->len + size);
  room_behind_ -= size;
  return true;
}

void TcpSocket::arrived(pbuf* bytes) {
  received_bytes_ += bytes->tot_len;
  all_received_ += bytes->tot_len;
  if (put_together(*bytes)) {
    pbuf_free(bytes);
  } else {
    if (received_ == nullptr) {
      received_ = bytes;
    } else {
      last_received_->next = bytes;
    }
    last_received_ = bytes;
    while (last_received_->next != nullptr) last_received_ = last_received_->next;
    room_behind_ = 0;
  }
  (void)data_wanted_.wake_one();
  source_.notify(fs::poll_readable);
}

// Lets go of the first buffer alone: the next ones are no part of it for lwIP.
void TcpSocket::drop_first() {
  pbuf* const first = received_;
  received_ = first->next;
  taken_ = 0;
  first->next = nullptr;
  first->tot_len = first->len;
  pbuf_free(first);
}

void TcpSocket::drop_received() {
  while (received_ != nullptr) drop_first();
  received_bytes_ = 0;
}

void TcpSocket::open_window(u64 bytes) {
  constexpr u64 most = 0xffff;  // at once
  while (bytes > 0 && pcb_ != nullptr) {
    const u64 now = fs::smaller(bytes, most);
    tcp_recved(pcb_, static_cast<u16>(now));
    bytes -= now;
  }
}

Result<void> TcpSocket::take_bytes(fs::Transfer& transfer) {
  u64 taken = 0;
  const auto step = [&]() REQUIRES(stack_lock) -> Result<void> {
    while (received_ != nullptr && transfer.left() > 0) {
      const u64 now = fs::smaller(transfer.left(), u64{received_->len} - taken_);
      TRY(transfer.put(0, static_cast<const u8*>(received_->payload) + taken_, now));
      transfer.advance(now);
      taken += now;
      taken_ += static_cast<u32>(now);
      if (taken_ == received_->len) drop_first();
    }
    return {};
  };
  const Result<void> outcome = step();
  received_bytes_ -= taken;
  open_window(taken);
  return outcome;
}

Result<u64> TcpSocket::look_at_bytes(fs::Transfer& transfer) {
  u64 seen = 0;
  u64 skipped = taken_;
  for (const pbuf* buffer = received_; buffer != nullptr && seen < transfer.left(); buffer = buffer->next) {
    const u64 now = fs::smaller(transfer.left() - seen, buffer->len - skipped);
    TRY(transfer.put(seen, static_cast<const u8*>(buffer->payload) + skipped, now));
    seen += now;
    skipped = 0;
  }
  return seen;
}

Result<u64> TcpSocket::receive(Thread& thread, fs::Transfer& transfer, fs::Receiving& receiving) {
  const u64 enough = receiving.wait_for_all ? transfer.size() : fs::smaller(transfer.size(), least.load(Order::relaxed));
  const u64 wanted = fs::larger(enough, 1);  // who wants nothing waits for something to be there, too
  StackGuard guard;
  u64 got = 0;
  if (receiving.peek) {
    got = TRY(look_at_bytes(transfer));
  } else {
    const Result<void> taken = take_bytes(transfer);
    got = transfer.done();
    if (!taken.ok() && (taken.error() == Errno::blocked || got == 0)) return taken.error();
    if (!taken.ok()) return got;
  }
  if (received_ != nullptr) (void)data_wanted_.wake_one();
  if (got >= wanted || (receiving.peek && got > 0) || received_ != nullptr) return got;
  if (got == 0 && error_ != Errno{}) return std::exchange(error_, Errno{});
  if ((shut_ & fs::shut_receive) != 0) return got;
  if (state_ == State::fresh || state_ == State::listening) return Errno::enotconn;
  const Errno outcome = fs::wait_at_socket(data_wanted_, thread, receiving.nonblocking, receiving.deadline);
  if (outcome != Errno::blocked && got > 0) return got;
  return outcome;
}

Result<u64> TcpSocket::available() {
  StackGuard guard;
  if (state_ == State::listening) return Errno::einval;
  return u64{received_bytes_};
}

// ---- readiness -----------------------------------------------------------------------------------------------------------

u32 TcpSocket::poll(fs::PollEntry* entry) {
  StackGuard guard;
  if (entry != nullptr) source_.enlist(*entry);
  if (state_ == State::listening) return connections_.empty() ? 0 : fs::poll_readable;
  u32 ready = error_ == Errno{} ? 0 : fs::poll_err;
  if (state_ == State::connecting && !established_ && pcb_ != nullptr) return ready;
  if (!established_ || shut_ == fs::shut_both) ready |= fs::poll_hup;
  if ((shut_ & fs::shut_receive) != 0) ready |= fs::poll_readable | fs::poll_rdhup;
  constexpr u64 most = TCP_WND / 2;  // to wait for: more might never come
  if (received_bytes_ >= fs::smaller(least.load(Order::relaxed), most)) ready |= fs::poll_readable;
  if (!established_ || (shut_ & fs::shut_send) != 0 || writable()) {
    ready |= fs::poll_writable;
  } else {
    room_missed_ = true;
  }
  return ready;
}

}  // namespace corral::net

// Only a segment of a connection that a socket has.
signed char corral_look_at_segment(tcp_pcb* pcb, const tcp_hdr* header) {
  corral::net::stack_lock.assert_held();
  if (pcb->state >= ESTABLISHED && pcb->state != TIME_WAIT) {
    corral::net::TcpSocket::segment_of(*pcb, header->ackno, u32_t{header->wnd} << pcb->snd_scale);
  }
  return ERR_OK;
}

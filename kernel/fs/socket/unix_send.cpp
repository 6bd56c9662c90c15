// Sending. See unix_socket.h.
#include "fs/socket/in_flight.h"
#include "fs/socket/time_limit.h"
#include "fs/socket/unix_socket.h"
#include "memory/heap.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

// What Linux would charge for a message: it is bytes, their bookkeeping, and slabs of powers of two for few.
u32 charge_of(u64 size) {
  constexpr u64 few = 192, bookkeeping = 256, slab = 512;
  return static_cast<u32>((size <= few ? slab : size + slab) + bookkeeping);
}

}  // namespace

void UnixSocket::set_send_limit(u32 bytes) {
  LockGuard guard{lock_};
  send_limit_.store(bytes, Order::relaxed);
  (void)room_wanted_.wake_all();
  source_.notify(poll_writable);
}

// Room is told when three quarters of it are free, once for many messages.
void UnixSocket::uncharge(u64 charge) {
  const u64 before = charged_.fetch_sub(charge, Order::seq_cst);
  const u64 limit = send_limit_.load(Order::relaxed);
  if (before * 4 <= limit || (before - charge) * 4 > limit) return;
  tell_writable();
}

void UnixSocket::tell_writable() {
  LockGuard guard{lock_};
  (void)room_wanted_.wake_all();
  source_.notify(poll_writable);
}

Result<void> UnixSocket::reserve(Thread& thread, u32 charge, const Sending& sending) {
  if (charged_.load(Order::relaxed) < send_limit_.load(Order::relaxed)) {
    charged_.fetch_add(charge, Order::seq_cst);
    return {};
  }
  if (sending.nonblocking) return Errno::eagain;
  LockGuard guard{lock_};
  // Looked at again under the lock that tell_writable() takes after the charge has sunk.
  if (charged_.load(Order::seq_cst) >= send_limit_.load(Order::relaxed) && (shut_.load(Order::relaxed) & shut_send) == 0) {
    return wait_at_socket(room_wanted_, thread, false, sending.deadline);
  }
  charged_.fetch_add(charge, Order::seq_cst);
  return {};
}

Errno UnixSocket::broken_pipe(Thread& thread, const Sending& sending) const {
  if (type() == SocketType::stream && !sending.quiet) (void)signals::send(thread, {.number = sigpipe});
  return Errno::epipe;
}

Result<Message*> UnixSocket::prepare_message(Transfer& transfer, u64 size, u32 charge, Sending& sending, bool with_rights) {
  Result<Message*> made = Message::make(transfer, size);
  if (!made.ok()) {
    uncharge(charge);
    return made.error();
  }
  Message& message = *made.value();
  message.charge = charge;
  message.identity = sending.identity;
  message.identified = sending.identified || wants_identity.load(Order::relaxed);
  if (with_rights && sending.rights != nullptr) {
    message.rights = std::exchange(sending.rights, nullptr);
    in_flight::add(*message.rights);
  }
  return made;
}

// It could not be delivered.
void UnixSocket::take_back(Message& message, Sending& sending) {
  uncharge(message.charge);
  if (message.rights != nullptr) {
    in_flight::remove(*message.rights);
    sending.rights = std::exchange(message.rights, nullptr);
  }
  Message::release(&message);
}

void UnixSocket::enqueue(Message& message) {
  if (wants_identity.load(Order::relaxed)) message.identified = true;
  queue_.push_back(message);
  ++queued_;
  queued_bytes_ += message.size;
  (void)data_wanted_.wake_one();
  source_.notify(poll_readable);
}

Result<void> UnixSocket::deliver(Message& message) {
  LockGuard guard{lock_};
  if (closed_ || (shut_.load(Order::relaxed) & shut_receive) != 0) return Errno::epipe;
  enqueue(message);
  return {};
}

Result<u64> UnixSocket::send(Thread& thread, Transfer& transfer, Sending& sending) {
  return type() == SocketType::stream ? send_stream(thread, transfer, sending) : send_packet(thread, transfer, sending);
}

Result<u64> UnixSocket::send_stream(Thread& thread, Transfer& transfer, Sending& sending) {
  if (!connected()) return Errno::enotconn;
  // The peer is settled until close(), which cannot come while this thread holds the file.
  UnixSocket& other = *[&]() NO_THREAD_SAFETY_ANALYSIS { return peer_.get(); }();
  if ((shut_.load(Order::relaxed) & shut_send) != 0) {
    return transfer.done() > 0 ? Result<u64>{transfer.done()} : broken_pipe(thread, sending);
  }
  while (transfer.left() > 0) {
    const u64 half = send_limit_.load(Order::relaxed) / 2 - 64;
    const u64 size = smaller(smaller(transfer.left(), half), Message::largest);
    const u32 charge = charge_of(size);
    const auto partly = [&](Errno error) -> Result<u64> {
      if (error == Errno::blocked || transfer.done() == 0) return error;
      return transfer.done();
    };
    if (const Result<void> room = reserve(thread, charge, sending); !room.ok()) return partly(room.error());
    if ((shut_.load(Order::relaxed) & shut_send) != 0) {
      uncharge(charge);
      return transfer.done() > 0 ? Result<u64>{transfer.done()} : broken_pipe(thread, sending);
    }
    const Result<Message*> message = prepare_message(transfer, size, charge, sending, transfer.done() == 0);
    if (!message.ok()) return partly(message.error());
    if (!other.deliver(*message.value()).ok()) {
      take_back(*message.value(), sending);
      return transfer.done() > 0 ? Result<u64>{transfer.done()} : broken_pipe(thread, sending);
    }
    transfer.advance(size);
  }
  return transfer.done();
}

Result<u64> UnixSocket::send_packet(Thread& thread, Transfer& transfer, Sending& sending) {
  if (type() == SocketType::packets) {
    const Errno error = take_error();
    if (error != Errno{}) return error;
    if (!connected()) return Errno::enotconn;
  }
  Ref<UnixSocket> target = sending.target ? sending.target : peer();
  if (!target) return Errno::enotconn;
  TRY(name_for_identity());
  const u64 size = transfer.left();
  constexpr u64 bookkeeping = 32;
  if (size + bookkeeping > send_limit_.load(Order::relaxed)) return Errno::emsgsize;
  if (const Errno error = take_error(); error != Errno{}) return error;
  if ((shut_.load(Order::relaxed) & shut_send) != 0) return broken_pipe(thread, sending);
  const u32 charge = charge_of(size);
  TRY(reserve(thread, charge, sending));
  Message& message = *TRY(prepare_message(transfer, size, charge, sending, true));
  if (type() == SocketType::datagram) message.sender = Ref<UnixSocket>::share(*this);
  const Result<void> delivered = target->deliver_packet(thread, *this, message, sending);
  if (!delivered.ok()) {
    message.sender = {};
    take_back(message, sending);
    if (delivered.error() == Errno::econnrefused && !sending.target) disconnect();
    return delivered.error() == Errno::epipe ? broken_pipe(thread, sending) : delivered.error();
  }
  transfer.advance(size);
  return transfer.done();
}

Result<void> UnixSocket::deliver_packet(Thread& thread, UnixSocket& sender, Message& message, const Sending& sending) {
  LockGuard guard{lock_};
  if (closed_) return connection_based() ? Errno::epipe : Errno::econnrefused;
  const bool stranger = &sender != this && peer_.get() != &sender;
  if (stranger && peer_) return Errno::eperm;
  if ((shut_.load(Order::relaxed) & shut_receive) != 0) return Errno::epipe;
  if (stranger && queued_ > largest_queue) {
    return wait_at_socket(place_wanted_, thread, sending.nonblocking, sending.deadline);
  }
  enqueue(message);
  return {};
}

// ---- datagrams of strangers ------------------------------------------------------------------------------------------------

bool UnixSocket::keep_stranger(UnixSocket& stranger) {
  LockGuard guard{lock_};
  if (closed_ || peer_.get() == &stranger || queued_ <= largest_queue) return false;
  if (!stranger.stranger_link_.linked()) {
    stranger.retain();
    strangers_.push_back(stranger);
  }
  return true;
}

void UnixSocket::forget_stranger(UnixSocket& stranger) {
  {
    LockGuard guard{lock_};
    if (!stranger.stranger_link_.linked()) return;
    IntrusiveList<UnixSocket, &UnixSocket::stranger_link_>::remove(stranger);
  }
  stranger.drop();
}

void UnixSocket::tell_strangers() {
  for (;;) {
    Ref<UnixSocket> stranger;
    {
      LockGuard guard{lock_};
      stranger = Ref<UnixSocket>::adopt(strangers_.pop_front());
    }
    if (!stranger) return;
    stranger->tell_writable();
  }
}

}  // namespace corral::fs

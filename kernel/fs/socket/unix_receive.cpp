// Receiving, and asking what could be received. See unix_socket.h.
#include "device/clock.h"
#include "fs/socket/in_flight.h"
#include "fs/socket/time_limit.h"
#include "fs/socket/unix_socket.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

// Who has no name is not told.
Endpoint sender_of(Ref<SocketName> name) {
  return name ? Endpoint::of(static_cast<Ref<SocketName>&&>(name)) : Endpoint{};
}

}  // namespace

Errno UnixSocket::wait_for_data(Thread& thread, const Receiving& receiving) {
  return wait_at_socket(data_wanted_, thread, receiving.nonblocking, receiving.deadline);
}

// Credentials, files and name of the message go with its first byte.
void UnixSocket::answer_with(Message& message, Receiving& receiving) {
  receiving.identified = message.identified;
  receiving.identity = message.identity;
  if (message.rights == nullptr) return;
  if (!receiving.takes_rights) {
    receiving.lost_rights = true;
  } else if (receiving.peek) {
    const Result<Rights*> copy = message.rights->copy();
    receiving.lost_rights = !copy.ok();
    receiving.rights = copy.ok() ? copy.value() : nullptr;
  } else {
    receiving.rights = std::exchange(message.rights, nullptr);
  }
}

// The messages have left the queue: their senders get the room back, and what was in them goes.
void UnixSocket::finish_used(Messages& used) {
  used.for_each([](Message& message) {
    if (message.sender) message.sender->uncharge(message.charge);
  });
  release_messages(used);
}

Result<u64> UnixSocket::receive(Thread& thread, Transfer& transfer, Receiving& receiving) {
  return type() == SocketType::stream ? receive_stream(thread, transfer, receiving)
                                      : receive_packet(thread, transfer, receiving);
}

// ---- streams -----------------------------------------------------------------------------------------------------------

// Takes what fits, as far as it comes from one sender and at most one message's files. Used messages go into `used`.
Result<u64> UnixSocket::take_bytes(Transfer& transfer, Receiving& receiving, Messages& used) {
  u64 taken = 0;
  for (Message* message = queue_.front(); message != nullptr && transfer.left() > 0; message = queue_.front()) {
    if (taken > 0 && wants_identity.load(Order::relaxed) && !(message->identity == receiving.identity)) break;
    const u64 now = smaller(transfer.left(), message->size - message->taken);
    const Result<void> copied = message->copy_out(transfer, message->taken, 0, now);
    if (!copied.ok()) {
      if (copied.error() == Errno::blocked || taken == 0) return copied.error();
      break;
    }
    const bool with_rights = message->rights != nullptr;
    if (taken == 0 || with_rights) answer_with(*message, receiving);
    transfer.advance(now);
    taken += now;
    queued_bytes_ -= now;
    message->taken += static_cast<u32>(now);
    if (message->taken < message->size) break;
    (void)queue_.pop_front();
    --queued_;
    used.push_back(*message);
    if (with_rights) break;
  }
  return taken;
}

Result<u64> UnixSocket::look_at_bytes(Transfer& transfer, Receiving& receiving) {
  u64 seen = 0;
  for (Message* message = queue_.front(); message != nullptr && seen < transfer.left(); message = queue_.next(*message)) {
    const u64 now = smaller(transfer.left() - seen, message->size - message->taken);
    TRY(message->copy_out(transfer, message->taken, seen, now));
    const bool with_rights = message->rights != nullptr;
    if (seen == 0 || with_rights) answer_with(*message, receiving);
    seen += now;
    if (with_rights) break;
  }
  return seen;
}

Result<u64> UnixSocket::receive_stream(Thread& thread, Transfer& transfer, Receiving& receiving) {
  if (!connected()) return Errno::einval;
  const u64 enough = receiving.wait_for_all ? transfer.size() : smaller(transfer.size(), least.load(Order::relaxed));
  const u64 wanted = larger(enough, 1);  // who wants nothing waits for something to be there, too
  Messages used;
  const auto step = [&]() -> Result<u64> {
    LockGuard guard{lock_};
    const Result<u64> moved = receiving.peek ? look_at_bytes(transfer, receiving) : take_bytes(transfer, receiving, used);
    if (!moved.ok()) {
      if (moved.error() != Errno::blocked && transfer.done() > 0) return transfer.done();
      return moved.error();
    }
    if (!queue_.empty()) (void)data_wanted_.wake_one();
    const u64 got = receiving.peek ? moved.value() : transfer.done();
    if (got >= wanted || receiving.rights != nullptr || (receiving.peek && got > 0)) return got;
    if (!queue_.empty()) return got;  // the next message is another sender's, or nothing was wanted
    if (got == 0 && error_ != Errno{}) return std::exchange(error_, Errno{});
    if ((shut_.load(Order::relaxed) & shut_receive) != 0) return got;
    const Errno outcome = wait_for_data(thread, receiving);
    if (outcome != Errno::blocked && got > 0) return got;
    return outcome;
  };
  const Result<u64> outcome = step();
  if (receiving.rights != nullptr && !receiving.peek) in_flight::remove(*receiving.rights);
  if (!used.empty()) {
    u64 charge = 0;
    used.for_each([&](Message& message) { charge += message.charge; });
    // Settled until close(), as for sending.
    [&]() NO_THREAD_SAFETY_ANALYSIS { peer_->uncharge(charge); }();
    release_messages(used);
  }
  if (!outcome.ok()) return outcome.error();
  if (receiving.wants_name && outcome.value() > 0) {
    receiving.from = [&]() NO_THREAD_SAFETY_ANALYSIS { return sender_of(peer_->own_name()); }();
  }
  return u64{outcome.value()};
}

// ---- datagrams and packets -----------------------------------------------------------------------------------------------

Result<u64> UnixSocket::receive_packet(Thread& thread, Transfer& transfer, Receiving& receiving) {
  if (type() == SocketType::packets && !connected()) return Errno::enotconn;
  Messages used;
  u64 copied = 0;
  bool told = false;
  {
    LockGuard guard{lock_};
    if (error_ != Errno{}) return std::exchange(error_, Errno{});
    Message* message = queue_.front();
    if (message == nullptr) {
      const bool over = (shut_.load(Order::relaxed) & shut_receive) != 0;
      if (over && (connection_based() || !receiving.nonblocking)) return u64{0};
      return wait_for_data(thread, receiving);
    }
    copied = smaller(transfer.left(), message->size);
    const Result<void> outcome = message->copy_out(transfer, 0, 0, copied);
    if (!outcome.ok() && outcome.error() == Errno::blocked) return outcome.error();
    receiving.whole_size = message->size;
    receiving.truncated = copied < message->size;
    if (message->sender && receiving.wants_name) {
      receiving.from = [&]() NO_THREAD_SAFETY_ANALYSIS { return sender_of(message->sender->name_); }();
    }
    if (outcome.ok()) answer_with(*message, receiving);
    if (!receiving.peek) {  // also when the program's memory was wrong, as on Linux
      (void)queue_.pop_front();
      --queued_;
      queued_bytes_ -= message->size;
      used.push_back(*message);
      if (queued_ <= largest_queue) {
        told = true;
        (void)place_wanted_.wake_all();
      }
    }
    if (!queue_.empty()) (void)data_wanted_.wake_one();
    if (!outcome.ok()) copied = ~u64{0};
  }
  if (receiving.rights != nullptr && !receiving.peek) in_flight::remove(*receiving.rights);
  if (told) tell_strangers();
  if (connection_based() && !used.empty()) {
    const u64 charge = used.front()->charge;
    [&]() NO_THREAD_SAFETY_ANALYSIS { peer_->uncharge(charge); }();
  }
  if (connection_based() && receiving.wants_name) {
    receiving.from = [&]() NO_THREAD_SAFETY_ANALYSIS { return sender_of(peer_->own_name()); }();
  }
  finish_used(used);
  if (copied == ~u64{0}) return Errno::efault;
  transfer.advance(copied);
  return transfer.done();
}

// NOLINTNEXTLINE(misc-no-recursion): one level: a connection that waits has none itself
void UnixSocket::take_messages_with_rights(Messages& to) {
  IntrusiveList<UnixSocket, &UnixSocket::scan_link> connections;
  {
    LockGuard guard{lock_};
    queue_.for_each([&](Message& message) NO_THREAD_SAFETY_ANALYSIS {  // under the lock above
      if (message.rights == nullptr) return;
      Messages::remove(message);
      --queued_;
      queued_bytes_ -= message.size - message.taken;
      to.push_back(message);
    });
    connections_.for_each([&](UnixSocket& connection) {
      connection.retain();
      connections.push_back(connection);
    });
  }
  while (UnixSocket* connection = connections.pop_front()) {
    connection->take_messages_with_rights(to);
    connection->drop();
  }
}

// ---- readiness ------------------------------------------------------------------------------------------------------------

u32 UnixSocket::poll(PollEntry* entry) {
  u32 ready = 0;
  Ref<UnixSocket> target;
  {
    LockGuard guard{lock_};
    if (entry != nullptr) source_.enlist(*entry);
    const u32 shut = shut_.load(Order::relaxed);
    if (error_ != Errno{}) ready |= poll_err;
    if (shut == shut_both) ready |= poll_hup;
    if ((shut & shut_receive) != 0) ready |= poll_rdhup | poll_readable;
    if (!queue_.empty() || !connections_.empty()) ready |= poll_readable;
    const State state = state_.load(Order::relaxed);
    if (connection_based() && state == State::fresh) ready |= poll_hup;
    if (writable()) ready |= poll_writable | poll_wrband;
    if (!connection_based()) target = peer_;
  }
  // A datagram socket whose receiver is not connected to it depends on the room there.
  if (target && target.get() != this && target->keep_stranger(*this)) ready &= ~(poll_writable | poll_wrband);
  return ready;
}

Result<u64> UnixSocket::available() {
  LockGuard guard{lock_};
  if (state_.load(Order::relaxed) == State::listening) return Errno::einval;
  if (connection_based() || queue_.empty()) return u64{queued_bytes_};
  return u64{queue_.front()->size};
}

}  // namespace corral::fs

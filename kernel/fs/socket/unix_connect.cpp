// Connecting, accepting, shutting down and closing. See unix_socket.h.
#include "fs/socket/in_flight.h"
#include "fs/socket/socket_file.h"
#include "fs/socket/time_limit.h"
#include "fs/socket/unix_socket.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs {

UnixSocket::~UnixSocket() = default;

void UnixSocket::pair(UnixSocket& a, UnixSocket& b) {
  UnixSocket* const both[] = {&a, &b};
  for (unsigned i = 0; i < 2; ++i) {
    UnixSocket& own = *both[i];
    LockGuard guard{own.lock_};
    own.peer_ = Ref<UnixSocket>::share(*both[1 - i]);
    own.peer_identity_ = own.creator_;
    own.state_.store(State::connected, Order::release);
  }
}

Result<void> UnixSocket::listen(Thread& thread, u32 backlog) {
  if (!connection_based()) return Errno::eopnotsupp;
  LockGuard guard{lock_};
  if (!name_) return Errno::einval;
  const State state = state_.load(Order::relaxed);
  if (state != State::fresh && state != State::listening) return Errno::einval;
  backlog_ = static_cast<u32>(smaller(u64{backlog}, most_waiting.value()));
  creator_ = identity_of(thread);
  state_.store(State::listening, Order::release);
  (void)place_wanted_.wake_all();
  return {};
}

Result<void> UnixSocket::connect(Thread& thread, UnixSocket& to, const Identity& identity, bool nonblocking, Instant deadline) {
  if (connection_based()) {
    {
      LockGuard guard{lock_};
      const State state = state_.load(Order::relaxed);
      if (state == State::connected) return Errno::eisconn;
      if (state != State::fresh) return Errno::einval;
      state_.store(State::connecting, Order::relaxed);
    }
    const Result<void> outcome = connect_stream(thread, to, identity, nonblocking, deadline);
    if (!outcome.ok()) state_.store(State::fresh, Order::release);
    return outcome;
  }
  {
    LockGuard guard{to.lock_};
    if (to.closed_) return Errno::econnrefused;
    if (to.peer_ && to.peer_.get() != this) return Errno::eperm;
  }
  Ref<UnixSocket> old = Ref<UnixSocket>::share(to);
  {
    LockGuard guard{lock_};
    std::swap(old, peer_);
    state_.store(State::connected, Order::release);
  }
  if (old && old.get() != &to) part_from(*old);
  tell_writable();
  return {};
}

Result<void> UnixSocket::connect_stream(Thread& thread, UnixSocket& listener, const Identity& identity, bool nonblocking,
                                        Instant deadline) {
  Ref<UnixSocket> connection = Ref<UnixSocket>::adopt(TRY(memory::make<UnixSocket>(type(), identity)));
  Ref<UnixSocket> peer = connection;
  Identity listens;
  {
    LockGuard guard{listener.lock_};
    listens = listener.creator_;
  }
  [&]() NO_THREAD_SAFETY_ANALYSIS {  // nobody else knows it yet
    connection->peer_ = Ref<UnixSocket>::share(*this);
    connection->peer_identity_ = identity;
    connection->name_ = listener.own_name();
    connection->state_.store(State::connected, Order::release);
    connection->wants_identity.store(listener.wants_identity.load(Order::relaxed), Order::relaxed);
  }();
  TRY(listener.push_connection(thread, static_cast<Ref<UnixSocket>&&>(connection), nonblocking, deadline));
  LockGuard guard{lock_};
  peer_ = static_cast<Ref<UnixSocket>&&>(peer);
  peer_identity_ = listens;
  state_.store(State::connected, Order::release);
  return {};
}

Result<void> UnixSocket::push_connection(Thread& thread, Ref<UnixSocket> connection, bool nonblocking, Instant deadline) {
  LockGuard guard{lock_};
  if (closed_ || state_.load(Order::relaxed) != State::listening || (shut_.load(Order::relaxed) & shut_receive) != 0) {
    return Errno::econnrefused;
  }
  if (waiting_connections_ > backlog_) return wait_at_socket(place_wanted_, thread, nonblocking, deadline);
  ++waiting_connections_;
  connections_.push_back(*connection.release());
  (void)data_wanted_.wake_one();
  source_.notify(poll_readable);
  return {};
}

Result<Ref<Socket>> UnixSocket::accept(Thread& thread, bool nonblocking, Instant deadline) {
  if (!connection_based()) return Errno::eopnotsupp;
  LockGuard guard{lock_};
  if (state_.load(Order::relaxed) != State::listening) return Errno::einval;
  UnixSocket* connection = connections_.pop_front();
  if (connection == nullptr) {
    if ((shut_.load(Order::relaxed) & shut_receive) != 0) return Errno::einval;
    return wait_at_socket(data_wanted_, thread, nonblocking, deadline);
  }
  --waiting_connections_;
  if (!connections_.empty()) (void)data_wanted_.wake_one();
  (void)place_wanted_.wake_one();
  return Ref<Socket>::adopt(connection);
}

void UnixSocket::leave_connection() {
  LockGuard guard{lock_};
  if (!connections_.empty()) (void)data_wanted_.wake_one();
}

Ref<UnixSocket> UnixSocket::peer() {
  LockGuard guard{lock_};
  return peer_;
}

Ref<SocketName> UnixSocket::own_name() {
  LockGuard guard{lock_};
  return name_;
}

Result<Endpoint> UnixSocket::peer_name() {
  const Ref<UnixSocket> other = peer();
  if (!other) return Errno::enotconn;
  return other->name();
}

Result<void> UnixSocket::name_for_identity() {
  if (!wants_identity.load(Order::relaxed) || own_name()) return {};
  const Result<void> bound = socket_names::bind_any(*this);
  if (!bound.ok() && bound.error() == Errno::einval) return {};  // another thread was faster
  return bound;
}

void UnixSocket::publish_name() {
  LockGuard guard{lock_};
  name_ = bound_name;
}

Identity UnixSocket::peer_identity() {
  LockGuard guard{lock_};
  return peer_identity_;
}

Errno UnixSocket::take_error() {
  LockGuard guard{lock_};
  return std::exchange(error_, Errno{});
}

void UnixSocket::disconnect() {
  Ref<UnixSocket> old;
  {
    LockGuard guard{lock_};
    std::swap(old, peer_);
    state_.store(State::fresh, Order::release);
  }
  if (old) part_from(*old);
  tell_writable();
}

// As on Linux what has come goes, and if there was something, an old peer that is connected to this one gets an error.
void UnixSocket::part_from(UnixSocket& old_peer) {
  old_peer.forget_stranger(*this);
  Messages unread;
  {
    LockGuard guard{lock_};
    while (Message* message = queue_.pop_front()) unread.push_back(*message);
    queued_ = 0;
    queued_bytes_ = 0;
    (void)place_wanted_.wake_all();
  }
  if (unread.empty()) return;
  tell_strangers();
  finish_used(unread);
  old_peer.peer_parted(*this);
}

void UnixSocket::peer_parted(const UnixSocket& from) {
  LockGuard guard{lock_};
  if (closed_ || peer_.get() != &from) return;
  error_ = Errno::econnreset;
  (void)data_wanted_.wake_all();
  source_.notify(poll_err);
}

// ---- the end -------------------------------------------------------------------------------------------------------------

void UnixSocket::add_shut(u32 how) {
  LockGuard guard{lock_};
  shut_.fetch_or(how, Order::relaxed);
  (void)data_wanted_.wake_all();
  (void)room_wanted_.wake_all();
  (void)place_wanted_.wake_all();
  source_.notify(poll_readable | poll_writable | poll_hup | poll_rdhup);
}

Result<void> UnixSocket::shutdown(u32 how) {
  add_shut(how);
  if (!connection_based()) return {};
  if (const Ref<UnixSocket> other = peer()) {
    other->add_shut(((how & shut_send) != 0 ? shut_receive : 0) | ((how & shut_receive) != 0 ? shut_send : 0));
  }
  return {};
}

void UnixSocket::peer_closed(bool with_data) {
  add_shut(shut_both);
  if (!with_data) return;
  LockGuard guard{lock_};
  error_ = Errno::econnreset;
  source_.notify(poll_err);
}

// NOLINTNEXTLINE(misc-no-recursion): one level: a connection that waits has none itself
void UnixSocket::close() {
  socket_names::remove(*this);
  Messages unread;
  Ref<UnixSocket> old_peer;
  IntrusiveList<UnixSocket, &UnixSocket::connection_link_> connections;
  {
    LockGuard guard{lock_};
    closed_ = true;
    shut_.store(shut_both, Order::relaxed);
    while (Message* message = queue_.pop_front()) unread.push_back(*message);
    while (UnixSocket* connection = connections_.pop_front()) connections.push_back(*connection);
    std::swap(old_peer, peer_);
    (void)data_wanted_.wake_all();
    (void)room_wanted_.wake_all();
    (void)place_wanted_.wake_all();
  }
  const bool had_data = !unread.empty();
  tell_strangers();
  if (old_peer) {
    old_peer->forget_stranger(*this);
    unread.for_each([&](Message& message) {
      if (!message.sender) old_peer->uncharge(message.charge);
    });
    if (connection_based()) old_peer->peer_closed(had_data);
  }
  while (UnixSocket* connection = connections.pop_front()) {
    const Ref<UnixSocket> last = Ref<UnixSocket>::adopt(connection);
    if (const Ref<UnixSocket> client = connection->peer()) client->peer_closed(true);
    connection->close();
  }
  finish_used(unread);
  in_flight::collect_if_due();
}

}  // namespace corral::fs

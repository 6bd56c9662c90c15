// Connections: their beginning and their end, and what lwIP tells of them. See tcp_socket.h.
#include <lwip/pbuf.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/tcp.h>

#include "fs/socket/time_limit.h"
#include "memory/heap.h"
#include "net/tcp_socket.h"
#include "task/thread.h"

namespace corral::net {

static_assert(TcpSocket::largest_segment == TCP_MSS && TcpSocket::window_scale == TCP_RCV_SCALE);

// ---- what lwIP calls: under the lock, which it does not know ---------------------------------------------------------------

struct TcpSocket::Callbacks {
  static TcpSocket& socket(void* argument) { return *static_cast<TcpSocket*>(argument); }

  static err_t on_connected(void* argument, tcp_pcb*, err_t) {
    stack_lock.assert_held();
    socket(argument).established();
    return ERR_OK;
  }
  static err_t on_accept(void* argument, tcp_pcb* pcb, err_t error) {
    stack_lock.assert_held();
    return argument == nullptr || pcb == nullptr || error != ERR_OK ? err_t{ERR_MEM} : socket(argument).accepted(*pcb);
  }
  static err_t on_receive(void* argument, tcp_pcb* pcb, pbuf* bytes, err_t) {
    stack_lock.assert_held();
    if (bytes == nullptr) {
      socket(argument).peer_has_finished();
    } else {
      socket(argument).arrived(bytes);
      tcp_ack_now(pcb);  // nothing is gained by waiting for more in memory
    }
    return ERR_OK;
  }
  static err_t on_sent(void* argument, tcp_pcb*, u16) {
    stack_lock.assert_held();
    socket(argument).room_came();
    return ERR_OK;
  }
  static void on_error(void* argument, err_t error) {
    stack_lock.assert_held();
    socket(argument).failed(error);
  }
};

void TcpSocket::attach(tcp_pcb& pcb) {
  pcb_ = &pcb;
  all_received_ = all_written_ = 0;
  tcp_arg(&pcb, this);
  tcp_recv(&pcb, Callbacks::on_receive);
  tcp_sent(&pcb, Callbacks::on_sent);
  tcp_err(&pcb, Callbacks::on_error);
  if (is_set(option_no_delay)) tcp_nagle_disable(&pcb);
}

void TcpSocket::segment_of(tcp_pcb& pcb, u32 acknowledged, u32 window) {
  if (pcb.sent != Callbacks::on_sent) return;  // no socket has it
  Callbacks::socket(pcb.callback_arg).segment_came(pcb, acknowledged, window);
}

void TcpSocket::detach() {
  tcp_pcb* const pcb = std::exchange(pcb_, nullptr);
  tcp_arg(pcb, nullptr);
  tcp_recv(pcb, nullptr);
  tcp_sent(pcb, nullptr);
  tcp_err(pcb, nullptr);
}

void TcpSocket::tell_all() {
  (void)data_wanted_.wake_all();
  (void)room_wanted_.wake_all();
  source_.notify(fs::poll_readable | fs::poll_writable | fs::poll_hup | fs::poll_rdhup | fs::poll_err);
}

void TcpSocket::established() {
  established_ = true;
  (void)data_wanted_.wake_all();
  (void)room_wanted_.wake_all();
  source_.notify(fs::poll_writable);
}

err_t TcpSocket::accepted(tcp_pcb& pcb) {
  if (waiting_connections_ >= backlog_) return ERR_MEM;  // lwIP does not count those that were reset meanwhile
  Result<TcpSocket*> made = memory::make<TcpSocket>();
  if (!made.ok()) return ERR_MEM;
  TcpSocket& connection = *made.value();
  connection.inherit_options(*this);
  [&]() NO_THREAD_SAFETY_ANALYSIS {  // nobody else knows it yet
    connection.attach(pcb);
    connection.state_ = State::connected;
    connection.established_ = true;
    connection.local_ = {host_of(pcb.local_ip), pcb.local_port};
    connection.peer_ = {host_of(pcb.remote_ip), pcb.remote_port};
  }();
  tcp_backlog_delayed(&pcb);  // it counts until accept()
  connections_.push_back(connection);
  ++waiting_connections_;
  (void)data_wanted_.wake_one();
  source_.notify(fs::poll_readable);
  return ERR_OK;
}

void TcpSocket::peer_has_finished() {
  finished_ = true;
  shut_ |= fs::shut_receive;
  (void)data_wanted_.wake_all();
  source_.notify(fs::poll_readable | fs::poll_rdhup | (shut_ == fs::shut_both ? fs::poll_hup : 0));
  let_go_if_over();
}

// lwIP forgets a connection that both sides have finished without saying so.
void TcpSocket::let_go_if_over() {
  if (pcb_ != nullptr && finished_ && (shut_ & fs::shut_send) != 0) detach();
}

// lwIP has ended the connection, or never had one.
void TcpSocket::failed(err_t error) {
  pcb_ = nullptr;
  if (error == ERR_RST) {
    error_ = !established_ ? Errno::econnrefused : finished_ ? Errno::epipe : Errno::econnreset;
  } else if (error != ERR_CLSD) {
    error_ = errno_of(error);
  }
  shut_ = fs::shut_both;
  tell_all();
}

// ---- addresses -----------------------------------------------------------------------------------------------------------

void TcpSocket::apply_options() {
  if (pcb_ == nullptr) return;
  apply_option(pcb_, option_reuse_address, SOF_REUSEADDR);
}

Result<void> TcpSocket::make_pcb() {
  if (pcb_ == nullptr) pcb_ = tcp_new();
  if (pcb_ == nullptr) return Errno::enobufs;
  apply_options();
  return {};
}

Result<void> TcpSocket::bind_locked(InternetAddress address) {
  TRY(make_pcb());
  // lwIP looks when the second one listens; Linux says it here.
  for (const tcp_pcb_listen* other = tcp_listen_pcbs.listen_pcbs; other != nullptr; other = other->next) {
    const u32 host = host_of(other->local_ip);
    const bool same_host = host == any_host || address.host == any_host || host == address.host;
    if (address.port != 0 && other->local_port == address.port && same_host) return Errno::eaddrinuse;
  }
  const ip4_addr host = address_of(address.host);
  if (tcp_bind(pcb_, &host, address.port) != ERR_OK) return Errno::eaddrinuse;
  local_ = {address.host, pcb_->local_port};
  return {};
}

// The listener has gone, and the address was to stay: connections that came by it may have it still.
Result<void> TcpSocket::bind_again() {
  TRY(make_pcb());
  pcb_->local_ip = address_of(local_.host);
  pcb_->local_port = local_.port;
  TCP_REG(&tcp_bound_pcbs, pcb_);
  return {};
}

Result<fs::Endpoint> TcpSocket::peer_name() {
  StackGuard guard;
  if (!established_ || pcb_ == nullptr) return Errno::enotconn;
  return fs::Endpoint::of(peer_);
}

// ---- connecting ------------------------------------------------------------------------------------------------------------

namespace {

// A connection that has ended and is only remembered must not answer for a new one with the same addresses: nothing of it is under way.
void forget_old_connection(const tcp_pcb& wanted) {
  for (tcp_pcb* old = tcp_tw_pcbs; old != nullptr; old = old->next) {
    if (old->local_port != wanted.remote_port || old->remote_port != wanted.local_port) continue;
    if (!ip_addr_cmp(&old->local_ip, &wanted.remote_ip) || !ip_addr_cmp(&old->remote_ip, &wanted.local_ip)) continue;
    tcp_abort(old);
    return;
  }
}

}  // namespace

Result<void> TcpSocket::begin_connect(InternetAddress to) {
  to = TRY(reachable(to));
  if (pcb_ == nullptr && bound_) TRY(bind_locked(local_));  // the last connection has gone, the address was to stay
  TRY(make_pcb());
  attach(*pcb_);
  error_ = {};
  shut_ = 0;
  finished_ = false;
  const ip4_addr host = address_of(to.host);
  const err_t begun = tcp_connect(pcb_, &host, to.port, Callbacks::on_connected);
  if (begun != ERR_OK) return begun == ERR_USE || begun == ERR_BUF ? Errno::eaddrnotavail : errno_of(begun);
  if (pcb_->local_port == to.port) {  // to itself: of two that begin at the same time lwIP makes no connection
    abort();
    return Errno::econnrefused;
  }
  forget_old_connection(*pcb_);
  state_ = State::connecting;
  local_ = {host_of(pcb_->local_ip), pcb_->local_port};
  peer_ = to;
  deliver();
  return {};
}

// A call may come again, after a wait or by another call of the program: it finds out what has become of the connection.
Result<void> TcpSocket::connect(Thread& thread, InternetAddress to, bool nonblocking, Instant deadline) {
  StackGuard guard;
  if (state_ == State::connected || state_ == State::listening) return Errno::eisconn;
  const bool begins = state_ == State::fresh;
  if (begins) {
    TRY(begin_connect(to));
    if (nonblocking) return Errno::einprogress;
  }
  if (established_) {
    state_ = State::connected;
    return {};
  }
  if (pcb_ == nullptr) {  // failed
    state_ = State::fresh;
    if (!bound_) local_ = {};
    const Errno error = std::exchange(error_, Errno{});
    return error == Errno{} ? Errno::econnaborted : error;
  }
  if (nonblocking) return Errno::ealready;
  const Errno outcome = fs::wait_at_socket(room_wanted_, thread, false, deadline);
  return outcome == Errno::eagain ? Errno::einprogress : outcome;
}

// Ends what there is of a connection without ado: its peer is told that it was reset.
void TcpSocket::abort() {
  if (pcb_ != nullptr) {
    tcp_pcb* const pcb = pcb_;
    detach();
    tcp_abort(pcb);
  }
  drop_received();
}

Result<void> TcpSocket::disconnect() {
  StackGuard guard;
  if (state_ == State::listening) {
    stop_listening();
  } else {
    abort();
  }
  state_ = State::fresh;
  established_ = finished_ = false;
  shut_ = 0;
  peer_ = {};
  if (!bound_) local_ = {};
  tell_all();
  return {};
}

// ---- listening ---------------------------------------------------------------------------------------------------------------

Result<void> TcpSocket::listen(Thread&, u32 backlog) {
  StackGuard guard;
  constexpr u64 most = 254;  // that lwIP counts, less the one more that Linux lets wait
  const u8 waiting = static_cast<u8>(fs::smaller(fs::smaller(u64{backlog}, most_waiting.value()), most) + 1);
  backlog_ = waiting;
  if (state_ == State::listening) {
    tcp_backlog_set(pcb_, waiting);
    return {};
  }
  if (state_ != State::fresh) return Errno::einval;
  if (local_.port == 0) TRY(bind_locked({}));
  if (pcb_ == nullptr) TRY(bind_again());
  TRY(make_pcb());
  err_t error = ERR_OK;
  tcp_pcb* const listener = tcp_listen_with_backlog_and_err(pcb_, waiting, &error);
  if (listener == nullptr) return errno_of(error);
  pcb_ = listener;
  tcp_arg(pcb_, this);
  tcp_accept(pcb_, Callbacks::on_accept);
  state_ = State::listening;
  listening_.store(true, Order::release);
  shut_ = 0;
  return {};
}

Result<Ref<fs::Socket>> TcpSocket::accept(Thread& thread, bool nonblocking, Instant deadline) {
  StackGuard guard;
  if (state_ != State::listening) return Errno::einval;
  TcpSocket* const connection = connections_.pop_front();
  if (connection == nullptr) return fs::wait_at_socket(data_wanted_, thread, nonblocking, deadline);
  --waiting_connections_;
  if (!connections_.empty()) (void)data_wanted_.wake_one();
  [&]() NO_THREAD_SAFETY_ANALYSIS {  // one lock for all sockets
    if (connection->pcb_ != nullptr) tcp_backlog_accepted(connection->pcb_);
  }();
  return Ref<fs::Socket>::adopt(connection);
}

void TcpSocket::leave_connection() {
  StackGuard guard;
  if (!connections_.empty()) (void)data_wanted_.wake_one();
}

// Who has connected and was not accepted is reset.
void TcpSocket::stop_listening() {
  tcp_arg(pcb_, nullptr);
  (void)tcp_close(std::exchange(pcb_, nullptr));
  listening_.store(false, Order::release);
  while (TcpSocket* const connection = connections_.pop_front()) {
    [&]() NO_THREAD_SAFETY_ANALYSIS { connection->abort(); }();  // one lock for all sockets
    connection->drop();
  }
  waiting_connections_ = 0;
  if (bound_) {
    (void)bind_again();  // nobody else gets the port
  } else {
    local_ = {};
  }
}

// ---- the end -------------------------------------------------------------------------------------------------------------

Result<void> TcpSocket::shutdown(u32 how) {
  StackGuard guard;
  if (state_ == State::listening) {
    if ((how & fs::shut_receive) == 0) return {};
    stop_listening();
    state_ = State::fresh;
    tell_all();
    return {};
  }
  if (pcb_ == nullptr || state_ == State::fresh) return Errno::enotconn;
  if (!established_) {
    abort();
    shut_ = fs::shut_both;
    tell_all();
    return {};
  }
  if ((how & ~shut_ & fs::shut_send) != 0) (void)tcp_shutdown(pcb_, 0, 1);
  shut_ |= how;
  tell_all();
  let_go_if_over();
  return {};
}

void TcpSocket::close() {
  StackGuard guard;
  bound_ = false;
  const bool at_once = received_ != nullptr || linger.load(Order::relaxed) == 1;  // for no seconds
  if (state_ == State::listening) {
    stop_listening();
  } else if (pcb_ != nullptr && established_ && at_once) {
    abort();
  } else if (pcb_ != nullptr) {
    tcp_pcb* const pcb = pcb_;
    detach();
    if (tcp_close(pcb) != ERR_OK) tcp_abort(pcb);
  }
  drop_received();
  state_ = State::fresh;
  shut_ = fs::shut_both;
  tell_all();
}

}  // namespace corral::net

// A UNIX socket, apart from the open file that it is used through: its peer may need it longer.
//
// Everything that arrives lies in the receiver's queue, under the receiver's lock_; what it weighs is charged to its sender, who waits
// when too much of it is under way. A stream's peer is settled once, so sending takes one lock (the receiver's), and
// receiving takes one (the own). No two sockets' locks are ever held at once.
//
// The end: the file's end calls close(). The peer is told, keeps what is in its queue, and lets go of this object at its own end.
// Errors and their order are Linux's. Source: Linux man-pages unix(7), socket(2) and the pages of the calls; POSIX.1-2017.
// Neighbours: connecting and naming in unix_connect.cpp, sending in unix_send.cpp, receiving in unix_receive.cpp.
#pragma once

#include "fs/socket/socket.h"
#include "lib/red_black_tree.h"

namespace corral::fs {

class UnixSocket final : public Socket {
 public:
  static constexpr u32 largest_queue = 10;  // datagrams of strangers (net.unix.max_dgram_qlen)

  UnixSocket(SocketType type, const Identity& creator) : Socket{SocketFamily::unix, type}, creator_{creator} {}
  ~UnixSocket() override;

  [[nodiscard]] i32 protocol() const override { return 0; }

  // ---- connecting (unix_connect.cpp) ----
  static void pair(UnixSocket& a, UnixSocket& b);  // of socketpair; before anybody else knows them
  Result<void> listen(Thread& thread, u32 backlog) override EXCLUDES(lock_);
  // To a listener, or as a datagram socket's usual receiver. blocked, restart: its queue is full.
  Result<void> connect(Thread& thread, UnixSocket& to, const Identity& identity, bool nonblocking, Instant deadline)
      EXCLUDES(lock_);
  void disconnect() EXCLUDES(lock_);  // datagrams; what has come so far goes
  Result<Ref<Socket>> accept(Thread& thread, bool nonblocking, Instant deadline) override EXCLUDES(lock_);
  void leave_connection() override EXCLUDES(lock_);
  Result<void> shutdown(u32 how) override EXCLUDES(lock_);
  void close() override EXCLUDES(lock_);
  [[nodiscard]] Ref<UnixSocket> peer() EXCLUDES(lock_);
  [[nodiscard]] bool connected() const { return state_.load(Order::acquire) == State::connected; }
  [[nodiscard]] bool listening() const override { return state_.load(Order::acquire) == State::listening; }
  [[nodiscard]] Ref<SocketName> own_name() EXCLUDES(lock_);
  [[nodiscard]] Endpoint name() override { return Endpoint::of(own_name()); }
  Result<Endpoint> peer_name() override;
  void publish_name() EXCLUDES(lock_);  // of socket_names
  // A socket that tells of senders (SO_PASSCRED) gets a name, if it has none, before it connects or sends a packet. eaddrinuse, enomem.
  Result<void> name_for_identity() EXCLUDES(lock_);

  // ---- bytes: steps of the calling thread ----
  Result<u64> send(Thread& thread, Transfer& transfer, Sending& sending) override EXCLUDES(lock_);
  Result<u64> receive(Thread& thread, Transfer& transfer, Receiving& receiving) override EXCLUDES(lock_);
  u32 poll(PollEntry* entry) override EXCLUDES(lock_);
  Result<u64> available() override EXCLUDES(lock_);
  [[nodiscard]] Result<u64> unsent() override { return charged_.load(Order::relaxed); }

  // ---- options ----
  [[nodiscard]] Errno take_error() override EXCLUDES(lock_);
  [[nodiscard]] Identity peer_identity() EXCLUDES(lock_);
  void set_send_limit(u32 bytes) override EXCLUDES(lock_);
  [[nodiscard]] u32 send_limit() const override { return send_limit_.load(Order::relaxed); }

  // ---- for socket_names, under its lock ----
  ListLink everyone_link;
  TreeLink name_link;
  Ref<SocketName> bound_name;

  // ---- for in_flight, under its lock ----
  template <class Visit>
  void for_each_rights(Visit&& visit) EXCLUDES(lock_);
  void take_messages_with_rights(Messages& to) EXCLUDES(lock_);
  ListLink flight_link, doubt_link, scan_link;
  u64 flights = 0;  // references to the file that are in messages
  u64 unexplained = 0;  // of these, the ones that were not found in doubtful sockets' queues
  bool in_doubt = false;
  OpenFile* flight_file = nullptr;

 private:
  enum class State : u8 { fresh, connecting, listening, connected };

  // ---- sending ----
  Result<u64> send_stream(Thread& thread, Transfer& transfer, Sending& sending);
  Result<u64> send_packet(Thread& thread, Transfer& transfer, Sending& sending);
  Result<void> reserve(Thread& thread, u32 charge, const Sending& sending) EXCLUDES(lock_);
  void uncharge(u64 charge) EXCLUDES(lock_);
  Result<Message*> prepare_message(Transfer& transfer, u64 size, u32 charge, Sending& sending, bool with_rights);
  void take_back(Message& message, Sending& sending);
  [[nodiscard]] Errno broken_pipe(Thread& thread, const Sending& sending) const;
  // Puts it into the queue of this socket. An error: it is still the caller's.
  Result<void> deliver(Message& message) EXCLUDES(lock_);
  Result<void> deliver_packet(Thread& thread, UnixSocket& sender, Message& message, const Sending& sending) EXCLUDES(lock_);
  void enqueue(Message& message) REQUIRES(lock_);

  // ---- receiving ----
  Result<u64> receive_stream(Thread& thread, Transfer& transfer, Receiving& receiving);
  Result<u64> receive_packet(Thread& thread, Transfer& transfer, Receiving& receiving);
  [[nodiscard]] Errno wait_for_data(Thread& thread, const Receiving& receiving) REQUIRES(lock_);
  Result<u64> take_bytes(Transfer& transfer, Receiving& receiving, Messages& used) REQUIRES(lock_);
  Result<u64> look_at_bytes(Transfer& transfer, Receiving& receiving) REQUIRES(lock_);
  void answer_with(Message& message, Receiving& receiving) REQUIRES(lock_);
  void finish_used(Messages& used) EXCLUDES(lock_);
  void tell_strangers() EXCLUDES(lock_);

  Result<void> connect_stream(Thread& thread, UnixSocket& listener, const Identity& identity, bool nonblocking,
                              Instant deadline);
  Result<void> push_connection(Thread& thread, Ref<UnixSocket> connection, bool nonblocking, Instant deadline) EXCLUDES(lock_);
  void peer_closed(bool with_data) EXCLUDES(lock_);
  void part_from(UnixSocket& old_peer) EXCLUDES(lock_);
  void peer_parted(const UnixSocket& from) EXCLUDES(lock_);
  void add_shut(u32 how) EXCLUDES(lock_);
  [[nodiscard]] bool writable() const {
    return !listening() && charged_.load(Order::relaxed) * 4 <= send_limit_.load(Order::relaxed);
  }
  // This queue is full for `stranger`, which is told when it no longer is. False: it is not full.
  bool keep_stranger(UnixSocket& stranger) EXCLUDES(lock_);
  void forget_stranger(UnixSocket& stranger) EXCLUDES(lock_);
  void tell_writable() EXCLUDES(lock_);

  SpinLock lock_{Rank::socket, "socket"};
  Messages queue_ GUARDED_BY(lock_);
  u32 queued_ GUARDED_BY(lock_) = 0;
  u64 queued_bytes_ GUARDED_BY(lock_) = 0;  // not received yet
  WaitQueue data_wanted_{lock_};  // receivers, and threads in accept
  WaitQueue room_wanted_{lock_};  // own senders: too much is charged
  WaitQueue place_wanted_{lock_};  // others' datagrams and connections: this queue is full
  PollSource source_{lock_};
  Errno error_ GUARDED_BY(lock_){};  // told once (SO_ERROR)
  Ref<UnixSocket> peer_ GUARDED_BY(lock_);  // a stream's stays until close()
  Ref<SocketName> name_ GUARDED_BY(lock_);
  Identity peer_identity_ GUARDED_BY(lock_){0, ~0u, ~0u};
  Identity creator_ GUARDED_BY(lock_);  // who a connecting program is told that it talks to
  bool closed_ GUARDED_BY(lock_) = false;
  u32 backlog_ GUARDED_BY(lock_) = 0;
  ListLink connection_link_;  // in the listener's list; its lock
  IntrusiveList<UnixSocket, &UnixSocket::connection_link_> connections_ GUARDED_BY(lock_);  // references
  u32 waiting_connections_ GUARDED_BY(lock_) = 0;
  // Sockets whose poll says that they cannot send because this queue is full: the target's lock. References.
  ListLink stranger_link_;
  IntrusiveList<UnixSocket, &UnixSocket::stranger_link_> strangers_ GUARDED_BY(lock_);

  Atomic<State> state_{State::fresh};
  Atomic<u32> shut_{0};
  Atomic<u64> charged_{0};
  Atomic<u32> send_limit_{default_buffer};
};

template <class Visit>
// NOLINTNEXTLINE(misc-no-recursion): one level: a connection that waits has none itself
void UnixSocket::for_each_rights(Visit&& visit) {
  IntrusiveList<UnixSocket, &UnixSocket::scan_link> connections;
  const auto look = [&](Message& message) {
    if (message.rights != nullptr) visit(*message.rights);
  };
  {
    LockGuard guard{lock_};
    queue_.for_each(look);
    connections_.for_each([&](UnixSocket& connection) {
      connection.retain();
      connections.push_back(connection);
    });
  }
  while (UnixSocket* connection = connections.pop_front()) {  // nobody has accepted it: it has no connections itself
    const Ref<UnixSocket> held = Ref<UnixSocket>::adopt(connection);
    connection->for_each_rights(visit);
  }
}

}  // namespace corral::fs

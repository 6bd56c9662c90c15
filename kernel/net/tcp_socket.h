// A TCP socket: what programs see of a connection (`pcb_`) of lwIP.
//
// lwIP owns the connection, and ends it by itself: after an error, or once both directions are over and nothing of it is left. So
// pcb_ is let go of when lwIP says so (on_error), when the file ends (close), and when both directions are over
// (let_go_if_over): from then on the socket is no more than its queue.
// What has come lies in received_, chained by the buffers themselves, until it is read; the window opens as far as was read.
//
// Neighbours: connecting in tcp_connect.cpp, bytes in tcp_transfer.cpp. Lock: the stack's. Source: RFC 9293; Linux man-pages tcp(7).
#pragma once

#include <lwip/tcp.h>

#include "net/internet_socket.h"

namespace corral::net {

class TcpSocket final : public InternetSocket {
 public:
  TcpSocket() : InternetSocket{fs::SocketType::stream} {}
  static constexpr int option_no_delay = 1, option_cork = 3;  // TCP_NODELAY, TCP_CORK
  static constexpr i32 largest_segment = 16384;  // bytes that go in one packet (TCP_MAXSEG)
  static constexpr u8 window_scale = 3;  // both sides shift the windows that they tell by this

  [[nodiscard]] i32 protocol() const override { return 6; }
  Result<void> connect(Thread& thread, InternetAddress to, bool nonblocking, Instant deadline) override EXCLUDES(stack_lock);
  Result<void> disconnect() override EXCLUDES(stack_lock);
  Result<void> listen(Thread& thread, u32 backlog) override EXCLUDES(stack_lock);
  Result<Ref<fs::Socket>> accept(Thread& thread, bool nonblocking, Instant deadline) override EXCLUDES(stack_lock);
  void leave_connection() override EXCLUDES(stack_lock);
  Result<void> shutdown(u32 how) override EXCLUDES(stack_lock);
  void close() override EXCLUDES(stack_lock);
  [[nodiscard]] bool listening() const override { return listening_.load(Order::acquire); }
  Result<fs::Endpoint> peer_name() override EXCLUDES(stack_lock);

  Result<u64> send(Thread& thread, fs::Transfer& transfer, fs::Sending& sending) override EXCLUDES(stack_lock);
  Result<u64> receive(Thread& thread, fs::Transfer& transfer, fs::Receiving& receiving) override EXCLUDES(stack_lock);
  u32 poll(fs::PollEntry* entry) override EXCLUDES(stack_lock);
  Result<u64> available() override EXCLUDES(stack_lock);
  [[nodiscard]] Result<u64> unsent() override EXCLUDES(stack_lock);

  void tell(SocketEntry& entry) const override REQUIRES(stack_lock);
  [[nodiscard]] SocketEntry describe() EXCLUDES(stack_lock);  // as it stands in the table of sockets
  void option_set(int number) EXCLUDES(stack_lock);  // of level tcp, kept already
  // A segment has come for a connection: how far it acknowledges, and how much its sender takes beyond that.
  static void segment_of(tcp_pcb& pcb, u32 acknowledged, u32 window) REQUIRES(stack_lock);

 private:
  // What connect() has told the program so far; whether there is a connection is established_.
  enum class State : u8 { fresh, listening, connecting, connected };
  static constexpr u32 largest_write = 32 << 10;  // that is copied at once; less room than that is not told

  // ---- what lwIP calls, and how it finds the socket ----
  struct Callbacks;
  void attach(tcp_pcb& pcb) REQUIRES(stack_lock);
  void detach() REQUIRES(stack_lock);  // lwIP goes on without this socket
  void established() REQUIRES(stack_lock);
  err_t accepted(tcp_pcb& pcb) REQUIRES(stack_lock);
  void arrived(pbuf* bytes) REQUIRES(stack_lock);
  void peer_has_finished() REQUIRES(stack_lock);
  void room_came() REQUIRES(stack_lock);
  void segment_came(const tcp_pcb& pcb, u32 acknowledged, u32 window) REQUIRES(stack_lock);
  void tell_room() REQUIRES(stack_lock);
  void failed(err_t error) REQUIRES(stack_lock);
  void let_go_if_over() REQUIRES(stack_lock);
  void tell_all() REQUIRES(stack_lock);

  // ---- connecting ----
  void apply_options() override REQUIRES(stack_lock);
  Result<void> make_pcb() REQUIRES(stack_lock);
  Result<void> bind_locked(InternetAddress address) override REQUIRES(stack_lock);
  Result<void> bind_again() REQUIRES(stack_lock);
  Result<void> begin_connect(InternetAddress to) REQUIRES(stack_lock);
  void stop_listening() REQUIRES(stack_lock);
  void abort() REQUIRES(stack_lock);

  // ---- bytes ----
  [[nodiscard]] bool writable() const REQUIRES(stack_lock);
  Result<u64> wait_for_room(Thread& thread, u64 wanted, const fs::Sending& sending) EXCLUDES(stack_lock);
  Result<u64> write(std::span<const u8> bytes, bool more, bool holds_back) EXCLUDES(stack_lock);
  [[nodiscard]] bool is_set(int option) const { return kept_option(level_tcp, option).value() != 0; }
  Result<void> take_bytes(fs::Transfer& transfer) REQUIRES(stack_lock);
  Result<u64> look_at_bytes(fs::Transfer& transfer) REQUIRES(stack_lock);
  void open_window(u64 bytes) REQUIRES(stack_lock);
  [[nodiscard]] bool put_together(pbuf& bytes) REQUIRES(stack_lock);
  void drop_first() REQUIRES(stack_lock);
  void drop_received() REQUIRES(stack_lock);

  tcp_pcb* pcb_ GUARDED_BY(stack_lock) = nullptr;
  State state_ GUARDED_BY(stack_lock) = State::fresh;
  Atomic<bool> listening_{false};  // written under the lock
  bool established_ GUARDED_BY(stack_lock) = false;
  bool finished_ GUARDED_BY(stack_lock) = false;  // the peer has
  bool room_missed_ GUARDED_BY(stack_lock) = false;  // somebody has found too little to write
  pbuf* received_ GUARDED_BY(stack_lock) = nullptr;  // a chain; the totals in it do not count
  pbuf* last_received_ GUARDED_BY(stack_lock) = nullptr;
  u32 room_behind_ GUARDED_BY(stack_lock) = 0;  // in the last buffer, for small segments
  u32 taken_ GUARDED_BY(stack_lock) = 0;  // bytes of the first buffer that were read
  u64 received_bytes_ GUARDED_BY(stack_lock) = 0;  // not read yet
  u64 all_received_ GUARDED_BY(stack_lock) = 0;  // bytes, read or not
  u64 all_written_ GUARDED_BY(stack_lock) = 0;  // bytes that lwIP was given

  ListLink connection_link_;  // in its listener's list
  IntrusiveList<TcpSocket, &TcpSocket::connection_link_> connections_ GUARDED_BY(stack_lock);  // references
  u32 waiting_connections_ GUARDED_BY(stack_lock) = 0;  // in it, also those that have ended
  u32 backlog_ GUARDED_BY(stack_lock) = 0;  // how many may be
};

}  // namespace corral::net

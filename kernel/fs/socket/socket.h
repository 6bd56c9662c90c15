// What all sockets are, whatever they connect: the calls' view of them (abi), and the options that only a caller looks at.
//
// An open file holds its socket, and calls close() at its end; the object may live a little longer, because a peer uses it.
// Errors and their order are Linux's. Source: Linux man-pages socket(2), socket(7) and the pages of the calls; POSIX.1-2017.
// Kinds: UnixSocket (fs/socket/unix_socket.h), InternetSocket (net/internet_socket.h).
#pragma once

#include "fs/poll_source.h"
#include "fs/socket/endpoint.h"
#include "fs/socket/message.h"
#include "lib/setting.h"
#include "sync/waiter.h"

namespace corral::fs {

enum class SocketType : u8 { stream = 1, datagram = 2, packets = 5 };

inline constexpr u32 shut_receive = 1, shut_send = 2, shut_both = 3;

// How a call wants to send.
struct Sending {
  bool nonblocking = false;
  bool quiet = false;  // no SIGPIPE
  bool more = false;  // more of it follows soon: Internet sockets may wait for that
  Instant deadline = never;
  Rights* rights = nullptr;  // taken over when the first byte has been sent; else they stay the caller's
  bool identified = false;  // `identity` was given by the program
  Identity identity;  // of the sender
  Ref<UnixSocket> target;  // UNIX datagrams: instead of the peer
  bool has_address = false;  // Internet datagrams: to `address` instead of the peer
  InternetAddress address;
};

// How a call wants to receive, and what it got beside bytes.
struct Receiving {
  bool nonblocking = false;
  bool peek = false;
  bool wait_for_all = false;
  bool takes_rights = false;  // else they are let go of
  bool wants_name = false;
  Instant deadline = never;
  // ---- answers ----
  u64 whole_size = 0;  // of the packet, if there is one
  bool truncated = false;
  bool identified = false;
  Identity identity;
  Rights* rights = nullptr;  // the caller's now
  bool lost_rights = false;  // there were some, and they were not wanted
  Endpoint from;  // of who has sent the first byte; empty: it has no name, or nobody asked
};

class Socket : public RefCounted<Socket> {
 public:
  static constexpr u32 default_buffer = 212992;
  static inline constinit Setting most_waiting{4096, 0, 0x7fff'ffff};  // connections not accepted yet (net.core.somaxconn)

  Socket(SocketFamily family, SocketType type) : family_{family}, type_{type} {}
  virtual ~Socket() = default;

  [[nodiscard]] SocketFamily family() const { return family_; }
  [[nodiscard]] SocketType type() const { return type_; }
  [[nodiscard]] bool connection_based() const { return type_ != SocketType::datagram; }
  [[nodiscard]] virtual i32 protocol() const = 0;  // its number (SO_PROTOCOL)

  // ---- connections ----
  virtual Result<void> listen(Thread& thread, u32 backlog) = 0;  // eopnotsupp, einval
  // The next connection. einval: does not listen; eopnotsupp, eagain, blocked, restart.
  virtual Result<Ref<Socket>> accept(Thread& thread, bool nonblocking, Instant deadline) = 0;
  // If a connection waits: another thread is told, for the caller, who was, cannot take it.
  virtual void leave_connection() {}
  virtual Result<void> shutdown(u32 how) = 0;  // bits of shut_. enotconn
  virtual void close() = 0;  // the file has ended
  [[nodiscard]] virtual bool listening() const = 0;
  [[nodiscard]] virtual Endpoint name() = 0;
  virtual Result<Endpoint> peer_name() = 0;  // enotconn

  // ---- bytes: steps of the calling thread ----
  virtual Result<u64> send(Thread& thread, Transfer& transfer, Sending& sending) = 0;
  virtual Result<u64> receive(Thread& thread, Transfer& transfer, Receiving& receiving) = 0;
  virtual u32 poll(PollEntry* entry) = 0;
  virtual Result<u64> available() = 0;  // einval: listens
  [[nodiscard]] virtual Result<u64> unsent() = 0;

  // ---- options ----
  [[nodiscard]] virtual Errno take_error() = 0;
  virtual void set_send_limit(u32 bytes) = 0;
  [[nodiscard]] virtual u32 send_limit() const = 0;
  Atomic<u32> receive_limit{default_buffer};
  Atomic<u32> least{1};  // SO_RCVLOWAT
  Atomic<bool> wants_identity{false};  // SO_PASSCRED
  Atomic<u64> plain_options{0};  // booleans that are kept and told, by their numbers
  virtual void plain_option_set() {}  // one of them has changed
  Atomic<i32> priority{0};  // kept and told
  Atomic<u64> linger{0};  // whether, and above that for how many seconds
  Atomic<i64> receive_timeout_ns{0}, send_timeout_ns{0};  // 0: for ever

  // ---- its file: for who lists sockets ----
  Atomic<u64> file_number{0};  // of the inode; 0: it has none yet
  Atomic<u32> owner{0};  // the user who made it

 private:
  const SocketFamily family_;
  const SocketType type_;
};

}  // namespace corral::fs

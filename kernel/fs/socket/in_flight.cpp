// See in_flight.h.
#include "fs/socket/in_flight.h"

#include "fs/inode.h"
#include "fs/socket/socket_file.h"
#include "fs/socket/unix_socket.h"

namespace corral::fs::in_flight {

namespace {

constinit SpinLock lock{Rank::in_flight, "sockets in flight"};
constinit IntrusiveList<UnixSocket, &UnixSocket::flight_link> sockets GUARDED_BY(lock);
constinit u64 total GUARDED_BY(lock) = 0;
constinit Atomic<u64> known_total{0};
constinit Atomic<u64> closes{0};  // since the last look

template <class Visit>
void for_each_socket(const Rights& rights, Visit&& visit) {
  for (u32 i = 0; i < rights.count; ++i) {
    if (UnixSocket* socket = unix_socket_of(*rights.files[i])) visit(*socket, *rights.files[i]);
  }
}

// A socket that was in doubt can be reached after all, and so can what is in its queues.
void restore(UnixSocket& first) REQUIRES(lock) {
  IntrusiveList<UnixSocket, &UnixSocket::doubt_link> reached;
  first.in_doubt = false;
  reached.push_back(first);
  while (UnixSocket* socket = reached.pop_front()) {
    socket->for_each_rights([&](const Rights& rights) {
      for_each_socket(rights, [&](UnixSocket& inner, OpenFile&) {
        if (!inner.in_doubt) return;
        inner.in_doubt = false;
        reached.push_back(inner);
      });
    });
  }
}

void mark_candidates() REQUIRES(lock) {
  sockets.for_each([](UnixSocket& socket) {
    socket.in_doubt = socket.flight_file->references() == socket.flights;
    socket.unexplained = socket.flights;
  });
  sockets.for_each([](UnixSocket& socket) {
    if (!socket.in_doubt) return;
    socket.for_each_rights([](const Rights& rights) {
      for_each_socket(rights, [](UnixSocket& inner, OpenFile&) {
        if (inner.in_doubt) --inner.unexplained;
      });
    });
  });
}

void collect() {
  Messages garbage;
  {
    LockGuard guard{lock};
    mark_candidates();
    sockets.for_each([](UnixSocket& socket) NO_THREAD_SAFETY_ANALYSIS {
      if (socket.in_doubt && socket.unexplained > 0) restore(socket);
    });
    sockets.for_each([&](UnixSocket& socket) {
      if (!socket.in_doubt) return;
      socket.in_doubt = false;
      socket.take_messages_with_rights(garbage);
    });
  }
  release_messages(garbage);
}

}  // namespace

void add(const Rights& rights) {
  LockGuard guard{lock};
  for_each_socket(rights, [](UnixSocket& socket, OpenFile& file) NO_THREAD_SAFETY_ANALYSIS {
    ++total;
    if (socket.flights++ > 0) return;
    socket.flight_file = &file;
    sockets.push_back(socket);
  });
  known_total.store(total, Order::relaxed);
}

void remove(const Rights& rights) {
  LockGuard guard{lock};
  for_each_socket(rights, [](UnixSocket& socket, OpenFile&) NO_THREAD_SAFETY_ANALYSIS {
    --total;
    if (--socket.flights == 0) IntrusiveList<UnixSocket, &UnixSocket::flight_link>::remove(socket);
  });
  known_total.store(total, Order::relaxed);
}

// A look at few is cheap. When there are many, as many closes pay for it; until then some garbage may stay.
void collect_if_due() {
  constexpr u64 few = 1024;
  const u64 flights = known_total.load(Order::relaxed);
  if (flights == 0) return;
  if (closes.fetch_add(1, Order::relaxed) + 1 < flights / 4 && flights > few) return;
  closes.store(0, Order::relaxed);
  collect();
}

}  // namespace corral::fs::in_flight

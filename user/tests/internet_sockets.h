// Addresses, sockets and connections over the loopback device, for the tests of Internet sockets.
#pragma once

#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/check.h"

constexpr int64_t ms = 1000000;
constexpr int long_ms = 20000;  // far beyond what a busy host delays
// What poll tells of streams.
constexpr unsigned in = POLLIN | POLLRDNORM;
constexpr unsigned out = POLLOUT | POLLWRNORM;

struct Address {
  sockaddr_in name = {};
  static constexpr socklen_t size = sizeof name;
  explicit Address(unsigned port, uint32_t host = INADDR_LOOPBACK) {
    name.sin_family = AF_INET;
    name.sin_port = htons(static_cast<uint16_t>(port));
    name.sin_addr.s_addr = htonl(host);
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
  [[nodiscard]] sockaddr* place() { return reinterpret_cast<sockaddr*>(&name); }
  [[nodiscard]] unsigned port() const { return ntohs(name.sin_port); }
  bool operator==(const Address& other) const { return memcmp(&name, &other.name, size) == 0; }
};

// What getsockname or getpeername tells.
template <class Call>
Address told_by(Call call, int socket) {
  Address told(0xffff, INADDR_BROADCAST);
  socklen_t size = Address::size;
  CHECK_EQ(call(socket, told.place(), &size), 0);
  CHECK_EQ(size, Address::size);
  return told;
}

inline unsigned ready_of(int socket) {
  pollfd polled = {socket, static_cast<short>(0x7fff), 0};
  CHECK(poll(&polled, 1, 0) >= 0);
  return static_cast<unsigned short>(polled.revents);
}

inline void await(int socket, int events) {
  pollfd polled = {socket, static_cast<short>(events), 0};
  CHECK_EQ(poll(&polled, 1, long_ms), 1);
}

inline int option_of(int socket, int option, int level = SOL_SOCKET) {
  int value = -1;
  socklen_t size = sizeof value;
  CHECK_EQ(getsockopt(socket, level, option, &value, &size), 0);
  CHECK_EQ(size, sizeof value);
  return value;
}

inline void set_option(int socket, int option, int value, int level = SOL_SOCKET) {
  CHECK_EQ(setsockopt(socket, level, option, &value, sizeof value), 0);
}

inline int make_socket(int type = SOCK_STREAM) {
  const int made = socket(AF_INET, type, 0);
  CHECK(made >= 0);
  return made;
}

// At a port that the system chooses.
inline int bound(int type = SOCK_STREAM) {
  const int made = make_socket(type);
  CHECK_EQ(bind(made, Address(0).get(), Address::size), 0);
  return made;
}

// With small buffers, what it accepts has them, too.
inline int listening(int backlog = 128, bool small = false) {
  const int listener = bound();
  if (small) { set_option(listener, SO_RCVBUF, 30000); }
  CHECK_EQ(listen(listener, backlog), 0);
  return listener;
}

inline int connected_to(int listener) {
  const int client = make_socket();
  CHECK_EQ(connect(client, told_by(getsockname, listener).get(), Address::size), 0);
  return client;
}

inline int accepted_by(int listener) {
  const int server = accept(listener, nullptr, nullptr);
  CHECK(server >= 0);
  return server;
}

struct Connection {
  int client = -1, server = -1;
  explicit Connection(bool small = false) {
    const int listener = listening(1, small);
    client = connected_to(listener);
    if (small) { set_option(client, SO_SNDBUF, 30000); }
    server = accepted_by(listener);
    CHECK_EQ(close(listener), 0);
  }
  ~Connection() {
    close(client);
    close(server);
  }
  static void end(int& socket) {
    CHECK_EQ(close(socket), 0);
    socket = -1;
  }
};

template <int count>
void close_all(const int (&files)[count]) {
  for (const int each : files) { CHECK_EQ(close(each), 0); }
}

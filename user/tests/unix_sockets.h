// Pairs and names of UNIX sockets, for the tests of sockets.
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/check.h"

struct Pair {
  int a = -1, b = -1;
  explicit Pair(int type) {
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, type, 0, ends), 0);
    a = ends[0];
    b = ends[1];
  }
  ~Pair() {
    if (a >= 0) { close(a); }
    if (b >= 0) { close(b); }
  }
  void close_b() {
    CHECK_EQ(close(b), 0);
    b = -1;
  }
};

struct Name {
  sockaddr_un address = {};
  socklen_t size = 0;
  // A leading '@' makes it abstract.
  explicit Name(const char* text) {
    address.sun_family = AF_UNIX;
    const size_t length = strlen(text);
    memcpy(address.sun_path, text, length);
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
    if (text[0] == '@') {
      address.sun_path[0] = 0;
    } else {
      ++size;
    }
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

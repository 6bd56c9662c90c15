// What the tests of terminals share: pairs of a pseudo-terminal's ends, and writing to and reading from them.

#ifndef CORRAL_USER_TESTS_TERMINALS_H
#define CORRAL_USER_TESTS_TERMINALS_H

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "tests/check.h"

namespace terminals {

using Pids = const pid_t[];

struct Pair {
  int master;
  int slave;
};

inline Pair open_pair() {
  Pair pair{};
  pair.master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
  CHECK(pair.master >= 0);
  int locked = 0;
  CHECK_EQ(ioctl(pair.master, TIOCSPTLCK, &locked), 0);
  unsigned number = 0;
  CHECK_EQ(ioctl(pair.master, TIOCGPTN, &number), 0);
  char name[32];
  snprintf(name, sizeof name, "/dev/pts/%u", number);
  pair.slave = open(name, O_RDWR | O_NOCTTY);
  CHECK(pair.slave >= 0);
  return pair;
}

inline void close_pair(const Pair& pair) {
  CHECK_EQ(close(pair.slave), 0);
  CHECK_EQ(close(pair.master), 0);
}

inline void put(int file, const char* text) {
  CHECK_EQ(write(file, text, strlen(text)), static_cast<ssize_t>(strlen(text)));
}

// One character of a text.
inline void put_one(int file, char c) {
  CHECK_EQ(write(file, &c, 1), 1);
}

// A read of `size` bytes gives exactly the text. What comes in pieces (an echo) is put together.
inline bool got(int file, const char* text, size_t size = 256) {
  char bytes[256];
  const size_t wanted = strlen(text);
  for (size_t done = 0; done < wanted;) {
    const ssize_t count = read(file, bytes + done, size - done);
    if (count <= 0) {
      fprintf(stderr, "read: %zd, errno %d\n", count, errno);
      return false;
    }
    done += static_cast<size_t>(count);
    if (done > wanted || memcmp(bytes, text, done) != 0) {
      fprintf(stderr, "got \"%.*s\"\n", static_cast<int>(done), bytes);
      return false;
    }
  }
  return true;
}

inline void set_raw(int file, cc_t least, cc_t tenths) {
  termios settings{};
  CHECK_EQ(tcgetattr(file, &settings), 0);
  cfmakeraw(&settings);
  settings.c_cc[VMIN] = least;
  settings.c_cc[VTIME] = tenths;
  CHECK_EQ(tcsetattr(file, TCSANOW, &settings), 0);
}

// Linux passes on what is typed a moment later.
inline void settle() {
  check_sleep_us(10000);
}

inline int events_of(int file) {
  settle();
  pollfd wanted{file, POLLIN | POLLOUT | POLLPRI, 0};
  CHECK(poll(&wanted, 1, 0) >= 0);
  return wanted.revents;
}

}  // namespace terminals

#endif

// What the tests of processes share: children that run a body and whose end is checked, and a gate between processes.

#ifndef CORRAL_USER_TESTS_CHILDREN_H
#define CORRAL_USER_TESTS_CHILDREN_H

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

namespace children {

using Numbers = const int[];
using Flags = const bool[];

// Forks, runs body in the child, which then exits with what body returns.
template <typename Body>
pid_t spawn(Body body) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) { _exit(body()); }
  return child;
}

inline int wait_for(pid_t child) {
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status;
}

// The child ended normally with this code.
inline void expect_exit(pid_t child, int code) {
  const int status = wait_for(child);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), code);
}

inline void expect_signal(pid_t child, int signal) {
  const int status = wait_for(child);
  CHECK(WIFSIGNALED(status));
  CHECK_EQ(WTERMSIG(status), signal);
}

// Its letter in /proc: S sleeps, T is stopped …
inline char state_of(pid_t process) {
  char text[512];
  snprintf(text, sizeof text, "/proc/%d/stat", process);
  const int file = open(text, O_RDONLY);
  CHECK(file >= 0);
  const ssize_t size = read(file, text, sizeof text - 1);
  CHECK(size > 0);
  CHECK_EQ(close(file), 0);
  text[size] = '\0';
  const char* name_end = strrchr(text, ')');
  CHECK(name_end != nullptr);
  return name_end[2];
}

inline void await_sleep(pid_t process) {
  while (state_of(process) != 'S') check_sleep_us(1000);
}

// One byte through a pipe: "go on".
struct Gate {
  int ends[2];
  Gate() { CHECK_EQ(pipe(ends), 0); }
  ~Gate() {
    close(ends[0]);
    close(ends[1]);
  }
  void open() { CHECK_EQ(write(ends[1], "x", 1), 1); }
  void pass() {
    char byte = 0;
    CHECK_EQ(read(ends[0], &byte, 1), 1);
  }
};

}  // namespace children

#endif

// What the tests of ptrace share: requests, stops that are waited for, children that are traced from their beginning.

#ifndef CORRAL_USER_TESTS_TRACING_H
#define CORRAL_USER_TESTS_TRACING_H

#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "tests/children.h"

namespace tracing {

// What the kernel answers, as an error number; 0: done.
inline int traced(long request, pid_t thread, long address, long data) {
  return syscall(SYS_ptrace, request, thread, address, data) >= 0 ? 0 : errno;
}
template <class Data>
int traced(long request, pid_t thread, long address, Data* data) {
  return traced(request, thread, address, reinterpret_cast<long>(data));
}

inline int status_of(pid_t thread) {
  int status = 0;
  CHECK_EQ(waitpid(thread, &status, __WALL), thread);
  return status;
}

inline void expect_stop(pid_t thread, int signal, unsigned event = 0) {
  const int status = status_of(thread);
  CHECK(WIFSTOPPED(status));
  CHECK_EQ(status >> 8, static_cast<int>(static_cast<unsigned>(signal) | event << 8));
}

// A child that waits to be traced, and then does `what`.
template <class What>
pid_t spawn_traced(long options, What what) {
  const pid_t child = children::spawn([&] {
    if (traced(PTRACE_TRACEME, 0, 0, 0l) != 0) return 99;
    raise(SIGSTOP);
    return what();
  });
  expect_stop(child, SIGSTOP);
  CHECK_EQ(traced(PTRACE_SETOPTIONS, child, 0, options), 0);
  return child;
}

}  // namespace tracing

#endif

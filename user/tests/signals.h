// What the tests of signals share: setting handlers, two plain handlers, sets, and children that a signal must end.

#ifndef CORRAL_USER_TESTS_SIGNALS_H
#define CORRAL_USER_TESTS_SIGNALS_H

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

namespace signals {

inline volatile sig_atomic_t handled;
inline siginfo_t last_info;

inline void count_signal(int) {
  handled = handled + 1;
}

inline void keep_info(int, siginfo_t* info, void*) {
  last_info = *info;
  handled = handled + 1;
}

inline void on(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHECK_EQ(sigaction(signal, &action, nullptr), 0);
}

inline void on_info(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = flags | SA_SIGINFO;
  CHECK_EQ(sigaction(signal, &action, nullptr), 0);
}

inline sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

inline bool blocked(int signal) {
  sigset_t set;
  CHECK_EQ(sigprocmask(SIG_BLOCK, nullptr, &set), 0);
  return sigismember(&set, signal) == 1;
}

inline bool pending(int signal) {
  sigset_t set;
  CHECK_EQ(sigpending(&set), 0);
  return sigismember(&set, signal) == 1;
}

inline pid_t thread_number() {
  return static_cast<pid_t>(syscall(SYS_gettid));
}

template <typename Body>
int status_of_child(Body body) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) { _exit(body()); }
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status;
}

template <typename Body>
void expect_killed(int signal, Body body) {
  const int status = status_of_child(body);
  CHECK(WIFSIGNALED(status));
  CHECK_EQ(WTERMSIG(status), signal);
}

}  // namespace signals

#endif

// Signals: what a handler is told, defaults, masks, pending and queued signals, restarted and interrupted calls.

#include "tests/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

using namespace signals;

// si_code values, as in Linux's <asm-generic/siginfo.h>.
constexpr int code_user = 0;
constexpr int code_queue = -1;
constexpr int code_tkill = -6;

void test_information() {
  on_info(SIGUSR1, keep_info);
  handled = 0;
  CHECK_EQ(kill(getpid(), SIGUSR1), 0);
  CHECK_EQ(handled, 1);
  CHECK_EQ(last_info.si_signo, SIGUSR1);
  CHECK_EQ(last_info.si_code, code_user);
  CHECK_EQ(last_info.si_pid, getpid());
  CHECK_EQ(last_info.si_uid, getuid());
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK_EQ(handled, 2);
  CHECK_EQ(last_info.si_code, code_tkill);
  CHECK_EQ(last_info.si_pid, getpid());

  CHECK_ERRNO(kill(getpid(), 65), EINVAL);
  CHECK_ERRNO(kill(getpid(), -1), EINVAL);
  CHECK_ERRNO(kill(0x3fffffff, SIGUSR1), ESRCH);
  CHECK_ERRNO(syscall(SYS_tgkill, getpid(), 0x3fffffff, SIGUSR1), ESRCH);
  CHECK_ERRNO(syscall(SYS_tgkill, getpid() + 1, thread_number(), SIGUSR1), ESRCH);
  CHECK_ERRNO(syscall(SYS_tgkill, getpid(), thread_number(), 65), EINVAL);
  CHECK_ERRNO(syscall(SYS_tgkill, -1, thread_number(), SIGUSR1), EINVAL);
  CHECK_EQ(syscall(SYS_tgkill, getpid(), thread_number(), 0), 0);
  CHECK_EQ(syscall(SYS_tkill, thread_number(), SIGUSR1), 0);
  CHECK_EQ(handled, 3);

  struct sigaction action{};
  action.sa_handler = count_signal;
  CHECK_ERRNO(sigaction(SIGKILL, &action, nullptr), EINVAL);
  CHECK_ERRNO(sigaction(SIGSTOP, &action, nullptr), EINVAL);
  CHECK_ERRNO(sigaction(65, &action, nullptr), EINVAL);
  CHECK_EQ(sigaction(SIGUSR1, nullptr, &action), 0);
  CHECK(action.sa_sigaction == keep_info);
  CHECK((action.sa_flags & SA_SIGINFO) != 0);
}

void test_defaults() {
  using Numbers = const int[];
  for (const int signal : Numbers{SIGCHLD, SIGURG, SIGWINCH, SIGCONT}) { CHECK_EQ(raise(signal), 0); }
  for (const int signal : Numbers{SIGHUP, SIGINT, SIGQUIT, SIGUSR2, SIGALRM, SIGTERM, SIGSYS, SIGRTMIN}) {
    expect_killed(signal, [signal] {
      ::signal(signal, SIG_DFL);
      raise(signal);
      return 0;
    });
  }
  on(SIGUSR2, SIG_IGN);
  CHECK_EQ(raise(SIGUSR2), 0);
  on(SIGUSR2, SIG_DFL);
}

// During a handler its signal and sa_mask are blocked; afterwards nothing is.
void test_masks_in_handlers() {
  static volatile bool own_blocked;
  static volatile bool other_blocked;
  struct sigaction action{};
  action.sa_handler = [](int) {
    own_blocked = blocked(SIGUSR1);
    other_blocked = blocked(SIGUSR2);
  };
  sigaddset(&action.sa_mask, SIGUSR2);
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK(own_blocked && other_blocked);
  CHECK(!blocked(SIGUSR1) && !blocked(SIGUSR2));
  action.sa_flags = SA_NODEFER;
  sigemptyset(&action.sa_mask);
  CHECK_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK(!own_blocked && !other_blocked);

  // Once only.
  on(SIGUSR1, count_signal, static_cast<int>(SA_RESETHAND));
  handled = 0;
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK_EQ(handled, 1);
  CHECK_EQ(sigaction(SIGUSR1, nullptr, &action), 0);
  CHECK(action.sa_handler == SIG_DFL);

  // A second signal inside a handler: nested, or after it when blocked.
  static volatile int depth;
  static volatile int deepest;
  const auto nest = [](int) {
    depth = depth + 1;
    if (depth > deepest) { deepest = depth; }
    handled = handled + 1;
    if (handled == 1) { raise(SIGUSR1); }
    depth = depth - 1;
  };
  handled = 0;
  depth = 0;
  deepest = 0;
  on(SIGUSR1, nest);
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK_EQ(handled, 2);
  CHECK_EQ(deepest, 1);
  handled = 0;
  deepest = 0;
  on(SIGUSR1, nest, SA_NODEFER);
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK_EQ(handled, 2);
  CHECK_EQ(deepest, 2);
}

void test_blocking() {
  on(SIGUSR1, count_signal);
  handled = 0;
  const sigset_t set = only(SIGUSR1);
  sigset_t old;
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, &old), 0);
  CHECK(sigismember(&old, SIGUSR1) == 0);
  CHECK(!pending(SIGUSR1));
  CHECK_EQ(kill(getpid(), SIGUSR1), 0);
  CHECK_EQ(kill(getpid(), SIGUSR1), 0);
  CHECK_EQ(handled, 0);
  CHECK(pending(SIGUSR1));
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &set, nullptr), 0);
  CHECK_EQ(handled, 1);  // an ordinary signal is pending once
  CHECK(!pending(SIGUSR1));

  // Ignoring discards what is pending.
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  CHECK_EQ(raise(SIGUSR1), 0);
  on(SIGUSR1, SIG_IGN);
  CHECK(!pending(SIGUSR1));
  on(SIGUSR1, count_signal);
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &set, nullptr), 0);
  CHECK_EQ(handled, 1);

  // KILL and STOP cannot be blocked.
  sigset_t all;
  sigfillset(&all);
  CHECK_EQ(sigprocmask(SIG_SETMASK, &all, nullptr), 0);
  CHECK(blocked(SIGTERM) && !blocked(SIGKILL) && !blocked(SIGSTOP));
  CHECK_EQ(sigprocmask(SIG_SETMASK, &old, nullptr), 0);
  CHECK_ERRNO(syscall(SYS_rt_sigprocmask, 17, &set, nullptr, 8), EINVAL);
  CHECK_ERRNO(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, nullptr, 4), EINVAL);

  // sigsuspend takes the signal under another mask, and puts the mask back.
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  CHECK_EQ(raise(SIGUSR1), 0);
  handled = 0;
  CHECK_ERRNO(sigsuspend(&old), EINTR);
  CHECK_EQ(handled, 1);
  CHECK(blocked(SIGUSR1));

  // Waiting for a blocked signal without a handler.
  siginfo_t info{};
  const timespec soon = {0, 2000000};
  CHECK_ERRNO(sigtimedwait(&set, &info, &soon), EAGAIN);
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK_EQ(sigtimedwait(&set, &info, &soon), SIGUSR1);
  CHECK_EQ(info.si_signo, SIGUSR1);
  CHECK_EQ(handled, 1);
  CHECK_EQ(sigprocmask(SIG_SETMASK, &old, nullptr), 0);
}

// sigwaitinfo gets what is ignored by default, or on purpose, when it comes during the wait: it is awaited.
void test_awaiting_what_is_ignored() {
  const sigset_t set = only(SIGCHLD);
  sigset_t old;
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, &old), 0);
  using Flags = const bool[];
  for (const bool waits_first : Flags{true, false}) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      if (waits_first) { check_sleep_us(20000); }
      _exit(7);
    }
    if (!waits_first) { check_sleep_us(20000); }
    siginfo_t info{};
    CHECK_EQ(sigwaitinfo(&set, &info), SIGCHLD);
    CHECK_EQ(info.si_pid, child);
    CHECK_EQ(info.si_status, 7);
    CHECK_EQ(waitpid(child, nullptr, 0), child);
  }
  CHECK_EQ(sigprocmask(SIG_SETMASK, &old, nullptr), 0);

  // Many times, so that the signal meets every moment of the wait. The parent leaves no time between.
  const sigset_t user = only(SIGUSR1);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &user, &old), 0);
  on(SIGUSR1, SIG_IGN);
  const pid_t parent = getpid();
  const pid_t sender = fork();
  CHECK(sender >= 0);
  if (sender == 0) {
    while (getppid() == parent) { kill(parent, SIGUSR1); }
    _exit(0);
  }
  const timespec long_time = {20, 0};
  for (long round = 0; round < 500 * check_effort; ++round) { CHECK_EQ(sigtimedwait(&user, nullptr, &long_time), SIGUSR1); }
  CHECK_EQ(kill(sender, SIGKILL), 0);
  CHECK_EQ(waitpid(sender, nullptr, 0), sender);
  on(SIGUSR1, SIG_IGN);
  CHECK_EQ(sigprocmask(SIG_SETMASK, &old, nullptr), 0);
  on(SIGUSR1, SIG_DFL);
}

// Real-time signals queue, in order, with their values.
void test_queue() {
  static int values[8];
  static volatile int count;
  on_info(SIGRTMIN, [](int, siginfo_t* info, void*) {
    if (count < 8) { values[count] = info->si_code == code_queue ? info->si_value.sival_int : -1; }
    count = count + 1;
  });
  const sigset_t set = only(SIGRTMIN);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  for (int value = 0; value < 5; ++value) {
    sigval payload{};
    payload.sival_int = value * 11;
    CHECK_EQ(sigqueue(getpid(), SIGRTMIN, payload), 0);
  }
  CHECK_EQ(count, 0);
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &set, nullptr), 0);
  CHECK_EQ(count, 5);
  for (int index = 0; index < 5; ++index) { CHECK_EQ(values[index], index * 11); }
}

// A signal that waits for a child or pauses.
void test_interrupted_calls() {
  on(SIGUSR1, count_signal);
  handled = 0;
  const auto signal_parent = [] {
    const pid_t parent = getppid();
    for (int turn = 0; turn < 3; ++turn) {
      check_sleep_us(3000);
      kill(parent, SIGUSR1);
    }
    // Until the parent has seen one: it may have been late.
    for (int tries = 0; tries < 2000; ++tries) {
      check_sleep_us(5000);
      if (kill(parent, SIGUSR1) != 0 || getppid() != parent) { break; }
    }
    return 0;
  };
  const auto start = [&] {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) { _exit(signal_parent()); }
    return child;
  };
  const auto end = [](pid_t child) {
    CHECK_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    while (waitpid(child, &status, 0) != child) { CHECK_EQ(errno, EINTR); }
  };

  pid_t child = start();
  int status = 0;
  CHECK_ERRNO(waitpid(child, &status, 0), EINTR);
  end(child);
  child = start();
  CHECK_ERRNO(pause(), EINTR);
  end(child);
  child = start();
  const timespec long_time = {50, 0};
  CHECK_ERRNO(nanosleep(&long_time, nullptr), EINTR);
  end(child);

  // With SA_RESTART the wait goes on; pause and nanosleep never do.
  on(SIGUSR1, count_signal, SA_RESTART);
  handled = 0;
  child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    const pid_t parent = getppid();
    for (int turn = 0; turn < 5; ++turn) {
      check_sleep_us(2000);
      kill(parent, SIGUSR1);
    }
    _exit(7);
  }
  CHECK_EQ(waitpid(child, &status, 0), child);
  CHECK_EQ(WEXITSTATUS(status), 7);
  CHECK(handled > 0);
  child = start();
  CHECK_ERRNO(nanosleep(&long_time, nullptr), EINTR);
  end(child);
  on(SIGUSR1, count_signal);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("signaltest", argc, argv);
  test_information();
  test_defaults();
  test_masks_in_handlers();
  test_blocking();
  test_awaiting_what_is_ignored();
  test_interrupted_calls();
  test_queue();
  return check_done();
}

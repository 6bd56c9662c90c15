// Stopping and continuing processes, and what their parents are told: wait4, waitid and SIGCHLD for ends, stops and
// continuations; SA_NOCLDSTOP and SA_NOCLDWAIT; children of threads and children that nobody wants.

#include "tests/children.h"
#include "tests/signals.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

using namespace signals;

namespace {

using Numbers = const int[];

pid_t start_sleeper() {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    for (;;) { pause(); }
  }
  return child;
}

void end(pid_t child) {
  CHECK_EQ(kill(child, SIGKILL), 0);
  CHECK_EQ(waitpid(child, nullptr, 0), child);
}

void test_wait4() {
  const pid_t child = start_sleeper();
  int status = 0;
  CHECK_EQ(waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED), 0);
  for (const int signal : Numbers{SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU}) {
    // Only SIGSTOP stops a process whose group is orphaned: the tests may run in such a group.
    if (signal != SIGSTOP) { continue; }
    CHECK_EQ(kill(child, signal), 0);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == signal);
    CHECK_EQ(waitpid(child, &status, WNOHANG | WUNTRACED), 0);  // told once
    CHECK_EQ(kill(child, SIGCONT), 0);
    CHECK_EQ(waitpid(child, &status, WCONTINUED), child);
    CHECK(WIFCONTINUED(status));
    CHECK_EQ(waitpid(child, &status, WNOHANG | WCONTINUED), 0);
  }
  // Continuing what runs is no news; a stop that is over is none either.
  CHECK_EQ(kill(child, SIGCONT), 0);
  CHECK_EQ(waitpid(child, &status, WNOHANG | WCONTINUED | WUNTRACED), 0);
  CHECK_EQ(kill(child, SIGSTOP), 0);
  siginfo_t info{};
  CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT), 0);
  CHECK_EQ(kill(child, SIGCONT), 0);
  CHECK_EQ(waitpid(child, &status, WNOHANG | WUNTRACED), 0);
  // A stopped process does not look at other signals, but SIGKILL ends it.
  CHECK_EQ(kill(child, SIGSTOP), 0);
  CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
  CHECK_EQ(kill(child, SIGTERM), 0);
  check_sleep_us(20000);
  CHECK_EQ(waitpid(child, &status, WNOHANG | WUNTRACED), 0);
  CHECK_EQ(kill(child, SIGKILL), 0);
  CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

void test_waitid() {
  const pid_t child = start_sleeper();
  const auto id = static_cast<id_t>(child);
  siginfo_t info;
  memset(&info, 0xff, sizeof info);
  CHECK_EQ(waitid(P_PID, id, &info, WEXITED | WSTOPPED | WCONTINUED | WNOHANG), 0);
  CHECK_EQ(info.si_signo, 0);
  CHECK_EQ(info.si_pid, 0);
  CHECK_EQ(kill(child, SIGSTOP), 0);
  for (int turn = 0; turn < 2; ++turn) {  // the first only looks
    CHECK_EQ(waitid(P_PID, id, &info, WSTOPPED | (turn == 0 ? WNOWAIT : 0)), 0);
    CHECK_EQ(info.si_signo, SIGCHLD);
    CHECK_EQ(info.si_code, CLD_STOPPED);
    CHECK_EQ(info.si_status, SIGSTOP);
    CHECK_EQ(info.si_pid, child);
  }
  CHECK_EQ(kill(child, SIGCONT), 0);
  CHECK_EQ(waitid(P_ALL, 0, &info, WCONTINUED), 0);
  CHECK_EQ(info.si_code, CLD_CONTINUED);
  CHECK_EQ(info.si_status, SIGCONT);
  CHECK_EQ(kill(child, SIGTERM), 0);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK_EQ(waitid(P_PGID, static_cast<id_t>(getpgrp()), &info, WEXITED | (turn == 0 ? WNOWAIT : 0)), 0);
    CHECK_EQ(info.si_code, CLD_KILLED);
    CHECK_EQ(info.si_status, SIGTERM);
    CHECK_EQ(info.si_pid, child);
  }
  CHECK_ERRNO(waitid(P_PID, id, &info, WEXITED), ECHILD);
  CHECK_ERRNO(waitid(P_ALL, 0, &info, WNOHANG), EINVAL);
  CHECK_ERRNO(waitid(P_ALL, 0, &info, WEXITED | 0x40), EINVAL);
  CHECK_ERRNO(waitid(static_cast<idtype_t>(7), 0, &info, WEXITED), EINVAL);
  CHECK_ERRNO(waitid(P_PID, 0, &info, WEXITED), EINVAL);
  CHECK_ERRNO(syscall(SYS_wait4, INT32_MIN, nullptr, 0, nullptr), ESRCH);
  CHECK_ERRNO(syscall(SYS_wait4, -1, nullptr, 0x40, nullptr), EINVAL);
  rusage usage{};
  usage.ru_nvcsw = -1;
  const pid_t other = fork();
  if (other == 0) { _exit(3); }
  CHECK_EQ(syscall(SYS_waitid, P_PID, other, &info, WEXITED, &usage), 0);
  CHECK_EQ(info.si_code, CLD_EXITED);
  CHECK_EQ(info.si_status, 3);
  CHECK(usage.ru_nvcsw >= 0);
}

// Notes every SIGCHLD's code.
int codes[16];
volatile int code_count;

void note_code(int, siginfo_t* info, void*) {
  if (code_count < 16) { codes[code_count] = info->si_code; }
  code_count = code_count + 1;
}

void await_codes(int count) {
  for (int tries = 0; code_count < count; ++tries) {
    CHECK(tries < 5000);
    check_sleep_us(1000);
  }
}

void test_child_signals() {
  on_info(SIGCHLD, note_code, SA_RESTART);
  code_count = 0;
  pid_t child = start_sleeper();
  CHECK_EQ(kill(child, SIGSTOP), 0);
  await_codes(1);
  CHECK_EQ(kill(child, SIGCONT), 0);
  await_codes(2);
  end(child);
  await_codes(3);
  CHECK_EQ(codes[0], CLD_STOPPED);
  CHECK_EQ(codes[1], CLD_CONTINUED);
  CHECK_EQ(codes[2], CLD_KILLED);

  on_info(SIGCHLD, note_code, SA_RESTART | SA_NOCLDSTOP);
  code_count = 0;
  child = start_sleeper();
  CHECK_EQ(kill(child, SIGSTOP), 0);
  CHECK_EQ(waitpid(child, nullptr, WUNTRACED), child);
  CHECK_EQ(kill(child, SIGCONT), 0);
  CHECK_EQ(waitpid(child, nullptr, WCONTINUED), child);
  end(child);
  await_codes(1);
  CHECK_EQ(code_count, 1);
  CHECK_EQ(codes[0], CLD_KILLED);

  // Told of the end, but there is nothing to wait for.
  on_info(SIGCHLD, note_code, SA_RESTART | SA_NOCLDWAIT);
  code_count = 0;
  child = fork();
  if (child == 0) { _exit(1); }
  CHECK_ERRNO(waitpid(child, nullptr, 0), ECHILD);
  await_codes(1);
  CHECK_EQ(codes[0], CLD_EXITED);
  on(SIGCHLD, SIG_IGN);
  child = fork();
  if (child == 0) { _exit(1); }
  CHECK_ERRNO(waitpid(-1, nullptr, 0), ECHILD);
  on(SIGCHLD, SIG_DFL);
}

// All threads stop before the parent is told, and all go on.
void test_threads_stop() {
  auto* counters = static_cast<volatile long*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(counters != MAP_FAILED);
  constexpr int threads = 4;
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    static volatile long* places[threads];
    for (int index = 0; index < threads; ++index) {
      places[index] = counters + index * 16;
      pthread_t thread{};
      CHECK_EQ(pthread_create(
                   &thread, nullptr,
                   [](void* place) -> void* {
                     auto& counter = **static_cast<volatile long**>(place);
                     for (;;) { counter = counter + 1; }
                   },
                   &places[index]),
               0);
    }
    for (;;) { pause(); }
  }
  for (int turn = 0; turn < 5; ++turn) {
    for (int index = 0; index < threads; ++index) {
      const long before = counters[index * 16];
      for (int tries = 0; counters[index * 16] == before; ++tries) {
        CHECK(tries < 20000);
        check_sleep_us(500);
      }
    }
    CHECK_EQ(kill(child, SIGSTOP), 0);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK(WIFSTOPPED(status));
    long seen[threads];
    for (int index = 0; index < threads; ++index) { seen[index] = counters[index * 16]; }
    check_sleep_us(10000);
    for (int index = 0; index < threads; ++index) { CHECK_EQ(counters[index * 16], seen[index]); }
    CHECK_EQ(kill(child, SIGCONT), 0);
    CHECK_EQ(waitpid(child, &status, WCONTINUED), child);
  }
  end(child);
  CHECK_EQ(munmap(const_cast<long*>(counters), 4096), 0);
}

// Who was told that a child has stopped sees it stopped, though its last thread may be on its way to sleep.
void test_it_is_seen_stopped() {
  for (int turn = 0; turn < 100 * check_effort; ++turn) {
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      for (;;) {}
    }
    int status = 0;
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK_EQ(children::state_of(child), 'T');
    end(child);
  }
}

// A stop and a continuation that are both pending cancel one another, in order of arrival.
void test_stop_and_continue_cancel() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTSTP);
  sigaddset(&set, SIGCONT);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  CHECK_EQ(raise(SIGTSTP), 0);
  CHECK(pending(SIGTSTP));
  CHECK_EQ(kill(getpid(), SIGCONT), 0);
  CHECK(!pending(SIGTSTP) && pending(SIGCONT));
  CHECK_EQ(kill(getpid(), SIGTSTP), 0);
  CHECK(pending(SIGTSTP) && !pending(SIGCONT));
  CHECK_EQ(kill(getpid(), SIGCONT), 0);
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &set, nullptr), 0);
}

// Stops and continuations as fast as they can be sent: the process must run in the end.
void test_storm() {
  const pid_t child = start_sleeper();
  for (int turn = 0; turn < 300 * check_effort; ++turn) {
    CHECK_EQ(kill(child, SIGSTOP), 0);
    CHECK_EQ(kill(child, SIGCONT), 0);
  }
  CHECK_EQ(kill(child, SIGTERM), 0);
  int status = 0;
  do { CHECK_EQ(waitpid(child, &status, WUNTRACED | WCONTINUED), child); } while (WIFSTOPPED(status) || WIFCONTINUED(status));
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

// A child that was made with another signal than SIGCHLD is waited for only if asked.
void test_clone_children() {
  on(SIGUSR1, count_signal, SA_RESTART);
  handled = 0;
  const auto child = static_cast<pid_t>(syscall(SYS_clone, SIGUSR1, nullptr, nullptr, nullptr, nullptr));
  CHECK(child >= 0);
  if (child == 0) { _exit(4); }
  for (int tries = 0; handled == 0; ++tries) {
    CHECK(tries < 5000);
    check_sleep_us(1000);
  }
  int status = 0;
  CHECK_ERRNO(waitpid(child, &status, 0), ECHILD);
  CHECK_EQ(waitpid(child, &status, static_cast<int>(__WCLONE)), child);
  CHECK_EQ(WEXITSTATUS(status), 4);
  const auto silent = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  CHECK(silent >= 0);
  if (silent == 0) { _exit(5); }
  CHECK_EQ(waitpid(silent, &status, __WALL), silent);
  CHECK_EQ(WEXITSTATUS(status), 5);
  on(SIGUSR1, SIG_DFL);
}

// Two threads wait for the same children: each child is given to one of them.
void test_waiters_share() {
  static int given[2];
  for (int turn = 0; turn < 20; ++turn) {
    pthread_t waiters[2];
    pid_t children[8];
    for (auto& child : children) {
      child = fork();
      if (child == 0) { _exit(0); }
    }
    for (int index = 0; index < 2; ++index) {
      given[index] = 0;
      CHECK_EQ(pthread_create(
                   &waiters[index], nullptr,
                   [](void* place) -> void* {
                     while (waitpid(-1, nullptr, 0) > 0) { ++*static_cast<int*>(place); }
                     return nullptr;
                   },
                   &given[index]),
               0);
    }
    for (auto& waiter : waiters) { CHECK_EQ(pthread_join(waiter, nullptr), 0); }
    CHECK_EQ(given[0] + given[1], 8);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("stoptest", argc, argv);
  test_wait4();
  test_waitid();
  test_child_signals();
  test_threads_stop();
  test_it_is_seen_stopped();
  test_stop_and_continue_cancel();
  test_storm();
  test_clone_children();
  test_waiters_share();
  return check_done();
}

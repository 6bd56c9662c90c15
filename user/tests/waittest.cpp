// The ends of children: signals that end, stop and continue them, SIGCHLD, zombies and waiting for them one by one and many
// at once, process groups, and orphans.

#include "tests/children.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

using namespace children;

// Ending, stopping and continuing children by signals.
void test_signals() {
  const auto sleeper = [] {
    for (;;) { pause(); }
    return 0;
  };
  for (const int signal : Numbers{SIGTERM, SIGKILL, SIGHUP}) {
    const pid_t child = spawn(sleeper);
    CHECK_EQ(kill(child, 0), 0);
    CHECK_EQ(kill(child, signal), 0);
    expect_signal(child, signal);
    CHECK_ERRNO(kill(child, 0), ESRCH);
  }
  CHECK_ERRNO(kill(getpid(), 65), EINVAL);

  // One that computes without a system call is ended too.
  const pid_t busy = spawn([] {
    for (;;) { check_spin(1000); }
    return 0;
  });
  check_sleep_us(2000);
  CHECK_EQ(kill(busy, SIGTERM), 0);
  expect_signal(busy, SIGTERM);

  const pid_t child = spawn(sleeper);
  int status = 0;
  CHECK_EQ(kill(child, SIGSTOP), 0);
  CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
  CHECK(WIFSTOPPED(status));
  CHECK_EQ(WSTOPSIG(status), SIGSTOP);
  CHECK_EQ(kill(child, SIGCONT), 0);
  CHECK_EQ(waitpid(child, &status, WCONTINUED), child);
  CHECK(WIFCONTINUED(status));
  CHECK_EQ(kill(child, SIGKILL), 0);
  expect_signal(child, SIGKILL);
}

volatile sig_atomic_t child_signals;
siginfo_t child_info;

void test_sigchld() {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  action.sa_sigaction = [](int, siginfo_t* info, void*) {
    child_info = *info;
    child_signals = child_signals + 1;
  };
  CHECK_EQ(sigaction(SIGCHLD, &action, &before), 0);
  child_signals = 0;
  pid_t child = spawn([] { return 17; });
  expect_exit(child, 17);
  CHECK_EQ(child_signals, 1);
  CHECK_EQ(child_info.si_signo, SIGCHLD);
  CHECK_EQ(child_info.si_code, CLD_EXITED);
  CHECK_EQ(child_info.si_pid, child);
  CHECK_EQ(child_info.si_status, 17);

  child = spawn([] {
    raise(SIGKILL);
    return 0;
  });
  expect_signal(child, SIGKILL);
  CHECK_EQ(child_signals, 2);
  CHECK_EQ(child_info.si_code, CLD_KILLED);
  CHECK_EQ(child_info.si_status, SIGKILL);

  // Whoever has waited for a child finds its signal there already.
  for (int i = 1; i <= 20; ++i) {
    expect_exit(spawn([] { return 3; }), 3);
    CHECK_EQ(child_signals, 2 + i);
  }

  // Ignored: no zombies; the last wait finds no child.
  action.sa_flags = 0;
  action.sa_handler = SIG_IGN;
  CHECK_EQ(sigaction(SIGCHLD, &action, nullptr), 0);
  child = spawn([] { return 1; });
  CHECK_ERRNO(waitpid(child, nullptr, 0), ECHILD);
  CHECK_EQ(sigaction(SIGCHLD, &before, nullptr), 0);
}

// Who has ended can be asked how it was scheduled, until it is waited for.
void check_schedule_of_zombie(pid_t child, int policy, int nice_value) {
  CHECK_EQ(syscall(SYS_sched_getscheduler, child), policy);
  int priority = 5;
  CHECK_EQ(syscall(SYS_sched_getparam, child, &priority), 0);
  CHECK_EQ(priority, 0);
  struct {
    unsigned size, policy;
    unsigned long flags;
    int nice;
    unsigned priority;
    unsigned long runtime, deadline, period;
  } attributes = {};
  CHECK_EQ(syscall(SYS_sched_getattr, child, &attributes, sizeof attributes, 0), 0);
  CHECK(attributes.policy == static_cast<unsigned>(policy) && attributes.nice == nice_value && attributes.priority == 0);
  struct timespec interval = {-1, -1};
  CHECK_EQ(syscall(SYS_sched_rr_get_interval, child, &interval), 0);
  CHECK(interval.tv_sec == 0 && interval.tv_nsec >= 0);
  cpu_set_t cores;
  CHECK_EQ(sched_getaffinity(child, sizeof cores, &cores), 0);
  CHECK(CPU_COUNT(&cores) > 0);
  errno = 0;
  CHECK_EQ(getpriority(PRIO_PROCESS, static_cast<id_t>(child)), nice_value);
  CHECK_EQ(errno, 0);
}

void test_waiting() {
  CHECK_ERRNO(waitpid(-1, nullptr, 0), ECHILD);
  CHECK_ERRNO(waitpid(-1, nullptr, WNOHANG), ECHILD);
  CHECK_ERRNO(waitpid(getpid(), nullptr, 0), ECHILD);
  CHECK_ERRNO(waitpid(-1, nullptr, 0x10000000), EINVAL);

  Gate gate;
  pid_t child = spawn([&] {
    gate.pass();
    return 4;
  });
  int status = 0x5a5a;
  CHECK_EQ(waitpid(child, &status, WNOHANG), 0);
  gate.open();
  expect_exit(child, 4);

  // A zombie keeps its number until it is waited for.
  child = spawn([] { return 6; });
  siginfo_t info{};
  CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  CHECK_EQ(info.si_pid, child);
  CHECK_EQ(info.si_status, 6);
  CHECK_EQ(kill(child, 0), 0);
  check_schedule_of_zombie(child, 0, 0);
  expect_exit(child, 6);
  CHECK_ERRNO(syscall(SYS_sched_getscheduler, child), ESRCH);
  CHECK_ERRNO(getpriority(PRIO_PROCESS, static_cast<id_t>(child)), ESRCH);
  constexpr int batch = 3, nice_value = 7;
  child = spawn([] {
    const int priority = 0;
    CHECK_EQ(syscall(SYS_sched_setscheduler, 0, batch, &priority), 0);
    CHECK_EQ(setpriority(PRIO_PROCESS, 0, nice_value), 0);
    return 6;
  });
  CHECK_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  check_schedule_of_zombie(child, batch, nice_value);
  expect_exit(child, 6);
  CHECK_ERRNO(kill(child, 0), ESRCH);

  // Many at once, in whatever order they end.
  constexpr int children = 32;
  pid_t numbers[children];
  bool seen[children] = {};
  for (int index = 0; index < children; ++index) {
    numbers[index] = spawn([index] {
      check_sleep_us(100 * (children - index));
      return index;
    });
  }
  for (int index = 0; index < children; ++index) {
    const pid_t ended = waitpid(-1, &status, 0);
    CHECK(ended > 0 && WIFEXITED(status));
    const int code = WEXITSTATUS(status);
    CHECK(code < children && !seen[code]);
    CHECK_EQ(numbers[code], ended);
    seen[code] = true;
  }
  CHECK_ERRNO(waitpid(-1, nullptr, 0), ECHILD);

  // One after the other: nothing may be used up.
  for (long round = 0; round < 200 * check_effort; ++round) {
    expect_exit(spawn([round] { return static_cast<int>(round % 256); }), static_cast<int>(round % 256));
  }
}

void test_groups() {
  const pid_t group = getpgrp();
  CHECK_EQ(getpgid(0), group);
  Gate gate;
  const pid_t leader = spawn([&] {
    gate.pass();
    return getpgrp() == getpid() ? 1 : 2;
  });
  CHECK_EQ(setpgid(leader, leader), 0);
  const pid_t member = spawn([&] {
    gate.pass();
    return getpgrp() == leader ? 1 : 2;
  });
  CHECK_EQ(setpgid(member, leader), 0);
  const pid_t other = spawn([&] {
    gate.pass();
    return getpgrp() == group ? 3 : 4;
  });
  gate.open();
  gate.open();
  gate.open();
  int status = 0;
  for (int index = 0; index < 2; ++index) {
    const pid_t ended = waitpid(-leader, &status, 0);
    CHECK(ended == leader || ended == member);
    CHECK_EQ(WEXITSTATUS(status), 1);
  }
  CHECK_ERRNO(waitpid(-leader, nullptr, 0), ECHILD);
  CHECK_EQ(waitpid(0, &status, 0), other);
  CHECK_EQ(WEXITSTATUS(status), 3);

  // A signal to a group reaches each member.
  pid_t members[3];
  for (int index = 0; index < 3; ++index) {
    members[index] = spawn([] {
      for (;;) { pause(); }
      return 0;
    });
    CHECK_EQ(setpgid(members[index], members[0]), 0);
  }
  CHECK_EQ(kill(-members[0], SIGTERM), 0);
  for (const pid_t one : members) { expect_signal(one, SIGTERM); }
}

// When a parent leaves, its children get another one.
void test_orphans() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = spawn([&] {
    const pid_t parent = getpid();
    if (fork() == 0) {
      for (int tries = 0; getppid() == parent && tries < 10000; ++tries) { check_sleep_us(500); }
      const pid_t adopted_by = getppid();
      return write(ends[1], &adopted_by, sizeof adopted_by) == sizeof adopted_by ? 0 : 1;
    }
    return 0;
  });
  expect_exit(child, 0);
  close(ends[1]);
  pid_t adopted_by = -1;
  CHECK_EQ(read(ends[0], &adopted_by, sizeof adopted_by), static_cast<ssize_t>(sizeof adopted_by));
  CHECK(adopted_by != child);
  CHECK(adopted_by > 0);
  char rest = 0;
  CHECK_EQ(read(ends[0], &rest, 1), 0);
  close(ends[0]);
}

// What an orphan was to send its parent at its end is not sent to the first process, which would end the machine.
void test_signals_of_orphans() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  expect_exit(spawn([&] {
                const pid_t parent = getpid();
                const long orphan = syscall(SYS_clone, SIGKILL, nullptr, nullptr, nullptr, nullptr);
                for (int tries = 0; orphan == 0 && getppid() == parent && tries < 10000; ++tries) { check_sleep_us(500); }
                return orphan < 0 ? 1 : 0;
              }),
              0);
  close(ends[1]);
  char rest = 0;
  CHECK_EQ(read(ends[0], &rest, 1), 0);  // the orphan has ended, too
  close(ends[0]);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("waittest", argc, argv);
  test_signals();
  test_sigchld();
  test_waiting();
  test_groups();
  test_orphans();
  test_signals_of_orphans();
  return check_done();
}

// What a process says about itself and asks of others: prctl, personality, priorities, clocks of processor time, the memory of
// other processes.

#include "tests/children.h"
#include "tests/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <time.h>

using namespace signals;

namespace {

long control(int option, unsigned long value = 0, unsigned long more = 0) {
  return syscall(SYS_prctl, option, value, more, 0, 0);
}
unsigned long at(const void* pointer) {
  return reinterpret_cast<unsigned long>(pointer);
}

void test_prctl() {
  int value = -1;
  CHECK_EQ(control(PR_SET_PDEATHSIG, SIGUSR1), 0);
  CHECK_EQ(control(PR_GET_PDEATHSIG, at(&value)), 0);
  CHECK_EQ(value, SIGUSR1);
  children::expect_exit(children::spawn([] {
                          int inherited = -1;
                          CHECK_EQ(control(PR_GET_PDEATHSIG, at(&inherited)), 0);
                          return inherited;
                        }),
                        0);
  CHECK_EQ(control(PR_SET_PDEATHSIG, 0), 0);
  CHECK_ERRNO(control(PR_SET_PDEATHSIG, 65), EINVAL);
  CHECK_EQ(control(PR_GET_DUMPABLE), 1);
  CHECK_EQ(control(PR_SET_DUMPABLE, 0), 0);
  CHECK_EQ(control(PR_GET_DUMPABLE), 0);
  CHECK_ERRNO(control(PR_SET_DUMPABLE, 2), EINVAL);
  CHECK_EQ(control(PR_SET_DUMPABLE, 1), 0);
  CHECK_EQ(control(PR_GET_KEEPCAPS), 0);
  CHECK_ERRNO(control(PR_SET_KEEPCAPS, 2), EINVAL);
  CHECK_EQ(control(PR_SET_TIMERSLACK, 1234), 0);
  CHECK_EQ(control(PR_GET_TIMERSLACK), 1234);
  CHECK_ERRNO(control(PR_SET_NO_NEW_PRIVS, 0), EINVAL);
  CHECK_ERRNO(control(PR_SET_NO_NEW_PRIVS, 1, 1), EINVAL);
  children::expect_exit(children::spawn([] {
                          CHECK_EQ(control(PR_GET_NO_NEW_PRIVS), 0);
                          CHECK_EQ(control(PR_SET_NO_NEW_PRIVS, 1), 0);
                          return static_cast<int>(control(PR_GET_NO_NEW_PRIVS));
                        }),
                        1);
  CHECK_ERRNO(control(123456), EINVAL);
  char name[16] = {};
  CHECK_EQ(control(PR_SET_NAME, at("a name that is too long")), 0);
  CHECK_EQ(control(PR_GET_NAME, at(name)), 0);
  CHECK_EQ(strcmp(name, "a name that is "), 0);
}

// A grandchild goes to the nearest ancestor that asked for it, and is told of its parent's end.
void test_orphans() {
  int told[2];
  CHECK_EQ(pipe(told), 0);
  CHECK_EQ(control(PR_SET_CHILD_SUBREAPER, 1), 0);
  int value = 0;
  CHECK_EQ(control(PR_GET_CHILD_SUBREAPER, at(&value)), 0);
  CHECK_EQ(value, 1);
  const pid_t child = children::spawn([&] {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      const sigset_t set = only(SIGUSR1);
      sigprocmask(SIG_BLOCK, &set, nullptr);
      control(PR_SET_PDEATHSIG, SIGUSR1);
      CHECK_EQ(write(told[1], "r", 1), 1);
      CHECK_EQ(sigwaitinfo(&set, nullptr), SIGUSR1);
      _exit(9);
    }
    char byte = 0;
    CHECK_EQ(read(told[0], &byte, 1), 1);
    CHECK_EQ(write(told[1], &grandchild, sizeof grandchild), static_cast<long>(sizeof grandchild));
    return 0;
  });
  children::expect_exit(child, 0);
  pid_t grandchild = 0;
  CHECK_EQ(read(told[0], &grandchild, sizeof grandchild), static_cast<long>(sizeof grandchild));
  children::expect_exit(grandchild, 9);
  CHECK_EQ(control(PR_SET_CHILD_SUBREAPER, 0), 0);
  close(told[0]);
  close(told[1]);
}

// What a parent had not waited for when it ended is news for who gets it, and goes by his wishes.
void test_orphaned_zombies() {
  int told[2];
  CHECK_EQ(pipe(told), 0);
  // Ends, and leaves a zombie, whose number it tells.
  const auto leave_zombie = [&] {
    on(SIGCHLD, SIG_DFL);
    const pid_t zombie = children::spawn([] { return 5; });
    siginfo_t info{};
    CHECK_EQ(waitid(P_PID, static_cast<id_t>(zombie), &info, WEXITED | WNOWAIT), 0);
    CHECK_EQ(write(told[1], &zombie, sizeof zombie), static_cast<long>(sizeof zombie));
    return 0;
  };
  const auto told_zombie = [&] {
    pid_t zombie = 0;
    CHECK_EQ(read(told[0], &zombie, sizeof zombie), static_cast<long>(sizeof zombie));
    return zombie;
  };
  CHECK_EQ(control(PR_SET_CHILD_SUBREAPER, 1), 0);
  const sigset_t set = only(SIGCHLD);
  CHECK_EQ(sigprocmask(SIG_BLOCK, &set, nullptr), 0);
  const pid_t between = children::spawn([&] {  // hears of its own child's end
    children::expect_exit(children::spawn(leave_zombie), 0);
    CHECK_EQ(write(told[1], "w", 1), 1);  // else his parent would inherit that child as well
    pause();
    return 0;
  });
  const pid_t zombie = told_zombie();
  siginfo_t info{};
  const timespec long_time = {20, 0};
  CHECK_EQ(sigtimedwait(&set, &info, &long_time), SIGCHLD);
  CHECK_EQ(info.si_pid, zombie);
  CHECK_EQ(info.si_code, CLD_EXITED);
  CHECK_EQ(info.si_status, 5);
  children::expect_exit(zombie, 5);
  char waited = 0;
  CHECK_EQ(read(told[0], &waited, 1), 1);
  CHECK_EQ(kill(between, SIGKILL), 0);
  children::expect_signal(between, SIGKILL);
  CHECK_EQ(sigtimedwait(&set, &info, &long_time), SIGCHLD);
  CHECK_EQ(sigprocmask(SIG_UNBLOCK, &set, nullptr), 0);

  on(SIGCHLD, SIG_IGN);  // no zombies
  (void)children::spawn(leave_zombie);
  const pid_t unwanted = told_zombie();
  for (int tries = 0; kill(unwanted, 0) == 0; ++tries) {
    CHECK(tries < 10000);
    check_sleep_us(1000);
  }
  CHECK_EQ(errno, ESRCH);
  CHECK_ERRNO(waitpid(-1, nullptr, 0), ECHILD);
  on(SIGCHLD, SIG_DFL);
  CHECK_EQ(control(PR_SET_CHILD_SUBREAPER, 0), 0);
  close(told[0]);
  close(told[1]);
}

// A group whose members get a parent in the same session is not orphaned: what is stopped in it stays so.
void test_stopped_orphans() {
  children::expect_exit(children::spawn([] {
                          CHECK(setsid() > 0);
                          CHECK_EQ(control(PR_SET_CHILD_SUBREAPER, 1), 0);
                          int told[2];
                          CHECK_EQ(pipe(told), 0);
                          children::expect_exit(children::spawn([&] {
                                                  const pid_t stopped = children::spawn([] {
                                                    CHECK_EQ(setpgid(0, 0), 0);
                                                    raise(SIGSTOP);
                                                    return 7;
                                                  });
                                                  int status = 0;
                                                  CHECK_EQ(waitpid(stopped, &status, WUNTRACED), stopped);
                                                  CHECK(WIFSTOPPED(status));
                                                  CHECK_EQ(write(told[1], &stopped, sizeof stopped), 4);
                                                  return 0;
                                                }),
                                                0);
                          pid_t stopped = 0;
                          CHECK_EQ(read(told[0], &stopped, sizeof stopped), 4);
                          CHECK_EQ(kill(stopped, SIGCONT), 0);
                          children::expect_exit(stopped, 7);
                          return 0;
                        }),
                        0);
}

void test_personality() {
  children::expect_exit(
      children::spawn([] {
        const int before = personality(0xffffffff);
        CHECK_EQ(personality(ADDR_NO_RANDOMIZE), before);
        CHECK_EQ(personality(0xffffffff), ADDR_NO_RANDOMIZE);
        return children::wait_for(children::spawn([] { return personality(0xffffffff) == ADDR_NO_RANDOMIZE; })) >> 8;
      }),
      1);
  char bytes[16];
  CHECK_ERRNO(getrandom(bytes, sizeof bytes, 6), EINVAL);
  CHECK_ERRNO(getrandom(bytes, sizeof bytes, 8), EINVAL);
  CHECK_EQ(getrandom(bytes, sizeof bytes, GRND_NONBLOCK), static_cast<long>(sizeof bytes));
}

// With STICKY_TIMEOUTS a wait leaves its time as it was given.
void test_time_left() {
  children::expect_exit(children::spawn([] {
                          int ends[2];
                          CHECK_EQ(pipe(ends), 0);
                          CHECK_EQ(write(ends[1], "x", 1), 1);
                          const int flags[] = {0, STICKY_TIMEOUTS};
                          for (const int flag : flags) {
                            CHECK(personality(static_cast<unsigned long>(flag)) >= 0);
                            fd_set set;
                            FD_ZERO(&set);
                            FD_SET(ends[0], &set);
                            timeval time = {100, 0};
                            CHECK_EQ(syscall(SYS_select, ends[0] + 1, &set, nullptr, nullptr, &time), 1);
                            CHECK_EQ(time.tv_sec, flag == 0 ? 99 : 100);
                            timespec exact = {100, 0};
                            pollfd polled = {ends[0], POLLIN, 0};
                            CHECK_EQ(syscall(SYS_ppoll, &polled, 1, &exact, nullptr, 8), 1);
                            CHECK_EQ(exact.tv_sec, flag == 0 ? 99 : 100);
                          }
                          return 0;
                        }),
                        0);
}

void test_priorities() {
  children::expect_exit(children::spawn([] {
                          CHECK_EQ(setpgid(0, 0), 0);
                          CHECK_EQ(syscall(SYS_getpriority, PRIO_PROCESS, 0), 20);
                          CHECK_EQ(setpriority(PRIO_PGRP, 0, 7), 0);
                          CHECK_EQ(getpriority(PRIO_PGRP, 0), 7);
                          CHECK_EQ(setpriority(PRIO_PROCESS, getpid(), 100), 0);
                          CHECK_EQ(getpriority(PRIO_PROCESS, 0), 19);
                          CHECK_ERRNO(getpriority(PRIO_PROCESS, 0x3fffffff), ESRCH);
                          CHECK_ERRNO(getpriority(PRIO_PGRP, 0x3fffffff), ESRCH);
                          CHECK_ERRNO(getpriority(static_cast<decltype(PRIO_USER)>(3), 0), EINVAL);
                          CHECK_ERRNO(setpriority(PRIO_PROCESS, 0x3fffffff, 0), ESRCH);
                          errno = 0;
                          CHECK(getpriority(PRIO_USER, 0) <= 0);
                          CHECK_EQ(errno, 0);
                          return 0;
                        }),
                        0);
  constexpr int best_effort = 2 << 13, idle = 3 << 13;
  CHECK_EQ(syscall(SYS_ioprio_get, 1, 0), 0);
  CHECK_EQ(syscall(SYS_ioprio_set, 1, 0, best_effort | 5), 0);
  CHECK_EQ(syscall(SYS_ioprio_get, 1, getpid()), best_effort | 5);
  CHECK_ERRNO(syscall(SYS_ioprio_set, 1, 0, 4), EINVAL);
  CHECK_ERRNO(syscall(SYS_ioprio_set, 4, 0, idle), EINVAL);
  CHECK_ERRNO(syscall(SYS_ioprio_get, 1, 0x3fffffff), ESRCH);
  CHECK_EQ(syscall(SYS_ioprio_set, 1, 0, 0), 0);
}

int64_t read_clock(clockid_t clock) {
  timespec now{};
  CHECK_EQ(syscall(SYS_clock_gettime, clock, &now), 0);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

// A thread that only computes is seen to use time by others, though it never enters the kernel.
void test_clocks() {
  static volatile bool stop;
  static volatile pid_t number;
  pthread_t thread{};
  CHECK_EQ(pthread_create(
               &thread, nullptr,
               [](void*) -> void* {
                 number = thread_number();
                 while (!stop) {}
                 return nullptr;
               },
               nullptr),
           0);
  while (number == 0) { check_sleep_us(1000); }
  clockid_t clock{};
  CHECK_EQ(pthread_getcpuclockid(thread, &clock), 0);
  const int64_t before = read_clock(clock);
  const int64_t all_before = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  // A sleep by the process's clock ends by what the other thread uses.
  const timespec wait = {0, 30000000};
  CHECK_EQ(clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &wait, nullptr), 0);
  CHECK(read_clock(CLOCK_PROCESS_CPUTIME_ID) - all_before >= 30000000);
  for (int tries = 0; read_clock(clock) - before < 20000000; ++tries) {
    CHECK(tries < 20000);
    check_sleep_us(1000);
  }
  stop = true;
  CHECK_EQ(pthread_join(thread, nullptr), 0);
  timespec now{};
  // Who joins goes on before the kernel has forgotten the thread's number, on Linux as well.
  for (int tries = 0; syscall(SYS_clock_gettime, clock, &now) == 0; ++tries) {
    CHECK(tries < 20000);
    check_sleep_us(1000);
  }
  CHECK_ERRNO(syscall(SYS_clock_gettime, clock, &now), EINVAL);

  // Another process's.
  const pid_t child = children::spawn([] {
    const int64_t start = read_clock(CLOCK_PROCESS_CPUTIME_ID);
    while (read_clock(CLOCK_PROCESS_CPUTIME_ID) - start < 50000000) { check_spin(1000); }
    pause();
    return 0;
  });
  CHECK_EQ(clock_getcpuclockid(child, &clock), 0);
  for (int tries = 0; read_clock(clock) < 50000000; ++tries) {
    CHECK(tries < 20000);
    check_sleep_us(1000);
  }
  CHECK_EQ(kill(child, SIGKILL), 0);
  children::expect_signal(child, SIGKILL);
  CHECK_ERRNO(syscall(SYS_clock_gettime, clock, &now), EINVAL);
  CHECK_ERRNO(syscall(SYS_clock_gettime, ~0x3fffff << 3 | 2, &now), EINVAL);
  CHECK_ERRNO(syscall(SYS_clock_gettime, -1, &now), EINVAL);
  CHECK_EQ(syscall(SYS_clock_getres, CLOCK_PROCESS_CPUTIME_ID, &now), 0);
  CHECK_EQ(now.tv_nsec, 1);
  const timespec none = {0, 1000};
  CHECK_ERRNO(syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC_RAW, 0, &none, nullptr), EOPNOTSUPP);
  CHECK_ERRNO(syscall(SYS_clock_nanosleep, CLOCK_REALTIME_COARSE, 0, &none, nullptr), EOPNOTSUPP);
  CHECK_ERRNO(syscall(SYS_clock_nanosleep, 77, 0, &none, nullptr), EINVAL);
  CHECK_ERRNO(syscall(SYS_clock_settime, CLOCK_MONOTONIC, &none), EINVAL);
  CHECK_ERRNO(syscall(SYS_clock_settime, CLOCK_PROCESS_CPUTIME_ID, &none), EINVAL);
  CHECK_ERRNO(syscall(SYS_clock_settime, CLOCK_THREAD_CPUTIME_ID, &none), EINVAL);
}

void test_memory_of_others() {
  constexpr size_t size = 3 << 20;
  char* const bytes = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = children::spawn([&] {
    memset(bytes, 'c', size / 2);  // the rest was never touched
    CHECK_EQ(write(ends[1], "x", 1), 1);
    while (*static_cast<volatile char*>(bytes + size - 1) != 'p') { check_sleep_us(1000); }
    return bytes[size / 2] == 0 ? 0 : 1;
  });
  char byte = 0;
  CHECK_EQ(read(ends[0], &byte, 1), 1);
  char* const copy = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  const iovec own[2] = {{copy, 1000}, {copy + 1000, size - 1000}};
  const iovec theirs[3] = {{bytes, 5}, {bytes + 5, size - 10}, {bytes + size - 5, 5}};
  CHECK_EQ(process_vm_readv(child, own, 2, theirs, 3, 0), static_cast<long>(size));
  CHECK_EQ(copy[0], 'c');
  CHECK_EQ(copy[size / 2 - 1], 'c');
  CHECK_EQ(copy[size / 2], 0);
  CHECK_EQ(bytes[0], 0);  // this process's own is as it was
  // Until the first address that is not there.
  const iovec beyond = {bytes + size - 100, 200 + (64 << 20)};
  const iovec room = {copy, size};
  const long got = process_vm_readv(child, &room, 1, &beyond, 1, 0);
  CHECK(got >= 100);
  const iovec nothing = {reinterpret_cast<void*>(64), 8};
  CHECK_ERRNO(process_vm_readv(child, &room, 1, &nothing, 1, 0), EFAULT);
  CHECK_ERRNO(process_vm_readv(child, &room, 1, theirs, 1, 1), EINVAL);
  CHECK_ERRNO(process_vm_readv(child, &room, 2000, theirs, 1, 0), EINVAL);
  CHECK_ERRNO(process_vm_readv(0x3fffffff, &room, 1, theirs, 1, 0), ESRCH);
  CHECK_EQ(process_vm_readv(0x3fffffff, &room, 0, theirs, 1, 0), 0);
  copy[0] = 'p';
  const iovec one = {copy, 1};
  const iovec last = {bytes + size - 1, 1};
  CHECK_EQ(process_vm_writev(child, &one, 1, &last, 1, 0), 1);
  children::expect_exit(child, 0);
  CHECK_EQ(munmap(bytes, size), 0);
  CHECK_EQ(munmap(copy, size), 0);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("mannerstest", argc, argv);
  test_prctl();
  test_orphans();
  test_orphaned_zombies();
  test_stopped_orphans();
  test_personality();
  test_time_left();
  test_priorities();
  test_clocks();
  test_memory_of_others();
  return check_done();
}

// Processes: fork, vfork, execve, wait4 and their promises. Copy-on-write in both directions and over generations,
// shared memory, exit codes, signals that end, stop and continue children, SIGCHLD, zombies, orphans, process groups,
// close-on-exec, what exec keeps and resets, fork and exec in a process with several threads, and processor time.

#include "tests/check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

using Numbers = const int[];
using Flags = const bool[];

constexpr size_t page = 4096;
constexpr const char* self_path = "/proc/self/exe";

extern "C" char** environ;

// Forks, runs body in the child, which then exits with what body returns.
template <typename Body>
pid_t spawn(Body body) {
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) { _exit(body()); }
  return child;
}

int wait_for(pid_t child) {
  int status = -1;
  CHECK_EQ(waitpid(child, &status, 0), child);
  return status;
}

// The child ended normally with this code.
void expect_exit(pid_t child, int code) {
  const int status = wait_for(child);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), code);
}

void expect_signal(pid_t child, int signal) {
  const int status = wait_for(child);
  CHECK(WIFSIGNALED(status));
  CHECK_EQ(WTERMSIG(status), signal);
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

void test_exit_codes() {
  for (const int code : Numbers{0, 1, 42, 127, 255}) {
    expect_exit(spawn([code] { return code; }), code);
  }
  expect_exit(spawn([] { return 0x1234; }), 0x34);
  for (const int signal : Numbers{SIGKILL, SIGTERM, SIGUSR1, SIGINT, SIGPIPE}) {
    expect_signal(spawn([signal] {
                    raise(signal);
                    return 0;
                  }),
                  signal);
  }
  expect_signal(spawn([] {
                  *check_address(16) = 1;
                  return 0;
                }),
                SIGSEGV);
}

void test_identity() {
  const pid_t me = getpid();
  expect_exit(spawn([me] { return getppid() == me && getpid() != me && getpid() == syscall(SYS_gettid) ? 0 : 1; }), 0);
  CHECK_EQ(getpid(), me);
}

// Copy-on-write: each side sees its own writes and never the other's.

uint32_t in_data[16 * page / sizeof(uint32_t)];

void fill(volatile uint32_t* words, size_t count, uint32_t seed) {
  for (size_t index = 0; index < count; index += 64) { words[index] = seed + static_cast<uint32_t>(index); }
}

bool holds(const volatile uint32_t* words, size_t count, uint32_t seed) {
  for (size_t index = 0; index < count; index += 64) {
    if (words[index] != seed + static_cast<uint32_t>(index)) { return false; }
  }
  return true;
}

void test_copy_on_write() {
  constexpr size_t count = 64 * page / sizeof(uint32_t);
  auto* heap = static_cast<uint32_t*>(
      mmap(nullptr, count * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(heap != MAP_FAILED);
  volatile uint32_t stack[256];
  fill(heap, count, 1);
  fill(in_data, sizeof in_data / 4, 2);
  fill(stack, 256, 3);

    // The child writes; the parent must not see it.
  expect_exit(spawn([&] {
                if (!holds(heap, count, 1) || !holds(in_data, sizeof in_data / 4, 2) || !holds(stack, 256, 3)) { return 1; }
                fill(heap, count, 1001);
                fill(in_data, sizeof in_data / 4, 1002);
                fill(stack, 256, 1003);
                return holds(heap, count, 1001) && holds(in_data, sizeof in_data / 4, 1002) && holds(stack, 256, 1003) ? 0 : 2;
              }),
              0);
  CHECK(holds(heap, count, 1) && holds(in_data, sizeof in_data / 4, 2) && holds(stack, 256, 3));

    // The parent writes while the child looks on; the child must see the old.
  Gate written;
  const pid_t child = spawn([&] {
    written.pass();
    return holds(heap, count, 1) && holds(in_data, sizeof in_data / 4, 2) && holds(stack, 256, 3) ? 0 : 1;
  });
  fill(heap, count, 2001);
  fill(in_data, sizeof in_data / 4, 2002);
  fill(stack, 256, 2003);
  written.open();
  expect_exit(child, 0);
  CHECK(holds(heap, count, 2001) && holds(in_data, sizeof in_data / 4, 2002) && holds(stack, 256, 2003));

    // The kernel's own writes into user memory break the sharing too.
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  CHECK_EQ(write(ends[1], "kernel", 6), 6);
  expect_exit(spawn([&] { return read(ends[0], heap, 6) == 6 && memcmp(heap, "kernel", 6) == 0 ? 0 : 1; }), 0);
  CHECK(holds(heap, count, 2001));
  close(ends[0]);
  close(ends[1]);

    // Over generations: each adds its level to its own copy, and finds its parent's as it was.
  struct Generations {
    static int run(uint32_t* words, size_t words_count, uint32_t level) {
      if (!holds(words, words_count, level)) { return 10 + static_cast<int>(level); }
      if (level == 5) { return 0; }
      const pid_t next = fork();
      if (next < 0) { return 20; }
      if (next == 0) {
        fill(words, words_count, level + 1);
        _exit(run(words, words_count, level + 1));
      }
      int status = 0;
      if (waitpid(next, &status, 0) != next || status != 0) { return WIFEXITED(status) ? WEXITSTATUS(status) : 21; }
      return holds(words, words_count, level) ? 0 : 30 + static_cast<int>(level);
    }
  };
  fill(heap, count, 0);
  expect_exit(spawn([&] { return Generations::run(heap, count, 0); }), 0);

    // Protection survives the copy.
  CHECK_EQ(mprotect(heap, page, PROT_READ), 0);
  expect_signal(spawn([&] {
                  *static_cast<volatile uint32_t*>(heap) = 1;
                  return 0;
                }),
                SIGSEGV);
  CHECK_EQ(munmap(heap, count * sizeof(uint32_t)), 0);
}

void test_shared_memory() {
  auto* shared =
      static_cast<volatile uint32_t*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  CHECK(shared != MAP_FAILED);
  shared[0] = 1;
  expect_exit(spawn([&] {
                shared[0] = shared[0] + 1;
                shared[page / 2] = 77;  // a page that was not present at the fork
                return 0;
              }),
              0);
  CHECK_EQ(shared[0], 2);
  CHECK_EQ(shared[page / 2], 77);

  constexpr int children = 8;
  pid_t child[children];
  shared[1] = 0;
  for (auto& one : child) {
    one = spawn([&] {
      for (int step = 0; step < 1000; ++step) { __atomic_fetch_add(&shared[1], 1, __ATOMIC_SEQ_CST); }
      return 0;
    });
  }
  for (const auto one : child) { expect_exit(one, 0); }
  CHECK_EQ(shared[1], children * 1000);
  CHECK_EQ(munmap(const_cast<uint32_t*>(shared), 4 * page), 0);
}

// vfork: the parent waits until the child has called exec or left, and the memory is one.
void test_vfork() {
  static volatile int written;
  static volatile int64_t child_end;
  written = 0;
  const pid_t child = vfork();
  if (child == 0) {
    check_sleep_us(5000);
    written = 5;
    child_end = check_now_ns();
    _exit(9);
  }
  const int64_t resumed = check_now_ns();
  CHECK(child > 0);
  CHECK_EQ(written, 5);
  CHECK(resumed >= child_end);
  expect_exit(child, 9);

  static const char* const arguments[] = {"forktest", "child", "exit", "33", nullptr};
  const pid_t second = vfork();
  if (second == 0) {
    execve(self_path, const_cast<char* const*>(arguments), environ);
    _exit(99);
  }
  CHECK(second > 0);
  expect_exit(second, 33);
}

int exec_child(const char* mode, const char* value, char* const* environment) {
  const char* const arguments[] = {"forktest", "child", mode, value, nullptr};
  execve(self_path, const_cast<char* const*>(arguments), environment);
  return 99;
}

void test_exec() {
  char* const environment[] = {const_cast<char*>("CORRAL_TEST=a value with spaces"), nullptr};
  expect_exit(spawn([&] { return exec_child("environment", "", environment); }), 0);
  expect_exit(spawn([] { return exec_child("exit", "200", environ); }), 200);

  char* const arguments[] = {const_cast<char*>("x"), nullptr};
  CHECK_ERRNO(execve("/nowhere/at/all", arguments, environ), ENOENT);
  CHECK_ERRNO(execve("", arguments, environ), ENOENT);
  CHECK_ERRNO(execve("/etc/passwd", arguments, environ), EACCES);
  CHECK_ERRNO(execve("/etc/passwd/x", arguments, environ), ENOTDIR);
  CHECK_ERRNO(execve("/etc", arguments, environ), EACCES);

    // Not programs: no known format, and an ELF header cut short or filled with nonsense.
  char path[64];
  snprintf(path, sizeof path, "/tmp/forktest.%d", getpid());
  static const char* const images[] = {"plain text\n", "\177ELF",
                                       "\177ELF\2\1\1 nonsense nonsense nonsense nonsense "
                                       "nonsense nonsense nonsense nonsense nonsense nonsense nonsense"};
  for (const char* image : images) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    CHECK(file >= 0);
    CHECK_EQ(write(file, image, strlen(image)), static_cast<ssize_t>(strlen(image)));
    CHECK_EQ(close(file), 0);
    CHECK_ERRNO(execve(path, arguments, environ), ENOEXEC);
  }
    // A script runs by its interpreter.
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);
  CHECK(file >= 0);
  static const char script[] = "#!/bin/sh\nexit $(($# * 10 + $1))\n";
  CHECK_EQ(write(file, script, sizeof script - 1), static_cast<ssize_t>(sizeof script - 1));
  CHECK_EQ(close(file), 0);
  expect_exit(spawn([&] {
                const char* const script_arguments[] = {"x", "3", "4", nullptr};
                execve(path, const_cast<char* const*>(script_arguments), environ);
                return 99;
              }),
              23);
  CHECK_EQ(unlink(path), 0);
}

// Exec closes marked descriptors and keeps the others, resets handlers, keeps what is ignored, and the mask.
void test_exec_keeps() {
  int ends[2];
  CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
  char value[32];
  snprintf(value, sizeof value, "%d", ends[0]);
  expect_exit(spawn([&] { return exec_child("closed", value, environ); }), 0);
  CHECK_EQ(fcntl(ends[0], F_SETFD, 0), 0);
  expect_exit(spawn([&] { return exec_child("closed", value, environ); }), 1);
  close(ends[0]);
  close(ends[1]);

  expect_exit(spawn([] {
                struct sigaction action{};
                action.sa_handler = [](int) {};
                sigaction(SIGUSR1, &action, nullptr);
                action.sa_handler = SIG_IGN;
                sigaction(SIGUSR2, &action, nullptr);
                sigset_t mask;
                sigemptyset(&mask);
                sigaddset(&mask, SIGTERM);
                sigprocmask(SIG_SETMASK, &mask, nullptr);
                return exec_child("signals", "", environ);
              }),
              0);
}

int child_main(const char* mode, const char* value) {
  if (strcmp(mode, "exit") == 0) { return atoi(value); }
  if (strcmp(mode, "environment") == 0) {
    const char* found = getenv("CORRAL_TEST");
    return found != nullptr && strcmp(found, "a value with spaces") == 0 && environ[1] == nullptr ? 0 : 1;
  }
  if (strcmp(mode, "closed") == 0) { return fcntl(atoi(value), F_GETFD) == -1 && errno == EBADF ? 0 : 1; }
  if (strcmp(mode, "signals") == 0) {
    struct sigaction action{};
    if (sigaction(SIGUSR1, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) { return 2; }
    if (sigaction(SIGUSR2, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) { return 3; }
    sigset_t mask;
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 0 ? 0 : 4;
  }
  if (strcmp(mode, "same_process") == 0) { return getpid() == atoi(value) && syscall(SYS_gettid) == getpid() ? 0 : 5; }
  return 98;
}

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

// Descriptors of parent and child share the offset.
void test_shared_offset() {
  const int file = open("/etc/passwd", O_RDONLY);
  CHECK(file >= 0);
  expect_exit(spawn([file] {
                char two[2];
                return read(file, two, 2) == 2 ? 0 : 1;
              }),
              0);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), 2);
  expect_exit(spawn([file] { return close(file); }), 0);
  CHECK_EQ(lseek(file, 0, SEEK_CUR), 2);
  CHECK_EQ(close(file), 0);
}

volatile bool stop_threads;

// The child of a threaded process has one thread; its memory stands still whatever the parent's threads write.
void test_fork_with_threads() {
  static volatile uint64_t words[4 * page / sizeof(uint64_t)];
  pthread_t threads[3];
  stop_threads = false;
  for (auto& thread : threads) {
    CHECK_EQ(pthread_create(
                 &thread, nullptr,
                 [](void*) -> void* {
                   while (!stop_threads) {
                     for (size_t index = 0; index < sizeof words / sizeof words[0]; index += 512) {
                       words[index] = words[index] + 1;
                     }
                   }
                   return nullptr;
                 },
                 nullptr),
             0);
  }
  for (long round = 0; round < 15 * check_effort; ++round) {
    expect_exit(spawn([] {
                  uint64_t copy[4];
                  for (int index = 0; index < 4; ++index) { copy[index] = words[index * 512]; }
                  check_sleep_us(500);
                  for (int index = 0; index < 4; ++index) {
                    if (words[index * 512] != copy[index]) { return 1; }
                  }
                  return 0;
                }),
                0);
  }
  stop_threads = true;
  for (const auto thread : threads) { CHECK_EQ(pthread_join(thread, nullptr), 0); }
}

// Exec by any thread ends all the others and keeps the process's number; exit_group ends all.
void test_exec_with_threads() {
  for (const bool by_main : Flags{true, false}) {
    expect_exit(
        spawn([by_main] {
          pthread_t thread{};
          static char number[16];
          snprintf(number, sizeof number, "%d", getpid());
          const auto spin = [](void*) -> void* {
            for (;;) { check_spin(1000); }
          };
          const auto sleep = [](void*) -> void* {
            for (;;) { pause(); }
          };
          const auto exec = [](void*) -> void* {
            exec_child("same_process", number, environ);
            _exit(97);
          };
          if (pthread_create(&thread, nullptr, spin, nullptr) != 0 || pthread_create(&thread, nullptr, sleep, nullptr) != 0) {
            return 96;
          }
          if (by_main) {
            exec(nullptr);
          } else if (pthread_create(&thread, nullptr, exec, nullptr) != 0) {
            return 96;
          }
          for (;;) { pause(); }
          return 95;
        }),
        0);
  }
  expect_exit(spawn([] {
                pthread_t thread{};
                pthread_create(&thread, nullptr, [](void*) -> void* { _exit(61); }, nullptr);
                for (;;) { pause(); }
                return 0;
              }),
              61);
}

void test_usage() {
  const pid_t child = spawn([] {
    timespec used{};
    do { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used); } while (used.tv_sec == 0 && used.tv_nsec < 20000000);
    return 0;
  });
  rusage usage{};
  int status = -1;
  CHECK_EQ(wait4(child, &status, 0, &usage), child);
  CHECK_EQ(status, 0);
  const int64_t used =
      (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
  CHECK(used >= 10000);
  CHECK(used < 10000000);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "child") == 0) { return child_main(argv[2], argv[3]); }
  check_begin("forktest", argc, argv);
  test_exit_codes();
  test_identity();
  test_copy_on_write();
  test_shared_memory();
  test_vfork();
  test_exec();
  test_exec_keeps();
  test_signals();
  test_sigchld();
  test_waiting();
  test_groups();
  test_orphans();
  test_shared_offset();
  test_fork_with_threads();
  test_exec_with_threads();
  test_usage();
  return check_done();
}

// vfork and execve: the parent waits for the child's image, what exec refuses, what it passes on, what it keeps and resets
// (descriptors, handlers, mask), scripts, and exec by any thread of a process. For the mutants of programs: exectest.cpp.
// The program executes itself: `execvetest child MODE VALUE`.

#include "tests/children.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

namespace {

using namespace children;

constexpr const char* self_path = "/proc/self/exe";

extern "C" char** environ;

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

  static const char* const arguments[] = {"execvetest", "child", "exit", "33", nullptr};
  const pid_t second = vfork();
  if (second == 0) {
    execve(self_path, const_cast<char* const*>(arguments), environ);
    _exit(99);
  }
  CHECK(second > 0);
  expect_exit(second, 33);
}

int exec_child(const char* mode, const char* value, char* const* environment) {
  const char* const arguments[] = {"execvetest", "child", mode, value, nullptr};
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
  snprintf(path, sizeof path, "/tmp/execvetest.%d", getpid());
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

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && strcmp(argv[1], "child") == 0) { return child_main(argv[2], argv[3]); }
  check_begin("execvetest", argc, argv);
  test_vfork();
  test_exec();
  test_exec_keeps();
  test_exec_with_threads();
  return check_done();
}

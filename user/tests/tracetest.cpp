// ptrace of a child: stops at signals and what becomes of them, single steps, registers and memory, executed programs, threads,
// the tracer's end, and what is refused.

#include "tests/tracing.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/user.h>

using namespace children;
using namespace tracing;

namespace {

volatile sig_atomic_t taken[NSIG];

void take(int signal) {
  taken[signal] = taken[signal] + 1;
}

void go_on(pid_t thread, int signal) {
  CHECK_EQ(traced(PTRACE_CONT, thread, 0, signal), 0);
}

void end(pid_t child) {
  CHECK_EQ(kill(child, SIGKILL), 0);
  expect_signal(child, SIGKILL);
}

user_regs_struct registers_of(pid_t thread) {
  user_regs_struct registers{};
  CHECK_EQ(traced(PTRACE_GETREGS, thread, 0, reinterpret_cast<long>(&registers)), 0);
  return registers;
}

void expect_in_status(pid_t process, const char* wanted) {
  char path[64];
  char text[4096] = {};
  snprintf(path, sizeof path, "/proc/%d/status", process);
  const int file = open(path, O_RDONLY);
  CHECK(file >= 0);
  CHECK(read(file, text, sizeof text - 1) > 0);
  close(file);
  CHECK(strstr(text, wanted) != nullptr);
}

void test_signals_stop_first() {
  const pid_t child = spawn([] {
    signal(SIGUSR1, take);
    signal(SIGUSR2, take);
    signal(SIGHUP, take);
    signal(SIGWINCH, SIG_IGN);
    if (traced(PTRACE_TRACEME, 0, 0, 0) != 0 || traced(PTRACE_TRACEME, 0, 0, 0) != EPERM) return 9;
    raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGWINCH);
    raise(SIGUSR1);
    return taken[SIGUSR1] * 4 + taken[SIGUSR2] * 2 + taken[SIGHUP];
  });
  expect_stop(child, SIGUSR1);
  expect_in_status(child, "State:\tt (tracing stop)");
  char tracer[40];
  snprintf(tracer, sizeof tracer, "TracerPid:\t%d\n", getpid());
  expect_in_status(child, tracer);
  siginfo_t info{};
  CHECK_EQ(traced(PTRACE_GETSIGINFO, child, 0, reinterpret_cast<long>(&info)), 0);
  CHECK_EQ(info.si_signo, SIGUSR1);
  CHECK_EQ(info.si_pid, child);
  int status = 0;
  CHECK_EQ(waitpid(child, &status, WNOHANG), 0);  // told once
  go_on(child, 0);  // forgotten
  expect_stop(child, SIGUSR2);
  go_on(child, SIGUSR2);  // delivered
  expect_stop(child, SIGWINCH);  // although it is ignored
  go_on(child, 0);
  expect_stop(child, SIGUSR1);
  go_on(child, SIGHUP);  // another one
  expect_exit(child, 2 + 1);
}

// Whoever is told of a stop finds the child stopped, not on its way there.
void test_told_is_stopped() {
  constexpr int stops = 100;
  const pid_t child = spawn([] {
    if (traced(PTRACE_TRACEME, 0, 0, 0) != 0) return 9;
    for (int i = 0; i < stops; ++i) raise(SIGUSR1);
    return 0;
  });
  for (int i = 0; i < stops; ++i) {
    expect_stop(child, SIGUSR1);
    expect_in_status(child, "State:\tt (tracing stop)");
    go_on(child, 0);
  }
  expect_exit(child, 0);
}

volatile sig_atomic_t told;

void test_attach_and_step() {
  auto* counter = static_cast<volatile long*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  struct sigaction action{};
  action.sa_handler = [](int) { told = told + 1; };
  CHECK_EQ(sigaction(SIGCHLD, &action, nullptr), 0);
  told = 0;
  const pid_t child = spawn([&]() -> int {
    for (;;) *counter = *counter + 1;
  });
  while (*counter == 0) sched_yield();
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0), ESRCH);  // not traced
  CHECK_EQ(traced(PTRACE_ATTACH, child, 0, 0), 0);
  expect_stop(child, SIGSTOP);
  CHECK_EQ(told, 1);
  CHECK_EQ(traced(PTRACE_ATTACH, child, 0, 0), EPERM);
  const long before = *counter;
  for (int i = 0; i < 300; ++i) {
    const auto at = registers_of(child).rip;
    CHECK_EQ(traced(PTRACE_SINGLESTEP, child, 0, 0), 0);
    expect_stop(child, SIGTRAP);
    CHECK_EQ(told, 2 + i);
    CHECK(registers_of(child).rip != at);
  }
  CHECK(*counter > before && *counter < before + 300);
  CHECK_EQ(traced(PTRACE_DETACH, child, 0, 0), 0);
  const long then = *counter;
  while (*counter < then + 1000) sched_yield();
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0), ESRCH);
  end(child);
  CHECK(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}

volatile long variable = 5;

void test_registers_and_memory() {
  const pid_t child = spawn([] {
    if (traced(PTRACE_TRACEME, 0, 0, 0) != 0) return 9;
    long value = 1234567890123;
    asm volatile("mov %0, %%rbx\n int3\n mov %%rbx, %0" : "+r"(value) : : "rbx", "memory");
    return value == 42 && variable == 77 ? 3 : 4;
  });
  expect_stop(child, SIGTRAP);
  user_regs_struct registers = registers_of(child);
  CHECK_EQ(registers.rbx, 1234567890123);
  CHECK_EQ(registers.orig_rax, ~0ull);
  long word = 0;
  CHECK_EQ(traced(PTRACE_PEEKUSER, child, offsetof(user_regs_struct, rbx), reinterpret_cast<long>(&word)), 0);
  CHECK_EQ(word, 1234567890123);
  CHECK_EQ(traced(PTRACE_PEEKDATA, child, reinterpret_cast<long>(&variable), reinterpret_cast<long>(&word)), 0);
  CHECK_EQ(word, 5);
  CHECK_EQ(traced(PTRACE_POKEDATA, child, reinterpret_cast<long>(&variable), 77), 0);
  CHECK_EQ(variable, 5);
  registers.rbx = 41;
  CHECK_EQ(traced(PTRACE_SETREGS, child, 0, reinterpret_cast<long>(&registers)), 0);
  CHECK_EQ(traced(PTRACE_POKEUSER, child, offsetof(user_regs_struct, rbx), 42), 0);
  CHECK_EQ(traced(PTRACE_PEEKUSER, child, 1, reinterpret_cast<long>(&word)), EIO);
  CHECK_EQ(traced(PTRACE_PEEKDATA, child, 8, reinterpret_cast<long>(&word)), EIO);
  CHECK_EQ(traced(PTRACE_GETREGS, child, 0, 8), EFAULT);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 65), EIO);
  CHECK_EQ(traced(PTRACE_SETOPTIONS, child, 0, 1l << 40), EINVAL);
  CHECK_EQ(traced(12345, child, 0, 0), EIO);
  go_on(child, 0);
  expect_exit(child, 3);
}

// A step over a call that makes a child leaves that one alone, and so does a call that waits.
void test_calls_while_stepping() {
  const pid_t child = spawn([] {
    if (traced(PTRACE_TRACEME, 0, 0, 0) != 0) return 9;
    raise(SIGUSR1);
    const pid_t grandchild = static_cast<pid_t>(syscall(SYS_fork));
    if (grandchild == 0) syscall(SYS_exit_group, 6);
    int status = 0;
    syscall(SYS_wait4, grandchild, &status, 0, nullptr);
    syscall(SYS_exit_group, status == 6 << 8 ? 5 : 8);
    return 0;
  });
  expect_stop(child, SIGUSR1);
  for (long steps = 0;; ++steps) {
    CHECK_EQ(traced(PTRACE_SINGLESTEP, child, 0, 0), 0);
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      CHECK_EQ(WEXITSTATUS(status), 5);
      CHECK(steps > 20);
      return;
    }
    CHECK(WIFSTOPPED(status));
    CHECK(WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) == SIGCHLD);
  }
}

void test_executed_programs() {
  const pid_t child = spawn([] {
    if (traced(PTRACE_TRACEME, 0, 0, 0) != 0) return 9;
    execl("/proc/self/exe", "ends-with-seven", nullptr);
    return 8;
  });
  expect_stop(child, SIGTRAP);
  go_on(child, 0);
  expect_exit(child, 7);
}

void test_death() {
  const pid_t child = spawn([] {
    traced(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGUSR1);
    return 0;
  });
  expect_stop(child, SIGUSR1);
  end(child);  // while it is stopped
  const pid_t other = spawn([] {
    traced(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGUSR1);
    return 0;
  });
  expect_stop(other, SIGUSR1);
  go_on(other, SIGTERM);
  expect_signal(other, SIGTERM);
}

// A tracer that ends: its tracee goes on, or ends with it.
void test_the_tracers_end() {
  for (const bool ends : Flags{false, true}) {
    Gate gate;
    int pipe_ends[2];
    CHECK_EQ(pipe(pipe_ends), 0);
    const pid_t tracer = spawn([&] {
      const pid_t tracee = fork();
      if (tracee == 0) {
        close(pipe_ends[0]);
        traced(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGUSR1);
        gate.pass();
        if (write(pipe_ends[1], "!", 1) != 1) _exit(1);
        _exit(0);
      }
      int status = 0;
      if (waitpid(tracee, &status, 0) != tracee) return 1;
      if (ends && traced(PTRACE_SETOPTIONS, tracee, 0, PTRACE_O_EXITKILL) != 0) return 2;
      return 0;
    });
    close(pipe_ends[1]);
    expect_exit(tracer, 0);
    gate.open();
    char byte = 0;
    CHECK_EQ(read(pipe_ends[0], &byte, 1), ends ? 0 : 1);
    close(pipe_ends[0]);
  }
}

// Who is left in the middle of single steps takes one more, and nobody asked for its signal.
void test_an_end_between_steps() {
  int pipe_ends[2];
  CHECK_EQ(pipe(pipe_ends), 0);
  const pid_t tracer = spawn([&]() -> int {
    const pid_t tracee = fork();
    if (tracee == 0) {
      for (;;) sched_yield();
    }
    int status = 0;
    if (traced(PTRACE_ATTACH, tracee, 0, 0) != 0 || waitpid(tracee, &status, 0) != tracee) return 1;
    if (traced(PTRACE_SINGLESTEP, tracee, 0, 0) != 0 || waitpid(tracee, &status, 0) != tracee) return 2;
    return 0;
  });
  close(pipe_ends[1]);
  expect_exit(tracer, 0);
  char byte = 0;
  CHECK_EQ(read(pipe_ends[0], &byte, 1), 0);  // nobody has it open any more
  close(pipe_ends[0]);
}

struct Shared {
  volatile pid_t thread;
  volatile long counter;
};

void test_threads_by_number() {
  auto* shared = static_cast<Shared*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const pid_t child = spawn([&]() -> int {
    pthread_t other;
    pthread_create(
        &other, nullptr,
        [](void* place) -> void* {
          auto* own = static_cast<Shared*>(place);
          own->thread = static_cast<pid_t>(syscall(SYS_gettid));
          for (;;) pause();
        },
        shared);
    for (;;) shared->counter = shared->counter + 1;
  });
  while (shared->thread == 0) sched_yield();
  const pid_t thread = shared->thread;
  CHECK(thread != child);
  CHECK_EQ(traced(PTRACE_ATTACH, thread, 0, 0), 0);
  expect_stop(thread, SIGSTOP);
  const long before = shared->counter;  // the other one goes on
  while (shared->counter < before + 1000) sched_yield();
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0), ESRCH);
  go_on(thread, 0);
  CHECK_EQ(traced(PTRACE_CONT, thread, 0, 0), ESRCH);  // it runs
  CHECK_EQ(syscall(SYS_tgkill, child, thread, SIGUSR1), 0);
  expect_stop(thread, SIGUSR1);
  CHECK_EQ(traced(PTRACE_DETACH, thread, 0, 0), 0);
  end(child);
}

void test_refusals() {
  CHECK_EQ(traced(PTRACE_ATTACH, getpid(), 0, 0), EPERM);
  CHECK_EQ(traced(PTRACE_ATTACH, 99999999, 0, 0), ESRCH);
  CHECK_EQ(traced(PTRACE_CONT, 99999999, 0, 0), ESRCH);
  CHECK_EQ(traced(PTRACE_PEEKDATA, getpid(), 0, 0), ESRCH);
}

}  // namespace

int main(int argc, char** argv) {
  if (strcmp(argv[0], "ends-with-seven") == 0) return 7;
  check_begin("tracetest", argc, argv);
  test_signals_stop_first();
  test_told_is_stopped();
  test_attach_and_step();
  test_registers_and_memory();
  test_calls_while_stepping();
  test_executed_programs();
  test_death();
  test_the_tracers_end();
  test_an_end_between_steps();
  test_threads_by_number();
  test_refusals();
  return check_done();
}

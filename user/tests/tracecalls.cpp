// ptrace as strace and debuggers use it: stops at system calls, at events and on demand, by tracers that are no parents; what the
// tracer hears of ends; registers, signals and masks of those that are stopped.

#include "tests/tracing.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/user.h>

using namespace children;
using namespace tracing;

namespace {

constexpr int call_stop = SIGTRAP | 0x80;
constexpr unsigned event_stop = 128;  // PTRACE_EVENT_STOP
constexpr unsigned long long no_call = ~0ull;

// Linux's struct ptrace_syscall_info, whose header does not go with sys/ptrace.h everywhere.
struct CallInfo {
  uint8_t kind, padding[3];
  uint32_t architecture;
  uint64_t program_counter, stack_pointer;
  uint64_t word[8];  // of a beginning: number, arguments; of an end: result, is_error
};
constexpr long get_call_info = 0x420e;
enum CallKind : uint8_t { none, entry, leave };

void expect_event(pid_t thread, unsigned event) {
  expect_stop(thread, SIGTRAP, event);
}

unsigned long message_of(pid_t thread) {
  unsigned long message = 0;
  CHECK_EQ(traced(PTRACE_GETEVENTMSG, thread, 0, &message), 0);
  return message;
}

CallInfo info_of(pid_t thread) {
  CallInfo info{};
  CHECK_EQ(traced(get_call_info, thread, sizeof info, &info), 0);
  return info;
}

user_regs_struct registers_of(pid_t thread) {
  user_regs_struct registers{};
  CHECK_EQ(traced(PTRACE_GETREGS, thread, 0, &registers), 0);
  return registers;
}

void to_next_call(pid_t thread, int signal = 0) {
  CHECK_EQ(traced(PTRACE_SYSCALL, thread, 0, signal), 0);
}

void test_calls_stop_twice() {
  const pid_t child = spawn_traced(PTRACE_O_TRACESYSGOOD, [] {
    const bool right = syscall(SYS_getpriority, 11, 22, 33) == -1 && errno == EINVAL && syscall(SYS_getppid) == 4711 &&
                       syscall(SYS_getpgid, 0) == -1 && errno == ENOSYS && syscall(SYS_alarm, 1) == 0 &&
                       syscall(SYS_alarm, 0) == 55;
    syscall(SYS_exit_group, right ? 7 : 8);
    return 0;
  });
  const auto begins = [&](uint64_t number) {
    to_next_call(child);
    expect_stop(child, call_stop);
    const CallInfo info = info_of(child);
    CHECK_EQ(info.kind, entry);
    CHECK_EQ(info.architecture, 0xc000003eu);
    CHECK_EQ(info.word[0], number);
    CHECK_EQ(registers_of(child).orig_rax, number);
    CHECK_EQ(static_cast<long>(registers_of(child).rax), -ENOSYS);
    return info;
  };
  const auto ends = [&] {
    to_next_call(child);
    expect_stop(child, call_stop);
    const CallInfo info = info_of(child);
    CHECK_EQ(info.kind, leave);
    return info;
  };
  to_next_call(child);  // raise() is over
  expect_stop(child, call_stop);
  while (!(info_of(child).kind == entry && info_of(child).word[0] == SYS_getpriority)) {
    to_next_call(child);
    expect_stop(child, call_stop);
  }
  CHECK_EQ(info_of(child).word[1], 11u);
  CHECK_EQ(info_of(child).word[3], 33u);
  CHECK_EQ(message_of(child), 1u);
  CallInfo info = ends();
  CHECK_EQ(static_cast<int64_t>(info.word[0]), -EINVAL);
  CHECK_EQ(info.word[1] & 0xff, 1u);
  CHECK_EQ(message_of(child), 2u);
  // The result is the tracer's.
  begins(SYS_getppid);
  info = ends();
  CHECK_EQ(info.word[0], static_cast<uint64_t>(getpid()));
  user_regs_struct registers = registers_of(child);
  registers.rax = 4711;
  CHECK_EQ(traced(PTRACE_SETREGS, child, 0, &registers), 0);
  // The call is not made at all.
  begins(SYS_getpgid);
  CHECK_EQ(traced(PTRACE_POKEUSER, child, offsetof(user_regs_struct, orig_rax), -1l), 0);
  ends();
  // Another argument: a longer alarm than it asked for.
  begins(SYS_alarm);
  CHECK_EQ(traced(PTRACE_POKEUSER, child, offsetof(user_regs_struct, rdi), 1000l), 0);
  ends();
  begins(SYS_alarm);
  ends();
  CHECK_EQ(traced(PTRACE_POKEUSER, child, offsetof(user_regs_struct, rax), 55l), 0);
  begins(SYS_exit_group);
  to_next_call(child);
  CHECK_EQ(status_of(child), 7 << 8);
}

// With PTRACE_SYSEMU calls are the tracer's own to make.
void test_calls_that_are_not_made() {
  const pid_t child = spawn_traced(PTRACE_O_TRACESYSGOOD, [] {
    const long got = syscall(SYS_getppid);
    syscall(SYS_exit_group, got == 3 ? 1 : 2);
    return 0;
  });
  for (;;) {
    CHECK_EQ(traced(PTRACE_SYSEMU, child, 0, 0l), 0);
    expect_stop(child, call_stop);
    if (registers_of(child).orig_rax == SYS_getppid) break;
    CHECK_EQ(traced(PTRACE_POKEUSER, child, offsetof(user_regs_struct, rax), 0l), 0);  // what raise() has left to do
  }
  CHECK_EQ(traced(PTRACE_POKEUSER, child, offsetof(user_regs_struct, rax), 3l), 0);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  CHECK_EQ(status_of(child), 1 << 8);
}

// A signal ends a call that waits: the tracer sees what Linux keeps, and the call begins again.
void test_interrupted_calls() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = spawn_traced(PTRACE_O_TRACESYSGOOD, [&] {
    char byte = 0;
    return static_cast<int>(syscall(SYS_read, ends[0], &byte, 1));
  });
  do {
    to_next_call(child);
    expect_stop(child, call_stop);
  } while (info_of(child).kind != entry || info_of(child).word[0] != SYS_read);
  to_next_call(child);
  CHECK_EQ(kill(child, SIGURG), 0);  // ignored, but its tracer hears of it
  expect_stop(child, call_stop);
  CHECK_EQ(static_cast<int64_t>(info_of(child).word[0]), -512);  // ERESTARTSYS
  to_next_call(child);
  expect_stop(child, SIGURG);
  CHECK_EQ(info_of(child).kind, none);
  to_next_call(child);
  expect_stop(child, call_stop);
  CHECK_EQ(info_of(child).word[0], static_cast<uint64_t>(SYS_read));
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  CHECK_EQ(write(ends[1], "!", 1), 1);
  CHECK_EQ(status_of(child), 1 << 8);
  close(ends[0]);
  close(ends[1]);
}

// Children of a child: traced from their beginning. The parent hears of the end only after the tracer.
void test_forks_are_followed() {
  for (const bool forks_plainly : Flags{false, true}) {
    const pid_t child =
        spawn_traced(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEVFORKDONE | PTRACE_O_TRACEEXIT, [&] {
          const pid_t grandchild = forks_plainly ? static_cast<pid_t>(syscall(SYS_fork)) : vfork();
          if (grandchild == 0) _exit(5);
          int status = 0;
          return waitpid(grandchild, &status, 0) == grandchild && status == 5 << 8 ? 6 : 7;
        });
    CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
    expect_event(child, forks_plainly ? PTRACE_EVENT_FORK : PTRACE_EVENT_VFORK);
    const pid_t grandchild = static_cast<pid_t>(message_of(child));
    expect_stop(grandchild, SIGSTOP);
    CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
    CHECK_EQ(traced(PTRACE_CONT, grandchild, 0, 0l), 0);
    expect_event(grandchild, PTRACE_EVENT_EXIT);
    CHECK_EQ(message_of(grandchild), 5u << 8);
    CHECK_EQ(traced(PTRACE_CONT, grandchild, 0, 0l), 0);
    siginfo_t info{};
    CHECK_EQ(waitid(P_PID, static_cast<id_t>(grandchild), &info, WEXITED | WNOWAIT), 0);
    if (!forks_plainly) {
      expect_event(child, PTRACE_EVENT_VFORK_DONE);
      CHECK_EQ(message_of(child), static_cast<unsigned long>(grandchild));
      CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
    }
    int status = 0;
    CHECK_EQ(waitpid(child, &status, WNOHANG), 0);  // it waits, for its child's end is not its to hear yet
    CHECK_EQ(status_of(grandchild), 5 << 8);
    for (;;) {  // SIGCHLD, then its own end
      status = status_of(child);
      if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) break;
      CHECK_EQ(status >> 8, SIGCHLD);
      CHECK_EQ(traced(PTRACE_CONT, child, 0, SIGCHLD), 0);
    }
    CHECK_EQ(message_of(child), 6u << 8);
    CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
    CHECK_EQ(status_of(child), 6 << 8);
  }
}

void test_threads_are_followed() {
  const pid_t child = spawn_traced(PTRACE_O_TRACECLONE, [] {
    static volatile pid_t number;
    pthread_t other;
    pthread_create(
        &other, nullptr,
        [](void*) -> void* {
          number = static_cast<pid_t>(syscall(SYS_gettid));
          syscall(SYS_exit, 3);
          return nullptr;
        },
        nullptr);
    while (number == 0 || syscall(SYS_tgkill, getpid(), number, 0) == 0) sched_yield();
    return 4;
  });
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  expect_event(child, PTRACE_EVENT_CLONE);
  const pid_t thread = static_cast<pid_t>(message_of(child));
  expect_stop(thread, SIGSTOP);
  CHECK_EQ(traced(PTRACE_CONT, thread, 0, 0l), 0);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  CHECK_EQ(status_of(thread), 3 << 8);  // of a thread that nobody else hears of
  CHECK_EQ(status_of(child), 4 << 8);
}

// A thread that is not the first executes a program: it goes on with the first one's number, and that is heard of once.
void test_programs_of_threads() {
  const pid_t child = spawn_traced(PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC, [] {
    pthread_t other;
    pthread_create(
        &other, nullptr,
        [](void*) -> void* {
          execl("/proc/self/exe", "ends-with-seven", nullptr);
          return nullptr;
        },
        nullptr);
    for (;;) pause();
    return 9;
  });
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  expect_event(child, PTRACE_EVENT_CLONE);
  const pid_t thread = static_cast<pid_t>(message_of(child));
  expect_stop(thread, SIGSTOP);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  CHECK_EQ(traced(PTRACE_CONT, thread, 0, 0l), 0);
  expect_event(child, PTRACE_EVENT_EXEC);
  CHECK_EQ(message_of(child), static_cast<unsigned long>(thread));
  CHECK_EQ(registers_of(child).orig_rax, SYS_execve);
  CHECK_EQ(traced(PTRACE_CONT, thread, 0, 0l), ESRCH);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  CHECK_EQ(status_of(child), 7 << 8);
}

// Seized: it runs on, stops on demand and with its process, and says when that goes on.
void test_seized() {
  int ends[2];
  CHECK_EQ(pipe(ends), 0);
  const pid_t child = spawn([&] {
    char byte = 0;
    return static_cast<int>(read(ends[0], &byte, 1)) + 1;
  });
  CHECK_EQ(traced(PTRACE_INTERRUPT, child, 0, 0l), ESRCH);
  CHECK_EQ(traced(PTRACE_SEIZE, child, 1, 0l), EIO);
  CHECK_EQ(traced(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD), 0);
  CHECK_EQ(traced(PTRACE_SEIZE, child, 0, 0l), EPERM);
  CHECK_EQ(traced(PTRACE_GETEVENTMSG, child, 0, 8l), ESRCH);  // it runs
  CHECK_EQ(traced(PTRACE_INTERRUPT, child, 0, 0l), 0);
  expect_event(child, event_stop);
  CHECK_EQ(traced(PTRACE_LISTEN, child, 0, 0l), 0);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), ESRCH);  // it listens
  CHECK_EQ(traced(PTRACE_INTERRUPT, child, 0, 0l), 0);
  expect_event(child, event_stop);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  CHECK_EQ(kill(child, SIGSTOP), 0);
  expect_stop(child, SIGSTOP);
  CHECK_EQ(traced(PTRACE_LISTEN, child, 0, 0l), EIO);  // not with its process yet
  CHECK_EQ(traced(PTRACE_CONT, child, 0, SIGSTOP), 0);
  expect_stop(child, SIGSTOP, event_stop);
  CHECK_EQ(traced(PTRACE_LISTEN, child, 0, 0l), 0);
  CHECK_EQ(kill(child, SIGCONT), 0);
  expect_event(child, event_stop);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  expect_stop(child, SIGCONT);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  CHECK_EQ(write(ends[1], "!", 1), 1);
  CHECK_EQ(status_of(child), 2 << 8);
  close(ends[0]);
  close(ends[1]);
}

// Who is stopped already stops for its tracer at once.
void test_attached_while_stopped() {
  for (const bool seizes : Flags{false, true}) {
    const pid_t child = spawn([] {
      raise(SIGSTOP);
      return 8;
    });
    int status = 0;
    CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
    CHECK_EQ(traced(seizes ? PTRACE_SEIZE : PTRACE_ATTACH, child, 0, 0l), 0);
    if (!seizes) (void)registers_of(child);  // without waiting
    expect_stop(child, SIGSTOP, seizes ? event_stop : 0);
    siginfo_t info{};
    CHECK_EQ(traced(PTRACE_GETSIGINFO, child, 0, &info), seizes ? 0 : EINVAL);
    CHECK_EQ(traced(PTRACE_DETACH, child, 0, 0l), 0);
    CHECK_EQ(kill(child, SIGCONT), 0);
    CHECK_EQ(status_of(child), 8 << 8);
  }
}

volatile sig_atomic_t value_taken;

void test_signals_of_the_stopped() {
  const pid_t child = spawn_traced(0, [] {
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) { value_taken = info->si_value.sival_int; };
    sigaction(SIGUSR2, &action, nullptr);
    raise(SIGUSR1);
    return value_taken;
  });
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  expect_stop(child, SIGUSR1);
  uint64_t mask = 0;
  CHECK_EQ(traced(PTRACE_GETSIGMASK, child, 4, &mask), EINVAL);
  CHECK_EQ(traced(PTRACE_GETSIGMASK, child, sizeof mask, &mask), 0);
  mask |= 1ull << (SIGUSR2 - 1);
  CHECK_EQ(traced(PTRACE_SETSIGMASK, child, sizeof mask, &mask), 0);
  const sigval value{.sival_int = 1};
  CHECK_EQ(sigqueue(child, SIGUSR2, value), 0);
  siginfo_t pending[3] = {};
  __ptrace_peeksiginfo_args which{.off = 0, .flags = PTRACE_PEEKSIGINFO_SHARED, .nr = 3};
  CHECK_EQ(syscall(SYS_ptrace, PTRACE_PEEKSIGINFO, child, &which, pending), 1);
  CHECK_EQ(pending[0].si_signo, SIGUSR2);
  mask &= ~(1ull << (SIGUSR2 - 1));
  CHECK_EQ(traced(PTRACE_SETSIGMASK, child, sizeof mask, &mask), 0);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  expect_stop(child, SIGUSR2);
  siginfo_t info{};
  CHECK_EQ(traced(PTRACE_GETSIGINFO, child, 0, &info), 0);
  CHECK_EQ(info.si_value.sival_int, 1);
  info.si_value.sival_int = 44;
  CHECK_EQ(traced(PTRACE_SETSIGINFO, child, 0, &info), 0);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, SIGUSR2), 0);
  CHECK_EQ(status_of(child), 44 << 8);
}

void test_register_sets() {
  const pid_t child = spawn_traced(0, [] {
    double value = 2.5;
    asm volatile("movsd %0, %%xmm5\n int3\n movsd %%xmm5, %0" : "+m"(value) : : "xmm5", "memory");
    return value == 7.25 ? 1 : 2;
  });
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  expect_stop(child, SIGTRAP);
  user_regs_struct registers{};
  iovec general{&registers, 4096};
  CHECK_EQ(traced(PTRACE_GETREGSET, child, NT_PRSTATUS, &general), 0);
  CHECK_EQ(general.iov_len, sizeof registers);
  CHECK_EQ(registers.orig_rax, no_call);
  CHECK_EQ(registers.rip, registers_of(child).rip);
  user_fpregs_struct floating{};
  iovec vectors{&floating, sizeof floating};
  CHECK_EQ(traced(PTRACE_GETREGSET, child, NT_PRFPREG, &vectors), 0);
  double value = 0;
  memcpy(&value, floating.xmm_space + 20, sizeof value);
  CHECK(value == 2.5);
  value = 7.25;
  memcpy(floating.xmm_space + 20, &value, sizeof value);
  CHECK_EQ(traced(PTRACE_SETREGSET, child, NT_PRFPREG, &vectors), 0);
  user_fpregs_struct again{};
  CHECK_EQ(traced(PTRACE_GETFPREGS, child, 0, &again), 0);
  CHECK_EQ(memcmp(&again.xmm_space, &floating.xmm_space, sizeof again.xmm_space), 0);
  CHECK_EQ(traced(PTRACE_GETREGSET, child, 0x7777, &vectors), EINVAL);
  vectors.iov_len = 3;
  CHECK_EQ(traced(PTRACE_GETREGSET, child, NT_PRFPREG, &vectors), EINVAL);
  floating.mxcsr = ~0u;
  vectors.iov_len = sizeof floating;
  CHECK_EQ(traced(PTRACE_SETREGSET, child, NT_PRFPREG, &vectors), EINVAL);
  CHECK_EQ(traced(PTRACE_CONT, child, 0, 0l), 0);
  CHECK_EQ(status_of(child), 1 << 8);
}

// The tracer ends while those that it traces are in all sorts of places: they go on, and their parent hears of them.
void test_tracers_that_leave() {
  for (const bool stopped : Flags{false, true}) {
    int go[2];
    CHECK_EQ(pipe(go), 0);
    const pid_t child = spawn([&] {
      char byte = 0;
      return read(go[0], &byte, 1) == 1 ? 3 : 4;
    });
    const pid_t tracer = spawn([&] {
      if (traced(PTRACE_SEIZE, child, 0, PTRACE_O_TRACESYSGOOD) != 0) return 1;
      if (traced(PTRACE_INTERRUPT, child, 0, 0l) != 0) return 2;
      int status = 0;
      if (waitpid(child, &status, __WALL) != child) return 3;
      if (!stopped && traced(PTRACE_SYSCALL, child, 0, 0l) != 0) return 4;
      return 0;
    });
    CHECK_EQ(status_of(tracer), 0);
    CHECK_EQ(write(go[1], "!", 1), 1);
    CHECK_EQ(status_of(child), 3 << 8);
    close(go[0]);
    close(go[1]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (strcmp(argv[0], "ends-with-seven") == 0) return 7;
  check_begin("tracecalls", argc, argv);
  test_calls_stop_twice();
  test_calls_that_are_not_made();
  test_interrupted_calls();
  test_forks_are_followed();
  test_threads_are_followed();
  test_programs_of_threads();
  test_seized();
  test_attached_while_stopped();
  test_signals_of_the_stopped();
  test_register_sets();
  test_tracers_that_leave();
  return check_done();
}

// Signals: what a handler is told and on which stack it runs, masks, pending and queued signals, restarted and
// interrupted calls, signals to one thread, the faults of the processor (divide, illegal instruction, memory,
// floating point), and that after a handler every register of the interrupted code is as it was.

#include "tests/check.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>

namespace {

// si_code values, as in Linux's <asm-generic/siginfo.h>.
constexpr int code_user = 0;
constexpr int code_queue = -1;
constexpr int code_tkill = -6;

volatile sig_atomic_t handled;
siginfo_t last_info;

void count_signal(int) {
  handled = handled + 1;
}

void keep_info(int, siginfo_t* info, void*) {
  last_info = *info;
  handled = handled + 1;
}

void on(int signal, void (*handler)(int), int flags = 0) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  CHECK_EQ(sigaction(signal, &action, nullptr), 0);
}

void on_info(int signal, void (*handler)(int, siginfo_t*, void*), int flags = 0) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = flags | SA_SIGINFO;
  CHECK_EQ(sigaction(signal, &action, nullptr), 0);
}

sigset_t only(int signal) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  return set;
}

bool blocked(int signal) {
  sigset_t set;
  CHECK_EQ(sigprocmask(SIG_BLOCK, nullptr, &set), 0);
  return sigismember(&set, signal) == 1;
}

bool pending(int signal) {
  sigset_t set;
  CHECK_EQ(sigpending(&set), 0);
  return sigismember(&set, signal) == 1;
}

pid_t thread_number() {
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

// Alternate stack.

char other_stack[64 * 1024];
void* volatile handler_frame;
volatile int handler_stack_flags;
sigjmp_buf out_of_overflow;

int endless(int depth) {
  volatile char frame[1024];
  frame[0] = static_cast<char>(depth);
  return depth < 0 ? 0 : endless(depth + 1) + frame[0];
}

bool on_other_stack(void* address) {
  return address >= static_cast<void*>(other_stack) && address < static_cast<void*>(other_stack + sizeof other_stack);
}

void note_stack(int) {
  handler_frame = __builtin_frame_address(0);
  stack_t now{};
  sigaltstack(nullptr, &now);
  handler_stack_flags = now.ss_flags;
  stack_t change{};
  change.ss_flags = SS_DISABLE;
  CHECK_ERRNO(sigaltstack(&change, nullptr), EPERM);
}

void test_alternate_stack() {
  stack_t stack{};
  CHECK_EQ(sigaltstack(nullptr, &stack), 0);
  CHECK((stack.ss_flags & SS_DISABLE) != 0);
  stack.ss_flags = 0;
  stack.ss_sp = other_stack;
  stack.ss_size = 512;
  CHECK_ERRNO(syscall(SYS_sigaltstack, &stack, nullptr), ENOMEM);
  stack.ss_size = sizeof other_stack;
  stack.ss_flags = 0x40;
  CHECK_ERRNO(syscall(SYS_sigaltstack, &stack, nullptr), EINVAL);
  stack.ss_flags = 0;
  CHECK_EQ(sigaltstack(&stack, nullptr), 0);

  on(SIGUSR1, note_stack, SA_ONSTACK);
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK(on_other_stack(handler_frame));
  CHECK_EQ(handler_stack_flags, SS_ONSTACK);
  stack_t now{};
  CHECK_EQ(sigaltstack(nullptr, &now), 0);
  CHECK_EQ(now.ss_flags, 0);
  CHECK(now.ss_sp == other_stack && now.ss_size == sizeof other_stack);

  on(SIGUSR1, [](int) { handler_frame = __builtin_frame_address(0); });
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK(!on_other_stack(handler_frame));

    // Where the ordinary stack has ended, only the other one can help.
  on_info(
      SIGSEGV,
      [](int, siginfo_t*, void*) {
        handler_frame = __builtin_frame_address(0);
        siglongjmp(out_of_overflow, 1);
      },
      SA_ONSTACK);
  if (sigsetjmp(out_of_overflow, 1) == 0) { CHECK_EQ(endless(0), -1); }
  CHECK(on_other_stack(handler_frame));
  CHECK(!blocked(SIGSEGV));
  expect_killed(SIGSEGV, [] {
    on_info(SIGSEGV, [](int, siginfo_t*, void*) { _exit(0); });  // has no stack to run on
    return endless(0);
  });

  stack.ss_flags = SS_DISABLE;
  CHECK_EQ(sigaltstack(&stack, nullptr), 0);
}

// Faults of the processor, which the handler mends by moving the instruction pointer on.

volatile uintptr_t fault_ip;
volatile int skip_bytes;

void skip_instruction(int, siginfo_t* info, void* context) {
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  last_info = *info;
  handled = handled + 1;
  fault_ip = static_cast<uintptr_t>(registers[REG_RIP]);
  registers[REG_RIP] += skip_bytes;
  registers[REG_RAX] = 0x1234567;
}

template <typename Fault>
void expect_fault(int signal, int code, int bytes, Fault fault) {
  on_info(signal, skip_instruction);
  handled = 0;
  skip_bytes = bytes;
  CHECK_EQ(fault(), 0x1234567);
  CHECK_EQ(handled, 1);
  CHECK_EQ(last_info.si_signo, signal);
  CHECK_EQ(last_info.si_code, code);
  on(signal, SIG_DFL);
}

void test_faults() {
  expect_fault(SIGFPE, FPE_INTDIV, 2, [] {
    uint64_t result = 1;
    uint32_t high = 0;
    asm volatile("divl %2" : "+a"(result), "+d"(high) : "r"(0));
    return result;
  });
  CHECK(reinterpret_cast<uintptr_t>(last_info.si_addr) == fault_ip);
  expect_fault(SIGILL, ILL_ILLOPN, 2, [] {
    uint64_t result = 1;
    asm volatile("ud2" : "+a"(result));
    return result;
  });
  CHECK(reinterpret_cast<uintptr_t>(last_info.si_addr) == fault_ip);
  expect_fault(SIGSEGV, SEGV_MAPERR, 3, [] {
    uint64_t result = 1;
    asm volatile("mov (%1), %0" : "+a"(result) : "c"(0x100l));
    return result;
  });
  CHECK_EQ(reinterpret_cast<uintptr_t>(last_info.si_addr), 0x100);
  expect_fault(SIGTRAP, 128 /* SI_KERNEL */, 0, [] {
    uint64_t result = 1;
    asm volatile("int3" : "+a"(result));
    return result;
  });
    // Non-canonical: no page fault, but a protection fault without an address.
  expect_fault(SIGSEGV, 128, 3, [] {
    uint64_t result = 1;
    asm volatile("mov (%1), %0" : "+a"(result) : "c"(0x4141000000000000));
    return result;
  });
    // x87 with its exceptions unmasked: reported at the next waiting instruction. (SSE's are not tried, because not
    // every emulator raises them.)
  expect_fault(SIGFPE, FPE_FLTDIV, 1, [] {
    uint64_t result = 1;
    const uint16_t unmasked = 0x37f & ~4u;
    asm volatile("fninit\n\tfldcw %1\n\tfld1\n\tfldz\n\tfdivrp\n\tfwait\n\tfninit" : "+a"(result) : "m"(unmasked));
    return result;
  });
    // Not mended: the default action ends the process, whether ignored or blocked.
  using Flags = const bool[];
  for (const bool ignored : Flags{true, false}) {
    expect_killed(SIGSEGV, [ignored] {
      const sigset_t set = only(SIGSEGV);
      if (ignored) {
        signal(SIGSEGV, SIG_IGN);
      } else {
        on(SIGSEGV, count_signal);
        sigprocmask(SIG_BLOCK, &set, nullptr);
      }
      *check_address(0x100) = 1;
      return 0;
    });
  }
}

}  // namespace

// Registers across a signal. signal_round(in, out, pid, tid, signal, spins): loads general registers, flags, SSE and
// x87 state, writes the red zone, sends the signal to its own thread if signal is not 0, spins, stores everything.
struct Everything {
  alignas(16) uint8_t vector[16][16];  // 0
  uint8_t x87[8][16];                  // 256, 10 bytes used of each
  uint64_t general[8];                 // 384: rbx rbp r8 r9 r12 r13 r14 r15
  uint64_t red_zone[2];                // 448
  uint64_t flags;                      // 464
  uint32_t mxcsr;                      // 472
  uint32_t control_word;               // 476
};
static_assert(sizeof(Everything) == 480);

asm(".pushsection .text\n.globl signal_round\n.type signal_round, @function\nsignal_round:\n"
    "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n  push %rsi\n  push %r9\n"
    "  sub $16, %rsp\n  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
    "  mov %rdi, %r10\n"  // in
    "  push %rcx\n  push %rdx\n  push %r8\n"
    "  fninit\n  .set i, 0\n  .rept 8\n  fldt 256+16*i(%r10)\n  .set i, i+1\n  .endr\n"
    "  fldcw 476(%r10)\n  ldmxcsr 472(%r10)\n"
    "  .irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n  movups 16*\\r(%r10), %xmm\\r\n  .endr\n"
    "  pop %rdx\n  pop %rdi\n  pop %rsi\n"  // signal, pid, tid
    "  mov 384(%r10), %rbx\n  mov 392(%r10), %rbp\n  mov 400(%r10), %r8\n  mov 408(%r10), %r9\n"
    "  mov 416(%r10), %r12\n  mov 424(%r10), %r13\n  mov 432(%r10), %r14\n  mov 440(%r10), %r15\n"
    "  mov 448(%r10), %rax\n  mov %rax, -128(%rsp)\n  mov 456(%r10), %rax\n  mov %rax, -8(%rsp)\n"
    // The red zone is in use: flags go through a pointer well above it, by moving the stack for a moment.
    "  lea -256(%rsp), %rsp\n  pushq 464(%r10)\n  popfq\n  lea 256(%rsp), %rsp\n"
    "  mov $234, %eax\n  cmp $0, %edx\n  je 1f\n"
    "  lea -256(%rsp), %rsp\n  pushq 464(%r10)\n  popfq\n  lea 256(%rsp), %rsp\n"
    "  syscall\n  jmp 3f\n"
    "1: mov 16(%rsp), %rcx\n"
    "  lea -256(%rsp), %rsp\n  pushq 464(%r10)\n  popfq\n  lea 256(%rsp), %rsp\n"
    "2: lea -1(%rcx), %rcx\n  jrcxz 3f\n  jmp 2b\n"
    "3: mov 24(%rsp), %r11\n"  // out
    "  lea -256(%rsp), %rsp\n  pushfq\n  popq 464(%r11)\n  lea 256(%rsp), %rsp\n  cld\n"
    "  .irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n  movups %xmm\\r, 16*\\r(%r11)\n  .endr\n"
    "  stmxcsr 472(%r11)\n  movl $0, 476(%r11)\n  fnstcw 476(%r11)\n"
    "  .set i, 7\n  .rept 8\n  fstpt 256+16*i(%r11)\n  .set i, i-1\n  .endr\n"
    "  mov %rbx, 384(%r11)\n  mov %rbp, 392(%r11)\n  mov %r8, 400(%r11)\n  mov %r9, 408(%r11)\n"
    "  mov %r12, 416(%r11)\n  mov %r13, 424(%r11)\n  mov %r14, 432(%r11)\n  mov %r15, 440(%r11)\n"
    "  mov -128(%rsp), %rax\n  mov %rax, 448(%r11)\n  mov -8(%rsp), %rax\n  mov %rax, 456(%r11)\n"
    "  fninit\n  ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n"
    "  add $16, %rsp\n  pop %r9\n  pop %rsi\n  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbp\n  pop %rbx\n"
    "  ret\n.size signal_round, .-signal_round\n.popsection\n");

extern "C" void signal_round(const Everything* in, Everything* out, long pid, long tid, long signal, long spins);

namespace {

constexpr uint64_t direction_flag = 0x400;
volatile uint32_t handler_mxcsr;
volatile uint32_t handler_control_word;
volatile uint64_t handler_flags;

// Leaves nothing as it was.
void spoil_registers(int) {
  uint32_t mxcsr = 0;
  uint16_t control_word = 0;
  asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(control_word));
  handler_mxcsr = mxcsr;
  handler_control_word = control_word;
  handler_flags = check_flags();
  const uint32_t odd_mxcsr = 0x7f80;
  const uint16_t odd_control_word = 0xc7f;
  asm volatile(
      "fninit\n\tfld1\n\tfldpi\n\tldmxcsr %0\n\tfldcw %1\n\t"
      ".irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n\tpcmpeqd %%xmm\\r, %%xmm\\r\n\t.endr"
      :
      : "m"(odd_mxcsr), "m"(odd_control_word)
      : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15", "rbx", "r12", "r13", "r14", "r15");
  handled = handled + 1;
}

Everything distinct(unsigned seed) {
  Everything all{};
  auto* bytes = reinterpret_cast<uint8_t*>(&all);
  for (size_t index = 0; index < sizeof all; ++index) {
    seed = seed * 1664525 + 1013904223;
    bytes[index] = static_cast<uint8_t>(seed >> 24);
  }
  for (auto& reg : all.x87) {
    reg[7] |= 0x80;  // a normal number
    reg[8] = 0x12;
    reg[9] = 0x34;
    memset(reg + 10, 0, 6);
  }
  all.flags = 0x246 | direction_flag;
  all.flags |= 0x881;  // overflow, sign, carry
  all.flags &= ~uint64_t{0x40};
  all.mxcsr = 0x3fa5;
  all.control_word = 0x27f;
  return all;
}

void compare(const Everything& in, const Everything& out) {
  for (int reg = 0; reg < 16; ++reg) { CHECK(memcmp(in.vector[reg], out.vector[reg], 16) == 0); }
  for (int reg = 0; reg < 8; ++reg) {
    CHECK(memcmp(in.x87[reg], out.x87[reg], 10) == 0);
    CHECK_EQ(out.general[reg], in.general[reg]);
  }
  CHECK_EQ(out.red_zone[0], in.red_zone[0]);
  CHECK_EQ(out.red_zone[1], in.red_zone[1]);
  CHECK_EQ(out.flags & 0xcd5, in.flags & 0xcd5);
  CHECK_EQ(out.mxcsr, in.mxcsr);
  CHECK_EQ(out.control_word, in.control_word);
}

void test_registers() {
  on(SIGUSR1, spoil_registers);
  for (unsigned round = 0; round < 50 * static_cast<unsigned>(check_effort); ++round) {
    const Everything in = distinct(round);
    Everything out{};
    handled = 0;
    signal_round(&in, &out, getpid(), thread_number(), SIGUSR1, 0);
    CHECK_EQ(handled, 1);
    compare(in, out);
        // A handler starts with clean controls.
    CHECK_EQ(handler_mxcsr, 0x1f80);
    CHECK_EQ(handler_control_word, 0x37f);
    CHECK_EQ(handler_flags & direction_flag, 0);
  }

    // Now at any instruction: another thread sends while this one computes.
  static volatile bool stop;
  static pthread_t target;
  stop = false;
  target = pthread_self();
  pthread_t sender{};
  CHECK_EQ(pthread_create(
               &sender, nullptr,
               [](void*) -> void* {
                 while (!stop) {
                   pthread_kill(target, SIGUSR1);
                   check_sleep_us(50);
                 }
                 return nullptr;
               },
               nullptr),
           0);
  handled = 0;
  const int64_t end = check_now_ns() + 150000000 * check_effort;
  for (unsigned round = 0; check_now_ns() < end || handled < 10; ++round) {
    const Everything in = distinct(round);
    Everything out{};
    signal_round(&in, &out, getpid(), thread_number(), 0, 20000);
    compare(in, out);
  }
  stop = true;
  CHECK_EQ(pthread_join(sender, nullptr), 0);
  on(SIGUSR1, count_signal);
}

// Threads.

thread_local volatile int handled_here;

void count_here(int) {
  handled_here = handled_here + 1;
}

void test_threads() {
  constexpr int count = 8;
  const int signals = static_cast<int>(100 * check_effort);
  static int acknowledged[count];
  static int wanted;
  wanted = signals;
  static volatile bool stop;
  stop = false;
  on(SIGUSR2, count_here);
  struct Member {
    pthread_t thread;
    int index;
    pid_t number;
  };
  static Member members[count];
  for (int index = 0; index < count; ++index) {
    acknowledged[index] = 0;
    members[index] = {{}, index, 0};
    CHECK_EQ(pthread_create(
                 &members[index].thread, nullptr,
                 [](void* argument) -> void* {
                   auto& self = *static_cast<Member*>(argument);
                   __atomic_store_n(&self.number, thread_number(), __ATOMIC_SEQ_CST);
                         // Some compute, some sleep.
                   while (!stop) {
                     __atomic_store_n(&acknowledged[self.index], handled_here, __ATOMIC_SEQ_CST);
                     if (self.index % 2 == 0) {
                       check_spin(300);
                     } else {
                       const timespec moment = {0, 100000};
                       nanosleep(&moment, nullptr);
                     }
                   }
                   CHECK_EQ(handled_here, wanted);
                   return nullptr;
                 },
                 &members[index]),
             0);
  }
    // Each signal arrives at its thread, and at no other: the next one goes when the last was seen.
  for (int turn = 1; turn <= signals; ++turn) {
    for (auto& member : members) {
      while (__atomic_load_n(&member.number, __ATOMIC_SEQ_CST) == 0) { check_sleep_us(100); }
      if (turn % 2 == 0) {
        CHECK_EQ(pthread_kill(member.thread, SIGUSR2), 0);
      } else {
        CHECK_EQ(syscall(SYS_tgkill, getpid(), member.number, SIGUSR2), 0);
      }
    }
    for (int index = 0; index < count; ++index) {
      for (int tries = 0; __atomic_load_n(&acknowledged[index], __ATOMIC_SEQ_CST) < turn; ++tries) {
        CHECK(tries < 40000);
        check_sleep_us(100);
      }
      CHECK_EQ(__atomic_load_n(&acknowledged[index], __ATOMIC_SEQ_CST), turn);
    }
  }
  CHECK_EQ(handled_here, 0);

    // A signal to the process goes to a thread that does not block it.
  const sigset_t set = only(SIGUSR2);
  CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
  wanted = signals;  // their own count stays: this one is counted elsewhere
  static volatile sig_atomic_t elsewhere;
  on(SIGUSR2, [](int) { elsewhere = elsewhere + 1; });
  CHECK_EQ(kill(getpid(), SIGUSR2), 0);
  for (int tries = 0; elsewhere == 0; ++tries) {
    CHECK(tries < 40000);
    check_sleep_us(100);
  }
  CHECK(!pending(SIGUSR2));
  stop = true;
  for (const auto& member : members) { CHECK_EQ(pthread_join(member.thread, nullptr), 0); }
  CHECK_EQ(elsewhere, 1);
    // Now all that is left blocks it: it waits for the process.
  CHECK_EQ(kill(getpid(), SIGUSR2), 0);
  CHECK(pending(SIGUSR2));
  CHECK_EQ(pthread_sigmask(SIG_UNBLOCK, &set, nullptr), 0);
  CHECK_EQ(elsewhere, 2);

    // A deadly signal to one thread ends the process.
  expect_killed(SIGTERM, [] {
    pthread_t thread{};
    pthread_create(
        &thread, nullptr,
        [](void*) -> void* {
          for (;;) { pause(); }
        },
        nullptr);
    pthread_kill(thread, SIGTERM);
    for (;;) { pause(); }
    return 0;
  });
}

// Leaving a handler by a jump restores the mask that was saved.
void test_jump() {
  static sigjmp_buf place;
  on(SIGUSR1, [](int) { siglongjmp(place, 5); });
  for (int turn = 0; turn < 20; ++turn) {
    const int from = sigsetjmp(place, 1);
    if (from == 0) {
      raise(SIGUSR1);
      CHECK(!"reached");
    }
    CHECK_EQ(from, 5);
    CHECK(!blocked(SIGUSR1));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("signaltest", argc, argv);
  test_information();
  test_defaults();
  test_masks_in_handlers();
  test_blocking();
  test_interrupted_calls();
  test_alternate_stack();
  test_faults();
  test_registers();
  test_threads();
  test_jump();
  test_queue();
  return check_done();
}

// Where handlers run and what brings them: the alternate stack, the faults of the processor (divide, illegal instruction,
// memory, floating point), and leaving a handler by a jump.

#include "tests/signals.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>

namespace {

using namespace signals;

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
  check_begin("signalfaults", argc, argv);
  test_alternate_stack();
  test_faults();
  test_jump();
  return check_done();
}

// What a signal leaves on the stack and what may be done with it: the frame's form (marked floating-point image, saved alternate
// stack), stacks that disarm themselves or are too small, and frames that a program has spoiled: they end in SIGSEGV or in
// harmless registers, never in anything else.

#include "tests/signals.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

using namespace signals;

namespace {

constexpr unsigned auto_disarm = 1u << 31;
constexpr unsigned first_mark = 0x46505853, last_mark = 0x46505845;

struct Mark {
  unsigned magic, whole_size;
  unsigned long components;
  unsigned image_size, padding[7];
};

char* image_of(void* context) {
  return reinterpret_cast<char*>(static_cast<ucontext_t*>(context)->uc_mcontext.fpregs);
}

Mark* mark_of(void* context) {
  return reinterpret_cast<Mark*>(image_of(context) + 464);
}

void test_marks() {
  static Mark mark;
  static unsigned end;
  static uintptr_t place;
  on_info(SIGUSR1, [](int, siginfo_t*, void* context) {
    mark = *mark_of(context);
    place = reinterpret_cast<uintptr_t>(image_of(context));
    if (mark.magic == first_mark) { memcpy(&end, image_of(context) + mark.image_size, sizeof end); }
  });
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK_EQ(place % 64, 0);
  if (mark.magic != first_mark) { return; }  // a processor without XSAVE
  CHECK_EQ(end, last_mark);
  CHECK(mark.image_size >= 576 && mark.whole_size == mark.image_size + 4);
  CHECK_EQ(mark.components & 3, 3);
}

// What a handler changes in the frame is what the interrupted code finds.
void test_changed_registers() {
  static void (*change)(void*);
  on_info(SIGUSR1, [](int, siginfo_t*, void* context) { change(context); });
  // xmm7 before and after, MXCSR after.
  const auto round = [](uint64_t before, uint32_t& mxcsr) {
    uint64_t after = 0;
    const pid_t self = getpid();
    asm volatile(
        "movq %2, %%xmm7\n\tmov %3, %%edi\n\tmov %4, %%esi\n\tmov $62, %%eax\n\tsyscall\n\t"
        "movq %%xmm7, %0\n\tstmxcsr %1"
        : "=r"(after), "=m"(mxcsr)
        : "r"(before), "r"(self), "r"(SIGUSR1)
        : "rax", "rcx", "r11", "rdi", "rsi", "xmm7", "memory");
    return after;
  };
  uint32_t mxcsr = 0;
  change = [](void*) {};
  CHECK_EQ(round(0x1234, mxcsr), 0x1234);
  change = [](void* context) {  // xmm7 is at 160 + 7 * 16 in the image
    const uint64_t value = 0x8765;
    memcpy(image_of(context) + 160 + 7 * 16, &value, sizeof value);
  };
  CHECK_EQ(round(0x1234, mxcsr), 0x8765);
  change = [](void* context) {  // without the mark the first 512 bytes count
    mark_of(context)->magic = 0;
    const uint64_t value = 0x4321;
    memcpy(image_of(context) + 160 + 7 * 16, &value, sizeof value);
  };
  CHECK_EQ(round(0x1234, mxcsr), 0x4321);
  change = [](void* context) {  // as without the mark
    if (mark_of(context)->magic != 0) { image_of(context)[mark_of(context)->image_size] ^= 1; }
  };
  CHECK_EQ(round(0x77, mxcsr), 0x77);
  change = [](void* context) { static_cast<ucontext_t*>(context)->uc_mcontext.fpregs = nullptr; };
  CHECK_EQ(round(0x1234, mxcsr), 0);  // the initial state
  CHECK_EQ(mxcsr, 0x1f80);
}

void test_hostile_frames() {
  static void (*spoil)(void*);
  on_info(SIGUSR1, [](int, siginfo_t*, void* context) { spoil(context); });
  using Spoil = void (*)(void*);
  const Spoil fatal[] = {
      [](void* context) { static_cast<ucontext_t*>(context)->uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(0x40); },
      [](void* context) {
        static_cast<ucontext_t*>(context)->uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(0xffff800000000000);
      },
      [](void* context) { memset(image_of(context) + 24, 0xff, 4); },  // MXCSR
      [](void* context) { static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] = 0x10; },
      [](void* context) { static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] = 0x8000000000000000; },
      [](void* context) {  // XSTATE_BV: a component that no processor has
        if (mark_of(context)->magic == 0) { _exit(0); }
        image_of(context)[519] |= 0x40;
      },
      [](void* context) {  // a compacted image
        if (mark_of(context)->magic == 0) { _exit(0); }
        image_of(context)[527] = static_cast<char>(0x80);
      },
  };
  int number = 0;
  for (const Spoil spoiler : fatal) {
    spoil = spoiler;
    const int status = status_of_child([] {
      raise(SIGUSR1);
      return 1;
    });
    if (status != 0 && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)) { fprintf(stderr, "frame %d\n", number); }
    CHECK(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV));
    ++number;
  }
  // No frame at all.
  expect_killed(SIGSEGV, [] {
    asm volatile("mov $64, %%rsp\n\tmov $15, %%eax\n\tsyscall" : : : "memory");
    return 1;
  });
  // Flags that a program may not have: they stay as they are.
  spoil = [](void* context) { static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] |= 0x3000 | 0x100000; };
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK_EQ(check_flags() & 0x3000, 0);
  on(SIGUSR1, SIG_DFL);
}

// Every byte of the frame changed once: the child ends somehow, the machine goes on.
void test_random_frames() {
  static unsigned seed;
  on_info(SIGUSR1, [](int, siginfo_t*, void* context) {
    auto* bytes = static_cast<unsigned char*>(context);
    auto* image = reinterpret_cast<unsigned char*>(image_of(context));
    for (int change = 0; change < 4; ++change) {
      seed = seed * 1664525 + 1013904223;
      const unsigned at = (seed >> 8) % 1500;
      (at < 304 ? bytes[at] : image[at - 304]) ^= static_cast<unsigned char>(seed >> 24 | 1);
    }
  });
  for (unsigned turn = 0; turn < 60 * static_cast<unsigned>(check_effort); ++turn) {
    seed = turn * 7919;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(2);  // it may loop for ever
      raise(SIGUSR1);
      _exit(0);
    }
    CHECK_EQ(waitpid(child, nullptr, 0), child);
  }
  on(SIGUSR1, SIG_DFL);
}

alignas(16) char other_stack[32768];

bool on_other_stack(const void* address) {
  return address >= other_stack && address < other_stack + sizeof other_stack;
}

void test_auto_disarm() {
  stack_t stack{};
  stack.ss_sp = other_stack;
  stack.ss_size = sizeof other_stack;
  stack.ss_flags = static_cast<int>(auto_disarm);
  CHECK_EQ(sigaltstack(&stack, nullptr), 0);
  static bool there;
  static stack_t inside;
  on(
      SIGUSR1,
      [](int) {
        there = on_other_stack(__builtin_frame_address(0));
        CHECK_EQ(sigaltstack(nullptr, &inside), 0);
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        CHECK_EQ(sigaltstack(&none, nullptr), 0);  // allowed: it is not in use any more
      },
      SA_ONSTACK);
  CHECK_EQ(raise(SIGUSR1), 0);
  CHECK(there);
  CHECK_EQ(inside.ss_flags, SS_DISABLE);
  stack_t after{};
  CHECK_EQ(sigaltstack(nullptr, &after), 0);
  CHECK_EQ(static_cast<unsigned>(after.ss_flags), auto_disarm);  // put back from the frame
  CHECK(after.ss_sp == other_stack && after.ss_size == sizeof other_stack);
  stack.ss_flags = SS_DISABLE;
  CHECK_EQ(sigaltstack(&stack, nullptr), 0);
  CHECK_ERRNO(syscall(SYS_sigaltstack, 16, nullptr), EFAULT);
  CHECK_ERRNO(syscall(SYS_sigaltstack, nullptr, 16), EFAULT);
}

// A frame that would not fit on the alternate stack is not put beside it.
void test_small_alternate_stack() {
  expect_killed(SIGSEGV, [] {
    // 2048 bytes pass the check of sigaltstack; handlers nest until they are used up.
    stack_t stack{};
    stack.ss_sp = other_stack + 16384;
    stack.ss_size = 8192;
    CHECK_EQ(sigaltstack(&stack, nullptr), 0);
    on(SIGUSR1, [](int) { raise(SIGUSR1); }, SA_ONSTACK | static_cast<int>(SA_NODEFER));
    raise(SIGUSR1);
    return 1;
  });
}

sigjmp_buf back;

// A handler that cannot be called for want of a stack: the handler of SIGSEGV is told, if it has one.
void test_no_stack() {
  stack_t stack{};
  stack.ss_sp = other_stack;
  stack.ss_size = sizeof other_stack;
  CHECK_EQ(sigaltstack(&stack, nullptr), 0);
  on_info(
      SIGSEGV,
      [](int, siginfo_t* info, void*) {
        last_info = *info;
        siglongjmp(back, 1);
      },
      SA_ONSTACK);
  on(SIGUSR1, count_signal);
  handled = 0;
  if (sigsetjmp(back, 1) == 0) {
    const pid_t self = getpid();
    asm volatile("mov %0, %%edi\n\tmov %1, %%esi\n\tmov $62, %%eax\n\tmov $0x1000, %%rsp\n\tsyscall\n\tud2"
                 :
                 : "r"(self), "r"(SIGUSR1)
                 : "rdi", "rsi", "rax", "rcx", "r11", "memory");
  }
  CHECK_EQ(handled, 0);
  CHECK_EQ(last_info.si_signo, SIGSEGV);
  CHECK_EQ(last_info.si_code, SI_KERNEL);
  on(SIGSEGV, SIG_DFL);
  stack.ss_flags = SS_DISABLE;
  CHECK_EQ(sigaltstack(&stack, nullptr), 0);
}

// Without SA_RESTORER there is no way back, so there is no way there; flags that nobody knows are forgotten.
void test_flags() {
  struct {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)();
    unsigned long mask;
  } action{count_signal, 0x400, nullptr, 0}, old{};
  CHECK_EQ(syscall(SYS_rt_sigaction, SIGUSR1, &action, nullptr, 8), 0);
  CHECK_EQ(syscall(SYS_rt_sigaction, SIGUSR1, nullptr, &old, 8), 0);
  CHECK_EQ(old.flags, 0);
  expect_killed(SIGSEGV, [] {
    raise(SIGUSR1);
    return 1;
  });
  action.flags = 0xdc000807;
  CHECK_EQ(syscall(SYS_rt_sigaction, SIGUSR1, &action, nullptr, 8), 0);
  CHECK_EQ(syscall(SYS_rt_sigaction, SIGUSR1, nullptr, &old, 8), 0);
  CHECK_EQ(old.flags, 0xdc000807);
  on(SIGUSR1, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("signalframe", argc, argv);
  test_marks();
  test_changed_registers();
  test_hostile_frames();
  test_random_frames();
  test_auto_disarm();
  test_small_alternate_stack();
  test_no_stack();
  test_flags();
  return check_done();
}

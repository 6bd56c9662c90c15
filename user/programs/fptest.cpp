// fptest: does floating-point state survive context switches? Several threads each load values of their own into all
// sixteen XMM registers (YMM with AVX), the eight x87 registers, MXCSR and the x87 control word, let time pass, by
// spinning (preemption) or in a system call (a switch in the kernel), and compare every bit. Prints "fptest: ok" or
// the first register that changed. Also: the state that a program starts with, and that threads and forks inherit it.

#include <cpuid.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr int max_threads = 256;
constexpr uint32_t default_mxcsr = 0x1f80;       // all exceptions masked, round to nearest
constexpr uint16_t default_control_word = 0x37f;  // the same, 64-bit precision

// Everything that is compared. The assembly below knows the offsets.
struct FpState {
  alignas(32) uint8_t vector[16][32];
  uint8_t x87[8][16];  // 10 bytes used of each
  uint32_t mxcsr;
  uint32_t control_word;
};
static_assert(offsetof(FpState, x87) == 512 && offsetof(FpState, mxcsr) == 640);
static_assert(offsetof(FpState, control_word) == 644);

// What passes the time while the registers are loaded.
struct Wait {
  int64_t call;  // system call number, or -1: none
  int64_t arguments[2];
  int64_t spins;
};

}  // namespace

// void fp_round_{sse,avx}(const FpState* in, FpState* out, const Wait* wait): load, wait, store; restores the caller's
// control words. Whole in assembly, so that the compiler has no say in what the registers hold.
#define FP_ROUND(name, move, width, leave)                                                \
  asm(".pushsection .text\n.globl " name "\n.type " name ", @function\n" name             \
      ":\n"                                                                               \
      "  push %rbx\n  push %rbp\n  push %r12\n  sub $16, %rsp\n"                          \
      "  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"                                              \
      "  mov %rsi, %rbx\n  mov %rdx, %rbp\n"                                              \
      "  fninit\n"                                                                        \
      "  .set i, 0\n  .rept 8\n  fldt 512+16*i(%rdi)\n  .set i, i+1\n  .endr\n"           \
      "  fldcw 644(%rdi)\n  ldmxcsr 640(%rdi)\n"                                          \
      "  .irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n  " move " 32*\\r(%rdi), %" width \
      "\\r\n  .endr\n"                                                                    \
      "  mov (%rbp), %rax\n  test %rax, %rax\n  js 1f\n"                                  \
      "  mov 8(%rbp), %rdi\n  mov 16(%rbp), %rsi\n  syscall\n"                            \
      "1: mov 24(%rbp), %rcx\n  test %rcx, %rcx\n  jz 3f\n"                               \
      "2: dec %rcx\n  jnz 2b\n"                                                           \
      "3:\n"                                                                              \
      "  .irp r, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n  " move " %" width               \
      "\\r, 32*\\r(%rbx)\n  .endr\n"                                                      \
      "  stmxcsr 640(%rbx)\n  movl $0, 644(%rbx)\n  fnstcw 644(%rbx)\n"                   \
      "  .set i, 7\n  .rept 8\n  fstpt 512+16*i(%rbx)\n  .set i, i-1\n  .endr\n"          \
      "  " leave                                                                          \
      "\n  fninit\n  ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n"                                   \
      "  add $16, %rsp\n  pop %r12\n  pop %rbp\n  pop %rbx\n  ret\n"                      \
      ".size " name ", .-" name "\n.popsection\n")

extern "C" {
void fp_round_sse(const FpState* in, FpState* out, const Wait* wait);
void fp_round_avx(const FpState* in, FpState* out, const Wait* wait);
}

FP_ROUND("fp_round_sse", "movups", "xmm", "nop");
FP_ROUND("fp_round_avx", "vmovups", "ymm", "vzeroupper");

namespace {

int vector_bytes = 16;
volatile bool stop = false;

struct Thread {
  pthread_t thread;
  int index;
  uint64_t rounds;
};
Thread threads[max_threads];

uint64_t next_random(uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t value = state;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

bool has_avx() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0 || (c & bit_AVX) == 0) { return false; }
  unsigned low = 0;
  unsigned high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & 6) == 6;
}

uint32_t read_mxcsr() {
  uint32_t value = 0;
  asm volatile("stmxcsr %0" : "=m"(value));
  return value;
}

uint16_t read_control_word() {
  uint16_t value = 0;
  asm volatile("fnstcw %0" : "=m"(value));
  return value;
}

void set_controls(uint32_t mxcsr, uint16_t control_word) {
  asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(control_word));
}

[[noreturn]] void fail(const char* text) {
  fprintf(stderr, "fptest: FAILED: %s\n", text);
  _exit(1);
}

// New values for every register. Each vector register's first bytes name thread and register, for the message.
void fill(FpState& state, uint64_t& random, int thread) {
  for (int reg = 0; reg < 16; ++reg) {
    for (int at = 0; at < 32; at += 8) {
      const uint64_t value = next_random(random);
      memcpy(state.vector[reg] + at, &value, sizeof value);
    }
    state.vector[reg][0] = static_cast<uint8_t>(thread);
    state.vector[reg][1] = static_cast<uint8_t>(reg);
  }
  for (int reg = 0; reg < 8; ++reg) {
        // A normal number: explicit integer bit, an exponent from the middle.
    const uint64_t mantissa = next_random(random) | (1ull << 63);
    const uint16_t exponent = static_cast<uint16_t>(0x3000 + (next_random(random) & 0x1fff));
    memset(state.x87[reg], 0, sizeof state.x87[reg]);
    memcpy(state.x87[reg], &mantissa, sizeof mantissa);
    memcpy(state.x87[reg] + 8, &exponent, sizeof exponent);
  }
    // Exceptions stay masked; rounding, flush-to-zero and the sticky flags vary.
  const uint64_t bits = next_random(random);
  state.mxcsr = default_mxcsr | static_cast<uint32_t>(bits & 0x3f) | static_cast<uint32_t>((bits >> 8) & 7) << 13;
  static constexpr uint16_t precisions[] = {0x000, 0x200, 0x300};
  state.control_word = 0x7fu | precisions[(bits >> 16) % 3] | static_cast<uint32_t>((bits >> 24) & 3) << 10;
}

void show(const char* name, int reg, const uint8_t* expected, const uint8_t* got, int bytes, int thread, uint64_t round) {
  char text[256];
  int length =
      snprintf(text, sizeof text, "thread %d, round %llu: %s%d is ", thread, static_cast<unsigned long long>(round), name, reg);
  for (int at = bytes - 1; at >= 0; --at) {
    length += snprintf(text + length, sizeof text - static_cast<size_t>(length), "%02x", got[at]);
  }
  length += snprintf(text + length, sizeof text - static_cast<size_t>(length), ", not ");
  for (int at = bytes - 1; at >= 0; --at) {
    length += snprintf(text + length, sizeof text - static_cast<size_t>(length), "%02x", expected[at]);
  }
  fail(text);
}

void compare(const FpState& in, const FpState& out, int thread, uint64_t round) {
  for (int reg = 0; reg < 16; ++reg) {
    if (memcmp(in.vector[reg], out.vector[reg], static_cast<size_t>(vector_bytes)) != 0) {
      show(vector_bytes == 32 ? "ymm" : "xmm", reg, in.vector[reg], out.vector[reg], vector_bytes, thread, round);
    }
  }
  for (int reg = 0; reg < 8; ++reg) {
    if (memcmp(in.x87[reg], out.x87[reg], 10) != 0) {
      show("x87 register ", 7 - reg, in.x87[reg], out.x87[reg], 10, thread, round);
    }
  }
  char text[128];
  if (in.mxcsr != out.mxcsr) {
    snprintf(text, sizeof text, "thread %d, round %llu: mxcsr is %08x, not %08x", thread,
             static_cast<unsigned long long>(round), out.mxcsr, in.mxcsr);
    fail(text);
  }
  if (in.control_word != out.control_word) {
    snprintf(text, sizeof text, "thread %d, round %llu: x87 control word is %04x, not %04x", thread,
             static_cast<unsigned long long>(round), out.control_word, in.control_word);
    fail(text);
  }
}

void* exercise(void* argument) {
  auto& self = *static_cast<Thread*>(argument);
  uint64_t random = static_cast<uint64_t>(self.index) * 7919 + 1;
  const timespec microseconds = {0, 50000};
  FpState in{};
  FpState out{};
  while (!stop) {
    fill(in, random, self.index);
    memset(&out, 0xa5, sizeof out);
    Wait wait = {-1, {0, 0}, 0};
    switch (next_random(random) % 4) {
      case 0: wait.call = SYS_sched_yield; break;
      case 1:
        wait.call = SYS_nanosleep;
        wait.arguments[0] = reinterpret_cast<int64_t>(&microseconds);
        break;
      default: wait.spins = static_cast<int64_t>(next_random(random) % 2000000); break;
    }
    if (vector_bytes == 32) {
      fp_round_avx(&in, &out, &wait);
    } else {
      fp_round_sse(&in, &out, &wait);
    }
    ++self.rounds;
    compare(in, out, self.index, self.rounds);
  }
  return nullptr;
}

void* controls_of_thread(void*) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(read_mxcsr()) << 16 | read_control_word());
}

// A program starts with the default controls; what a thread or a forked process starts with is its creator's.
void check_start() {
  if (read_mxcsr() != default_mxcsr || read_control_word() != default_control_word) {
    fail("the program did not start with the default MXCSR and x87 control word");
  }
  constexpr uint32_t mxcsr = default_mxcsr | 0x4000;              // round up
  constexpr uint16_t control_word = 0x27f | 0x400;                // 53 bits, round down
  set_controls(mxcsr, control_word);
  pthread_t thread{};
  void* seen = nullptr;
  if (pthread_create(&thread, nullptr, controls_of_thread, nullptr) != 0 || pthread_join(thread, &seen) != 0) {
    fail("cannot create a thread");
  }
  const pid_t child = fork();
  if (child == 0) { _exit(read_mxcsr() == mxcsr && read_control_word() == control_word ? 0 : 1); }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) { fail("cannot fork"); }
  set_controls(default_mxcsr, default_control_word);
  if (seen != reinterpret_cast<void*>(static_cast<uintptr_t>(mxcsr) << 16 | control_word)) {
    fail("a new thread did not inherit MXCSR and x87 control word");
  }
  if (status != 0) { fail("a forked process did not inherit MXCSR and x87 control word"); }
}

int number(const char* text, int limit) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  return *text == '\0' || *end != '\0' || value < 1 || value > limit ? 0 : static_cast<int>(value);
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? number(argv[1], max_threads) : 8;
  const int duration = argc > 2 ? number(argv[2], 86400) : 1;
  if (argc > 3 || count == 0 || duration == 0) {
    fputs("usage: fptest [THREADS [SECONDS]]   1 to 256 threads (default 8), for some seconds (default 1)\n", stderr);
    return 2;
  }
  check_start();
  if (has_avx()) { vector_bytes = 32; }

  for (int index = 0; index < count; ++index) {
    threads[index].index = index;
    const int error = pthread_create(&threads[index].thread, nullptr, exercise, &threads[index]);
    if (error != 0) {
      fprintf(stderr, "fptest: cannot create thread %d: %s\n", index, strerror(error));
      return 1;
    }
  }
  timespec left = {duration, 0};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
  stop = true;
  uint64_t rounds = 0;
  for (int index = 0; index < count; ++index) {
    pthread_join(threads[index].thread, nullptr);
    rounds += threads[index].rounds;
  }
  printf("fptest: %d threads, %llu rounds of 16 %s, 8 x87, MXCSR, control word\nfptest: ok\n", count,
         static_cast<unsigned long long>(rounds), vector_bytes == 32 ? "ymm" : "xmm");
  return 0;
}

// After a handler every register of the interrupted code is as it was, wherever the signal hit; and a handler starts with
// clean controls.

#include "tests/signals.h"

#include <pthread.h>
#include <signal.h>

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

using namespace signals;

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

}  // namespace

int main(int argc, char** argv) {
  check_begin("signalregisters", argc, argv);
  test_registers();
  return check_done();
}

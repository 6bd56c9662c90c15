// System calls that do not exist: -ENOSYS, every other register untouched, and the process goes on.

#include "tests/check.h"

namespace {

// The registers that a system call keeps on Linux x86-64: all but rax (result), rcx and r11 (the instruction's own).
struct Registers {
  uint64_t rax, rbx, rdx, rsi, rdi, rbp, r8, r9, r10, r12, r13, r14, r15;
};

}  // namespace

// void call_with(Registers*): loads them all, makes the call, stores them all.
asm(".pushsection .text\n.globl call_with\n.type call_with, @function\ncall_with:\n"
    "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n  push %rdi\n"
    "  mov %rdi, %rcx\n"
    "  mov 0(%rcx), %rax\n  mov 8(%rcx), %rbx\n  mov 16(%rcx), %rdx\n  mov 24(%rcx), %rsi\n  mov 32(%rcx), %rdi\n"
    "  mov 40(%rcx), %rbp\n  mov 48(%rcx), %r8\n  mov 56(%rcx), %r9\n  mov 64(%rcx), %r10\n  mov 72(%rcx), %r12\n"
    "  mov 80(%rcx), %r13\n  mov 88(%rcx), %r14\n  mov 96(%rcx), %r15\n"
    "  syscall\n"
    "  mov (%rsp), %rcx\n"
    "  mov %rax, 0(%rcx)\n  mov %rbx, 8(%rcx)\n  mov %rdx, 16(%rcx)\n  mov %rsi, 24(%rcx)\n  mov %rdi, 32(%rcx)\n"
    "  mov %rbp, 40(%rcx)\n  mov %r8, 48(%rcx)\n  mov %r9, 56(%rcx)\n  mov %r10, 64(%rcx)\n  mov %r12, 72(%rcx)\n"
    "  mov %r13, 80(%rcx)\n  mov %r14, 88(%rcx)\n  mov %r15, 96(%rcx)\n"
    "  pop %rdi\n  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbp\n  pop %rbx\n  ret\n"
    ".size call_with, .-call_with\n.popsection\n");

extern "C" void call_with(Registers* registers);

namespace {

void expect(uint64_t number, int64_t result) {
  const Registers before = {number, 0x1111, 0x2222, 0x3333, 0x4444, 0x5555, 0x6666,
                            0x7777, 0x8888, 0x9999, 0xaaaa, 0xbbbb, 0xcccc};
  Registers after = before;
  call_with(&after);
  CHECK_EQ(after.rax, result);
  CHECK_EQ(after.rbx, before.rbx);
  CHECK_EQ(after.rdx, before.rdx);
  CHECK_EQ(after.rsi, before.rsi);
  CHECK_EQ(after.rdi, before.rdi);
  CHECK_EQ(after.rbp, before.rbp);
  CHECK_EQ(after.r8, before.r8);
  CHECK_EQ(after.r9, before.r9);
  CHECK_EQ(after.r10, before.r10);
  CHECK_EQ(after.r12, before.r12);
  CHECK_EQ(after.r13, before.r13);
  CHECK_EQ(after.r14, before.r14);
  CHECK_EQ(after.r15, before.r15);
}

}  // namespace

int main(int argc, char** argv) {
  check_begin("syscalls_enosys", argc, argv);
  constexpr uint64_t getpid_number = 39;
  using Calls = const uint64_t[];
  for (long round = 0; round < check_effort; ++round) {
        // Never assigned; far out; and negative.
    for (const uint64_t number : Calls{400, 423, 1023, 99999, 0x7fffffff, ~uint64_t{0}, ~uint64_t{0} - 1}) {
      expect(number, -ENOSYS);
    }
        // A call that exists keeps them as well.
    expect(getpid_number, getpid());
  }
  return check_done();
}

// What the processor and the entry code save of a thread when it enters the kernel (x86-64).
//
// Contract: every architecture has a TrapFrame with these accessors. The entry code writes it straight into the
// Thread (the kernel-entry stack pointer of a core is the end of the current thread's frame), so a thread that
// blocks leaves nothing on the core's kernel stack.
// Source: Intel SDM vol. 3, 6.14 (interrupt stack frame in 64-bit mode); System V ABI AMD64, A.2 (system calls).
#pragma once

#include <cstddef>

#include "lib/types.h"

namespace corral::arch {

struct alignas(16) TrapFrame {
  u64 r15, r14, r13, r12, rbp, rbx, r11, rcx;
  u64 rdi, rsi, rdx, r10, r8, r9;  // arguments of a system call, in order
  u64 rax;
  u64 vector;      // exception or interrupt number; system_call_vector for SYSCALL
  u64 error_code;  // the processor's error code; for a system call its number (Linux: orig_rax)
  u64 rip, cs, rflags, rsp, ss;

  static constexpr u64 system_call_vector = 256;

  [[nodiscard]] bool from_user() const { return (cs & 3) == 3; }
  [[nodiscard]] bool is_system_call() const { return vector == system_call_vector; }
  [[nodiscard]] u64 system_call_number() const { return error_code; }
  // The six arguments of a system call, one after the other.
  [[nodiscard]] const u64* arguments() const { return &rdi; }
  [[nodiscard]] u64 result() const { return rax; }
  void set_result(i64 value) { rax = static_cast<u64>(value); }
  [[nodiscard]] VirtualAddress program_counter() const { return {rip}; }
  [[nodiscard]] VirtualAddress stack_pointer() const { return {rsp}; }
  void set_program_counter(VirtualAddress address) { rip = address.value; }
  void set_stack_pointer(VirtualAddress address) { rsp = address.value; }
  // Makes this the frame of a thread that starts at `entry` in user mode with `stack`, everything else zero.
  void start_user(VirtualAddress entry, VirtualAddress stack);
  // Steps back so that the system-call instruction is executed again (its number is put back).
  void rewind_system_call();
  // The same, but the program's next instruction is restart_syscall: the call goes on where it was.
  static constexpr u64 restart_call_number = 219;
  void rewind_to_restart_call() {
    rewind_system_call();
    rax = restart_call_number;
  }
  // Whether user mode is left again, by a debug exception, after one instruction (SDM vol. 3, 17.3.1.4: TF).
  void set_stepping(bool on) { rflags = on ? rflags | 0x100 : rflags & ~u64{0x100}; }
  [[nodiscard]] bool stepping() const { return (rflags & 0x100) != 0; }
  // restart_syscall has found out which call it stands for.
  void become_system_call(u64 number) { error_code = number; }
  // A debugger says in which call the thread is; negative: in none, or it is not to be made.
  void set_call_number(i64 number) {
    if (number < 0 && !is_system_call()) return;
    vector = system_call_vector;
    error_code = static_cast<u64>(number);
  }
};
static_assert(sizeof(TrapFrame) == 22 * 8 && offsetof(TrapFrame, rip) == 17 * 8);
static_assert(offsetof(TrapFrame, r9) == offsetof(TrapFrame, rdi) + 5 * 8);

}  // namespace corral::arch

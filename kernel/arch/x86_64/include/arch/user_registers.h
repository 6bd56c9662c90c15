// A stopped thread's registers as a debugger reads and changes them, in Linux's layout (x86-64).
// Source: Linux arch/x86/include/asm/user_64.h, struct user_regs_struct (layout only).
#pragma once

#include "arch/trap_frame.h"
#include "lib/result.h"

namespace corral::arch {

struct UserRegisters {
  u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
  u64 orig_rax;  // the number of the system call that it is in, else all ones
  u64 rip, cs, rflags, rsp, ss, fs_base, gs_base, ds, es, fs, gs;
};
static_assert(sizeof(UserRegisters) == 27 * sizeof(u64));

// All but the bases, which are zero.
[[nodiscard]] UserRegisters user_registers_of(const TrapFrame& frame);
// The same way back; segments are left alone, and so are flags that are not the program's. eio: an address that is not a user's.
[[nodiscard]] Result<void> set_user_registers(TrapFrame& frame, const UserRegisters& registers);

}  // namespace corral::arch

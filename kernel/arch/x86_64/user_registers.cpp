// See arch/user_registers.h. Called by the tracer's step while the thread is stopped.
#include "arch/user_registers.h"

#include "arch/page_table.h"
#include "entry_constants.h"

namespace corral::arch {

UserRegisters user_registers_of(const TrapFrame& f) {
  UserRegisters r{};
  r.r15 = f.r15, r.r14 = f.r14, r.r13 = f.r13, r.r12 = f.r12, r.r11 = f.r11, r.r10 = f.r10, r.r9 = f.r9, r.r8 = f.r8;
  r.rbp = f.rbp, r.rbx = f.rbx, r.rax = f.rax, r.rcx = f.rcx, r.rdx = f.rdx, r.rsi = f.rsi, r.rdi = f.rdi;
  r.orig_rax = f.is_system_call() ? f.system_call_number() : ~u64{0};
  r.rip = f.rip, r.cs = f.cs, r.rflags = f.rflags, r.rsp = f.rsp, r.ss = f.ss;
  return r;
}

Result<void> set_user_registers(TrapFrame& f, const UserRegisters& r) {
  if (r.rip >= user_space_end || r.fs_base >= user_space_end || r.gs_base >= user_space_end) return Errno::eio;
  f.r15 = r.r15, f.r14 = r.r14, f.r13 = r.r13, f.r12 = r.r12, f.r11 = r.r11, f.r10 = r.r10, f.r9 = r.r9, f.r8 = r.r8;
  f.rbp = r.rbp, f.rbx = r.rbx, f.rax = r.rax, f.rcx = r.rcx, f.rdx = r.rdx, f.rsi = r.rsi, f.rdi = r.rdi;
  f.rip = r.rip, f.rsp = r.rsp;
  f.set_call_number(static_cast<i64>(r.orig_rax));
  f.rflags = (r.rflags & CORRAL_FLAGS_USER_OWNS) | CORRAL_FLAGS_ALWAYS_SET;
  return {};
}

}  // namespace corral::arch

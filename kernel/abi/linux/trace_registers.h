// What a tracer reads and changes of a stopped thread's processor state, in Linux's layouts (x86-64). Source: Linux ptrace(2), struct user.
// Context: the tracer's step; the thread is stopped, and goes on only by this tracer, or to end.
#pragma once

#include "abi/linux/call.h"
#include "arch/user_registers.h"

namespace corral::abi::trace {

[[nodiscard]] arch::UserRegisters registers_of(const Thread& thread);

// PTRACE_PEEKUSER, POKEUSER: a word of the user area. eio: there is none; enospc: a breakpoint in a debug register.
Result<i64> peek_user(Call& call, const Thread& thread);
Result<i64> poke_user(Call& call, Thread& thread);
// PTRACE_GETREGS … SETFPREGS: argument 3 is where they are, or go. eio, einval: values that the thread cannot have.
Result<i64> get_registers(Call& call, const Thread& thread);
Result<i64> set_registers(Call& call, Thread& thread);
Result<i64> get_floating_point(Call& call, const Thread& thread);
Result<i64> set_floating_point(Call& call, Thread& thread);
// PTRACE_GETREGSET, SETREGSET: argument 2 says which, argument 3 is a struct iovec. einval: no such set.
Result<i64> get_set(Call& call, const Thread& thread);
Result<i64> set_set(Call& call, Thread& thread);
// PTRACE_ARCH_PRCTL: argument 3 is one of arch_prctl's codes. einval: another one.
Result<i64> segment_base(Call& call, Thread& thread);

}  // namespace corral::abi::trace

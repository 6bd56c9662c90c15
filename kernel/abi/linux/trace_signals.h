// What a tracer reads and changes of a stopped thread's signals. Source: Linux ptrace(2). Context: as in trace_registers.h.
#pragma once

#include "abi/linux/call.h"

namespace corral::abi::trace {

// PTRACE_GETSIGINFO, SETSIGINFO. einval: it is stopped for no signal, but with its process.
Result<i64> get_signal(Call& call, ThreadId id);
Result<i64> set_signal(Call& call, ThreadId id);
// PTRACE_GETSIGMASK, SETSIGMASK: argument 2 is the size of a mask, else einval.
Result<i64> get_mask(Call& call, const Thread& thread);
Result<i64> set_mask(Call& call, Thread& thread);
// PTRACE_PEEKSIGINFO: how many pending signals were told.
Result<i64> peek_signals(Call& call, Thread& thread);
// PTRACE_GET_SYSCALL_INFO: how many bytes there are to tell; argument 2 says how many may be.
Result<i64> call_information(Call& call, const Thread& thread);

}  // namespace corral::abi::trace

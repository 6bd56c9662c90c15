// The signal mask that ppoll, pselect6 and epoll_pwait set while they wait. The old one is put back when the call returns
// to the program (Executive::finish_step).
#pragma once

#include "abi/linux/call.h"

namespace corral::abi {

// `mask` null: nothing. einval: `size` is not that of a mask; efault, blocked. Once in a call.
inline Result<void> set_temporary_mask(Call& call, VirtualAddress mask, u64 size) {
  if (mask.value == 0) return {};
  if (size != sizeof(SignalSet)) return Errno::einval;
  const SignalSet blocked = TRY(call.read<SignalSet>(mask));
  signals::set_blocked_for_call(call.thread, blocked);
  return {};
}

}  // namespace corral::abi

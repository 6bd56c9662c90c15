// What mmap and its relatives share with mlock. In the calling thread's step.
#pragma once

#include "abi/linux/call.h"

namespace corral::abi {

// The process may lock pages at all: by its limit (RLIMIT_MEMLOCK) or by privilege.
[[nodiscard]] bool may_lock_pages(const Call& call);
// So many bytes more would be more than that limit.
[[nodiscard]] bool exceeds_lock_limit(const Call& call, u64 bytes);

// Touches every page of [start, end) as a program would; where it was is kept in the step (word 0), so that a wait does not begin again.
// `best`: write where the area allows it, else read. blocked, enomem, eacces; efault: nothing there, or behind the end of a file.
Result<void> touch_pages(Call& call, VirtualAddress start, VirtualAddress end, vm::Access access, bool best);

}  // namespace corral::abi

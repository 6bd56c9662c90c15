// Return addresses on a kernel stack, found through the frame pointers (the kernel keeps them).
// Any context, also in a panic: every word is read only after the page table says that it is mapped.
#pragma once

#include <span>

#include "arch/trap_frame.h"
#include "lib/types.h"

namespace corral::arch {

// Fills `to` from the innermost call on; returns how many. Stops at the first frame that makes no sense.
[[nodiscard]] size_t backtrace_here(std::span<VirtualAddress> to);
// From a kernel-mode trap frame (its own address first). Of a user-mode frame only that address: user stacks are not read.
[[nodiscard]] size_t backtrace_of(const TrapFrame& frame, std::span<VirtualAddress> to);

}  // namespace corral::arch

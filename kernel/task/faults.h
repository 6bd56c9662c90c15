// Exceptions: of user programs (page faults resolved or turned into signals) and of the kernel (bugs).
#pragma once

#include "arch/traps.h"
#include "task/thread.h"

namespace corral {

// Notes the exception of the running thread and answers the step that deals with it; null: nothing more is to be done.
[[nodiscard]] Step prepare_fault_step(Thread& thread, const arch::TrapFrame& frame);

// An exception in kernel mode: a bug. (Non-maskable interrupts are arch's business and never come here.)
[[noreturn]] void kernel_fault(arch::TrapFrame& frame);

}  // namespace corral

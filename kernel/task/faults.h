// Exceptions: of user programs (page faults resolved or turned into signals) and of the kernel (bugs).
#pragma once

#include "arch/traps.h"
#include "task/thread.h"

namespace corral {

// Notes the exception of the running thread and answers the step that deals with it; null: nothing more is to be done.
[[nodiscard]] Step prepare_fault_step(Thread& thread, const arch::TrapFrame& frame);

// An exception in kernel mode. Returns only for those after which the kernel goes on (NMI).
void kernel_fault(arch::TrapFrame& frame);

// Non-maskable interrupts seen since boot.
[[nodiscard]] u64 nmi_count();

}  // namespace corral

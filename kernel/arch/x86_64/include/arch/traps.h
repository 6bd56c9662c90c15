// Entering and leaving the kernel. Contract with the rooms above: arch owns the entry and exit code and calls the
// three functions below, which task/executive.cpp defines (link-time inversion: arch knows none of the rooms above).
// The kernel runs with interrupts off; only halt() (an idle core) lets them in.
#pragma once

#include "arch/trap_frame.h"
#include "lib/types.h"

namespace corral::arch {

// Vectors of the local interrupt controller, above the 32 exceptions. Device interrupts get the range between.
inline constexpr u32 exception_count = 32;
inline constexpr u32 vector_page_fault = 14;
inline constexpr u32 vector_nmi = 2;
inline constexpr u32 vector_device_first = 0x30;
inline constexpr u32 vector_device_last = 0xdf;
inline constexpr u32 vector_timer = 0xf0;     // the core's own timer
inline constexpr u32 vector_message = 0xf1;   // interprocessor interrupt: "look into your mailbox"
inline constexpr u32 vector_spurious = 0xff;

// ---- called by the entry code, on this core's kernel stack, interrupts off -------------------------------------
// A system call of the current thread, whose frame this is. May not return (if the thread blocks); when it
// returns, the entry code goes back to user mode with `frame`.
extern "C" void corral_system_call(TrapFrame& frame);
// An exception or interrupt that came while the current thread was in user mode; same rules.
extern "C" void corral_user_trap(TrapFrame& frame);
// An interrupt or exception that came in kernel mode (an idle core, or a bug); returns to where it came from.
extern "C" void corral_kernel_trap(TrapFrame& frame);

// ---- provided by arch ------------------------------------------------------------------------------------------
// Loads the interrupt table etc. of the calling core. Boot context of that core.
void install_traps();
// From now on an entry from user mode on this core saves into `frame` (it belongs to the thread about to run).
void set_entry_frame(TrapFrame& frame);
// Leaves the kernel for user mode; the core's kernel stack is forgotten.
[[noreturn]] void enter_user(TrapFrame& frame);
// Forgets the kernel stack of this core and calls `function` on the fresh one (used when a thread has blocked).
[[noreturn]] void restart_on_core_stack(void (*function)());

// What a page fault was: from the processor's registers (CR2 and the error code).
struct PageFault {
  VirtualAddress address;
  bool write;
  bool execute;
  bool present;  // a rights violation; false: nothing mapped
};
[[nodiscard]] PageFault page_fault_of(const TrapFrame& frame);

// Non-maskable interrupts of unknown origin since boot, on all cores. arch handles them itself: counted, reported in the log at
// the next safe moment, nothing else. During a panic: halt.
[[nodiscard]] u64 nmi_count();
// Asked first, in every NMI; true: it was expected. It may come at any instruction, while any lock is held. Boot context, once.
using NmiListener = bool (*)(TrapFrame& frame);
void set_nmi_listener(NmiListener listener);

}  // namespace corral::arch

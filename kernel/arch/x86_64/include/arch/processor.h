// The processor as every room sees it: interrupts on and off, waiting, its own core pointer, its cycle counter.
// Contract: the same names in every arch/<name>/include/arch/processor.h.
#pragma once

#include "lib/result.h"
#include "lib/types.h"

namespace corral {
class Core;
}

namespace corral::arch {

// Interrupts of the calling core. The kernel runs with them off; halt() is the one place that lets them in.
inline void disable_interrupts() {
  asm volatile("cli" ::: "memory");
}
inline void enable_interrupts() {
  asm volatile("sti" ::: "memory");
}
[[nodiscard]] inline bool interrupts_enabled() {
  u64 flags;
  asm volatile("pushfq; popq %0" : "=r"(flags)::"memory");
  return (flags & 0x200) != 0;
}

// In every spin loop: gives way to the other hardware thread, and under emulation to the other cores.
inline void pause() {
  asm volatile("pause" ::: "memory");
}

// Sleeps until an interrupt has been handled. Call with interrupts off after checking that there is no work;
// an interrupt that came in between ends it at once (STI holds interrupts back for one instruction).
inline void halt() {
  asm volatile("sti; hlt; cli" ::: "memory");
}
[[noreturn]] inline void halt_forever() {
  for (;;) asm volatile("cli; hlt" ::: "memory");
}

// The calling core's object (GS base + 0); valid from set_current_core on. Never null after start-up.
[[nodiscard]] inline Core& current_core() {
  Core* core;
  asm("movq %%gs:0, %0" : "=r"(core));
  return *core;
}

// The calling core's number (CoreId), valid in every context from the first C++ instruction on: for the rooms below core/.
[[nodiscard]] inline u32 core_index() {
  u32 index;
  asm("movl %%gs:40, %0" : "=r"(index));
  return index;
}

// Fills the `size` bytes (a multiple of 8) of the calling core's stack that are free below the caller's frame. Nothing may be
// there that is still wanted: interrupts off.
[[gnu::noinline]] inline void fill_free_stack(u64 size, u64 word) {
  u64 to;
  u64 words = size / 8;
  asm volatile("movq %%rsp, %0; subq %2, %0; rep stosq" : "=&D"(to), "+c"(words) : "r"(size), "a"(word) : "memory");
}

// The time-stamp counter.
[[nodiscard]] inline u64 cycle_counter() {
  u64 low;  // RDTSC clears the upper halves (SDM vol. 2B)
  u64 high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return (high << 32) | low;
}

// The same, not before what the program did before it (Intel SDM vol. 2, RDTSC).
[[nodiscard]] inline u64 ordered_cycle_counter() {
  asm volatile("lfence" ::: "memory");
  return cycle_counter();
}

// A random word of the processor. False when it has no such instruction or the instruction failed.
[[nodiscard]] bool hardware_random(u64& value);

// ---- facts found at start-up (CPUID) ---------------------------------------------------------------------------
struct Features {
  bool nx, smep, smap, umip, pat, pcid, invpcid, huge_1g, xsave, xsaveopt, rdrand, x2apic, invariant_tsc, tsc_deadline,
      hypervisor, rdtscp;
  u32 xsave_size;       // bytes of the floating-point area with everything enabled
  u64 xsave_components; // XCR0
  char vendor[13];
  char brand[49];
  char hypervisor_name[13];  // "TCGTCGTCGTCG" under QEMU without hardware virtualisation; empty on bare metal
  u32 family, model, stepping;
  u32 first_leaf_edx;  // CPUID leaf 1, EDX: what programs are told as AT_HWCAP
};
namespace detail {
extern Features found_features;  // written once, before there is a second core
}
[[nodiscard]] inline const Features& features() {
  return detail::found_features;
}

// Room for what the entry code needs of a core: GS base points here while the core is in the kernel.
struct alignas(64) CoreArea {
  Core* core = nullptr;            // offset 0: current_core()
  u64 entry_stack = 0;             // offset 8: end of the current thread's TrapFrame
  u64 kernel_stack = 0;            // offset 16: top of this core's kernel stack
  u64 scratch = 0;                 // offset 24: user stack pointer during SYSCALL entry
  void* descriptors = nullptr;     // GDT, TSS and emergency stacks, owned by arch/descriptors.cpp
  u32 id = 0;                      // offset 40: core_index(); set by the owner of the area
  u32 missed_nmis = 0;             // offset 44: NMIs that came while the kernel ran; reported at the next safe moment
  // ---- the guarded call that is under way (arch/guarded_call.h) ----
  u64 guarded_resume = 0;          // where to go on when it does not come back; 0: none is under way
  u64 guarded_stack = 0;           // with which stack pointer
  u64 guarded_frame = 0;           // … and frame pointer
  u32 guarded_failure = 0;         // CallFailure of the last one that did not come back
  u32 guarded_looks = 0;           // NMIs in a row that found this one
  u64 mode_changed = 0;            // offset 80: mode_changed()
  void* trace_ring = nullptr;      // offset 88: where its trace goes (trace/trace.h); set once, at start-up
};

// What cycle_counter() said at the calling core's last change between user and kernel mode. Interrupts off; its executive alone
// sets it.
[[nodiscard]] inline u64 mode_changed() {
  u64 cycles;
  asm volatile("movq %%gs:80, %0" : "=r"(cycles));
  return cycles;
}
inline void set_mode_changed(u64 cycles) {
  asm volatile("movq %0, %%gs:80" ::"r"(cycles));
}

// CoreArea::trace_ring of the calling core.
[[nodiscard]] inline void* core_trace_ring() {
  void* ring;
  asm("movq %%gs:88, %0" : "=r"(ring));
  return ring;
}

// Boot context, on the bootstrap core, once for each other core before it is started: its descriptor tables and guarded
// emergency stacks (for NMI, double fault, machine check). enomem: that core must be left out. The bootstrap core's
// own are static. From now on `area` serves current_core() and, with area.id, core_index().
[[nodiscard]] Result<void> prepare_core_area(Core& core, CoreArea& area);

// Sets up the calling core's processor: descriptor tables, traps, control registers (NX, SMEP, SMAP, UMIP, WP,
// FSGSBASE off for users, OSXSAVE), SYSCALL, GS base. `kernel_stack` is the top of its guarded stack. On another core
// than the bootstrap core prepare_core_area must have been done.
void initialise_processor(Core& core, CoreArea& area, VirtualAddress kernel_stack);

}  // namespace corral::arch

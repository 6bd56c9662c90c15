// The way of another core from its reset state (real mode, below 1 MiB) into the kernel. Bootstrap core only, one core
// at a time; platform/pc sends the start-up interrupts (page number low_page / 4096 is their vector).
//
//   prepare_trampoline(page);
//   for each core: arm_core_start(...); send INIT, SIPI; wait until core_start_left(), at most for some time; if the time is
//   up: disarm_core_start()
//
// A core that wakes late never takes what is meant for another: it compares its own APIC id with the armed one and
// claims the start with one atomic operation, or halts for ever.
#pragma once

#include "arch/processor.h"
#include "lib/types.h"

namespace corral::arch {

struct CoreStart {
  u32 hardware_id = 0;              // APIC id (CPUID leaf 0BH, or leaf 1) of the core that is meant
  VirtualAddress stack = {};        // top of its kernel stack, 16-byte aligned
  CoreArea* area = nullptr;         // prepared by prepare_core_area: core_index() is right from the first instruction on
  void (*entry)(void*) = nullptr;   // must not return
  void* argument = nullptr;
};

// Copies the start-up code to `low_page` (page aligned, at least 4096, below 1 MiB, reached by the direct map) and builds
// the small page table that maps this page alone below the kernel half. Once.
void prepare_trampoline(PhysicalAddress low_page);
void arm_core_start(const CoreStart& start);
// The core runs `entry`'s caller on its own stack and the kernel's page table; it has left the low page for good.
[[nodiscard]] bool core_start_left();
// Takes the offer back. False: the core has claimed it just now and will come (wait for core_start_left()).
bool disarm_core_start();

}  // namespace corral::arch

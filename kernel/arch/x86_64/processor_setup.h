// The first steps of the bootstrap core, for boot/ and for the start of other cores. Boot context.
#pragma once

#include "arch/processor.h"

namespace corral::arch {

// First C++ step after firmware: descriptor tables, traps (they panic) and the facts of CPUID; no memory needed.
void start_bootstrap_processor();
void detect_features();
// Loads the area's descriptor tables and makes it the calling core's.
void use_area(CoreArea& area);
// Control registers and MSRs of the calling core, from the facts. The loaded page table must be the kernel's own.
void set_control_registers();
// The processor's table of memory types, the same on every core, before any page uses write combining (SDM vol. 3, 12.12).
void set_memory_types();

}  // namespace corral::arch

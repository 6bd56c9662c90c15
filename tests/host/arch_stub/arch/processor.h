// The processor of the host tests: a "core" is a thread that has been given a number (support/host_machine.h).
// Everything else is the real header's; its privileged functions are never called.
#pragma once

#define current_core machine_current_core
#define core_index machine_core_index
#define core_trace_ring machine_core_trace_ring
#include "../../../../kernel/arch/x86_64/include/arch/processor.h"
#undef current_core
#undef core_index
#undef core_trace_ring

namespace corral::arch {

[[nodiscard]] u32 core_index();
[[nodiscard]] Core& current_core();
[[nodiscard]] void* core_trace_ring();

}  // namespace corral::arch

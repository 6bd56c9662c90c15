// Starting the other cores: INIT, SIPI, and a second SIPI where the first brought nothing (paper 000, section 3.3; Intel SDM
// vol. 3, 9.4.4). One core at a time; each is waited for until it is online or has said what is wrong.
//
// A core that has been given up cannot do harm when it answers late: its start is disarmed, and it halts on finding that
// (arch/start_core.h). Bootstrap core only. Neighbours: arch/start_core.h, platform/pc/local_apic, core/core.h.
#pragma once

#include "core/core.h"
#include "lib/core_set.h"

namespace corral {

// The life of a core other than the bootstrap core, from its first C++ line on: processor initialised, on its own
// guarded stack, interrupts off. Must call platform::initialise_this_core(core) and cores::mark_online(core), or set the
// state to error and halt. Defined by boot/.
[[noreturn]] void core_main(Core& core);

namespace platform {

// Starts those of `startable` that are OFFLINE. Returns how many are online because of it.
u32 start_cores(const CoreSet& startable);

}  // namespace platform
}  // namespace corral

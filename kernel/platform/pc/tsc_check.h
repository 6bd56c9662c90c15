// Whether a starting core's time-stamp counter agrees with the bootstrap core's, so that the clock never goes back from core
// to core: both publish what they read, and each must never see more than its own counter shows afterwards.
// One starting core at a time. Neighbours: platform/pc/core_start (bootstrap side), platform.cpp (starting side).
#pragma once

namespace corral::platform::tsc_check {

void begin();                       // bootstrap core, before it starts a core
void bootstrap_step();              // bootstrap core, again and again while it waits for that core
void check_here();                  // the starting core; takes some microseconds
[[nodiscard]] bool disagreed();     // bootstrap core, when the core is online

}  // namespace corral::platform::tsc_check

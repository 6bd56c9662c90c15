// Setting the wall clock, with all that waits for moments of it: each core looks again at its timers that go by wall time.
#pragma once

#include "lib/types.h"

namespace corral::wall_clock {

void initialise();  // boot context: installs the message handler
// Wall time at boot (device/clock.h) becomes `ns`. A step of a thread.
void set_boot_time(i64 ns);

}  // namespace corral::wall_clock

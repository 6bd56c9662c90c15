// Which counter tells the time, and which is the reference that others are measured against.
//
// Reference: HPET, else PM timer, else PIT. Clock: the time-stamp counter where it is one for all cores at one rate
// (the processor says so, or the emulator is known to have only one), else the reference. Bootstrap core.
// Neighbours: platform/pc/timers, device/clock.
#pragma once

#include <string_view>

#include "device/clock.h"
#include "lib/result.h"
#include "platform/pc/acpi/tables.h"

namespace corral::platform {

// Boot, once. `wanted`: auto, tsc, hpet, pm or pit; a wish that cannot be met gives a warning and the automatic choice.
// enodev: nothing counts.
Result<void> choose_clock(const acpi::Tables& tables, std::string_view wanted);
[[nodiscard]] const ClockSource& reference_clock();  // after choose_clock
[[nodiscard]] bool clock_is_time_stamp_counter();
// A narrow counter must be read now and then, also when every core sleeps: the first timer of the 8254 sees to that.
// After the interrupt router is there; again after abandon_time_stamp_counter(). Nothing to do for wide counters.
void keep_clock_alive();
// The cores' counters differ after all: the reference becomes the clock. Bootstrap core.
void abandon_time_stamp_counter();

}  // namespace corral::platform

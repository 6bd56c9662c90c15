// The machine's battery-backed clock, for rooms above the platform, which offers it at boot. It keeps UTC.
#pragma once

#include "device/calendar.h"
#include "lib/result.h"

namespace corral::real_time_clock {

struct Operations {
  Result<CalendarTime> (*read)() = nullptr;               // eagain: it is just counting on; eio: it holds no date
  Result<void> (*set)(const CalendarTime& to) = nullptr;  // einval: no date, or not one that it can hold
};
void set_operations(const Operations& operations);  // boot context

// Any context; neither waits. The same errors, and enodev: there is none.
[[nodiscard]] Result<CalendarTime> read();
[[nodiscard]] Result<void> set(const CalendarTime& to);

}  // namespace corral::real_time_clock

// See real_time_clock.h.
#include "device/real_time_clock.h"

namespace corral::real_time_clock {

namespace {
constinit Operations hardware{};  // as boot has left it
}

void set_operations(const Operations& operations) {
  hardware = operations;
}

Result<CalendarTime> read() {
  return hardware.read != nullptr ? hardware.read() : Errno::enodev;
}

Result<void> set(const CalendarTime& to) {
  return hardware.set != nullptr ? hardware.set(to) : Errno::enodev;
}

}  // namespace corral::real_time_clock

// The battery-backed clock (MC146818), read once at boot for the wall time. Taken as UTC.
// Source: Motorola MC146818A data sheet. Context: boot, bootstrap core. calendar_to_unix() is pure.
#pragma once

#include "lib/types.h"

namespace corral::platform {

struct CalendarTime {
  u32 year, month, day, hour, minute, second;  // year in full, month and day from 1
  bool operator==(const CalendarTime&) const = default;
};
// Seconds since 1970-01-01 00:00:00 UTC; false when the date does not exist or lies before 1970.
[[nodiscard]] constexpr bool calendar_to_unix(const CalendarTime& time, i64& seconds) {
  constexpr u32 days_of_month[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  constexpr u32 days_before_month[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  if (time.year < 1970 || time.year > 9999 || time.month < 1 || time.month > 12 || time.day < 1 || time.hour > 23 ||
      time.minute > 59 || time.second > 59) {
    return false;
  }
  const bool leap = (time.year % 4 == 0 && time.year % 100 != 0) || time.year % 400 == 0;
  if (time.day > days_of_month[time.month - 1] + (leap && time.month == 2 ? 1u : 0u)) return false;
  const u32 years_before = time.year - 1;
  const u64 days_to_year = u64{years_before} * 365 + years_before / 4 - years_before / 100 + years_before / 400;
  constexpr u64 days_to_1970 = u64{1969} * 365 + 1969 / 4 - 1969 / 100 + 1969 / 400;
  const u64 day =
      days_to_year - days_to_1970 + days_before_month[time.month - 1] + (leap && time.month > 2 ? 1u : 0u) + time.day - 1;
  seconds = static_cast<i64>(day * 86'400 + time.hour * u64{3'600} + time.minute * u64{60} + time.second);
  return true;
}

// False: no clock, or it holds no time.
[[nodiscard]] bool read_real_time_clock(CalendarTime& time);

}  // namespace corral::platform

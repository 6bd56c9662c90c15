// Dates as people write them, in UTC, by the Gregorian calendar. All of it is pure.
#pragma once

#include "lib/types.h"

namespace corral {

struct CalendarTime {
  u32 year, month, day, hour, minute, second;  // year in full, month and day from 1
};

inline constexpr i64 seconds_of_day = 86'400;

[[nodiscard]] constexpr bool is_leap_year(u32 year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

// How many days of its year come before the month; 1 to 13.
[[nodiscard]] constexpr u32 days_before_month(u32 year, u32 month) {
  constexpr u32 days[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  return days[month - 1] + (month > 2 && is_leap_year(year) ? 1u : 0u);
}

// From 1970-01-01 to the first day of the year; 1970 or later.
[[nodiscard]] constexpr i64 days_before_year(u32 year) {
  constexpr i64 to_1970 = i64{1969} * 365 + 1969 / 4 - 1969 / 100 + 1969 / 400;
  const u32 before = year - 1;
  return i64{before} * 365 + before / 4 - before / 100 + before / 400 - to_1970;
}

// Seconds since 1970-01-01 00:00:00 UTC; false when the date does not exist or lies before 1970.
[[nodiscard]] constexpr bool calendar_to_unix(const CalendarTime& time, i64& seconds) {
  if (time.year < 1970 || time.year > 9999 || time.month < 1 || time.month > 12 || time.day < 1 || time.hour > 23 ||
      time.minute > 59 || time.second > 59) {
    return false;
  }
  if (time.day > days_before_month(time.year, time.month + 1) - days_before_month(time.year, time.month)) return false;
  const i64 day = days_before_year(time.year) + days_before_month(time.year, time.month) + time.day - 1;
  seconds = day * seconds_of_day + time.hour * i64{3'600} + time.minute * i64{60} + time.second;
  return true;
}

}  // namespace corral

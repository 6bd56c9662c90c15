// What the calls that set the wall clock and those that adjust it share. Context: the system call of the calling thread (call.h).
#pragma once

#include "abi/linux/call.h"

namespace corral::abi {

inline constexpr i64 latest_wall_seconds =
    INT64_MAX / 1'000'000'000 - i64{30} * 365 * 24 * 3600;  // leaves 30 years of uptime, as Linux

[[nodiscard]] std::span<const Entry> clock_adjustment_calls();  // adjtimex, clock_adjtime

// einval also when the machine would have been booted before 1970; eperm.
Result<i64> set_wall_time(const Call& call, i64 seconds, i64 ns);
// The clock has been set: how wrong it may be is not known any more.
void forget_clock_errors();

}  // namespace corral::abi

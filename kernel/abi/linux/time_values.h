// Times as Linux programs give them, checked.
#pragma once

#include "lib/result.h"
#include "lib/types.h"

namespace corral::abi {

struct TimeSpec {  // struct timespec
  i64 seconds, nanoseconds;
};

struct TimeValue {  // struct timeval
  i64 seconds, microseconds;
};

// einval: negative, or a billion nanoseconds and more. Durations too long for the clock become the longest.
inline Result<Duration> duration_of(const TimeSpec& spec) {
  constexpr i64 billion = 1'000'000'000;
  if (spec.seconds < 0 || spec.nanoseconds < 0 || spec.nanoseconds >= billion) return Errno::einval;
  if (spec.seconds >= INT64_MAX / billion) return Duration{INT64_MAX};
  return Duration{spec.seconds * billion + spec.nanoseconds};
}

inline TimeSpec time_spec(i64 ns) {
  return {ns / 1'000'000'000, ns % 1'000'000'000};
}

inline TimeValue time_value(i64 ns) {
  return {ns / 1'000'000'000, ns % 1'000'000'000 / 1000};
}

// Saturates at never.
inline Instant deadline_after(Instant now, Duration wait) {
  return wait.ns >= INT64_MAX - now.ns ? never : now + wait;
}

}  // namespace corral::abi

// Moments of timers that repeat. Pure.
#pragma once

#include "lib/types.h"

namespace corral {

// `times` intervals after `from`; what is beyond all times is the last moment before never.
[[nodiscard]] constexpr Instant later(Instant from, i64 times, Duration interval) {
  i64 ns = 0;
  if (__builtin_mul_overflow(times, interval.ns, &ns) || __builtin_add_overflow(from.ns, ns, &ns)) return {never.ns - 1};
  return {ns};
}

}  // namespace corral

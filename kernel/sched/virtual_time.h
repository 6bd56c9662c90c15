// Virtual time: time on a core divided by weight, in which all that are treated fairly go on at the same pace. An entity of
// weight 1024 (nice 0) goes on as the clock does. Pure.
#pragma once

#include "sched/scheduling_entity.h"

namespace corral::sched {

// ns on the core → virtual ns, without overflow for any time.
constexpr i64 virtual_time(i64 ns, u32 weight) {
  if (weight == weight_of_nice_0) return ns;
  const i64 w = weight;
  return ns / w * weight_of_nice_0 + ns % w * weight_of_nice_0 / w;
}

// And back, rounded up: after so many ns on the core at least `virtual_ns` have passed.
constexpr i64 real_time(i64 virtual_ns, u32 weight) {
  if (weight == weight_of_nice_0) return virtual_ns;
  constexpr i64 unit = weight_of_nice_0;
  return virtual_ns / unit * weight + (virtual_ns % unit * weight + unit - 1) / unit;
}

}  // namespace corral::sched

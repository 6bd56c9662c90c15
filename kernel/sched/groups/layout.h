// Which cores are the real-time class's and which the timeline's: layouts and ratios. Pure, any context.
// Source: paper 003, chapter 4 (grouped, alternate and double alternate; ratios 1:1, 2:1, 1:2, 3:1, 1:3).
#pragma once

#include "lib/core_set.h"

namespace corral::sched {

// How the cores of the two groups follow each other; the real-time group begins.
enum class Layout : u8 { grouped, alternate, double_alternate };

// Real-time cores to normal cores, each 1 … max_cores.
struct Ratio {
  u32 real_time = 1, normal = 1;
};

// How many of `cores` cores a ratio gives to the real-time class: the nearest whole number, halves up. May be 0 or all.
[[nodiscard]] constexpr u32 real_time_share(Ratio ratio, u32 cores) {
  const u32 all = ratio.real_time + ratio.normal;
  return (2 * cores * ratio.real_time + all) / (2 * all);
}

// The `real_time` of `cores` (by number, the lowest first) that are the real-time class's; fewer than there are.
//  grouped:           the first ones
//  alternate:         spread evenly, one by one; the first core is one of them
//  double_alternate:  spread evenly, two by two; an odd one is the first of the first pair that is left
[[nodiscard]] CoreSet lay_out(const CoreSet& cores, Layout layout, u32 real_time);

}  // namespace corral::sched

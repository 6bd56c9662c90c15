// Where real-time entities go: to a core where they run at once, if there is one. Pure; any core, interrupts off.
//
// The wish is that the N highest runnable real-time entities run on N cores. Three rules bring that about, each on
// numbers that cores publish (CoreStatistics): a new or woken entity is placed by real_time_core(); one that waits is
// sent on (pushed) as soon as a core stands lower; and a core that comes to stand lower asks those where one waits
// (real_time_waits) to look again (pulls). docs/real-time.md says why nothing is overlooked.
#pragma once

#include <compare>
#include <span>

#include "sched/core_statistics.h"
#include "sched/scheduling_entity.h"

namespace corral::sched {

// The core of `candidates` that stands lowest, where `entity` would run at once; `preferred` before its equals, idle ones
// before others. no_core: everywhere is somebody as high or higher.
inline CoreId lowest_below(const SchedulingEntity& entity, const CoreSet& candidates, CoreId preferred,
                           std::span<const CoreStatistics> cores) {
  struct Standing {
    u64 urgency;
    u64 load;  // twice; the preferred one is half a thread better
    auto operator<=>(const Standing&) const = default;
  };
  CoreId best{max_cores};
  Standing least{entity.urgency(), 0};
  candidates.for_each([&](CoreId core) {
    const CoreStatistics& numbers = cores[core.value];
    const Standing stands{numbers.urgency(), u64{numbers.load()} << 1 | (core == preferred ? 0u : 1u)};
    if (stands < least) {
      least = stands;
      best = core;
    }
  });
  return best;
}

// For a new or woken one. Its last core while that runs none of this class (the caches know it); else the lowest; else its
// last core, where it waits among its equals, or the lowest of all.
inline CoreId real_time_core(const SchedulingEntity& entity, const CoreSet& candidates, CoreId here,
                             std::span<const CoreStatistics> cores) {
  const CoreId last = entity.has_run() ? entity.last_core : here;
  const bool may_stay = candidates.contains(last);
  if (may_stay && entity.has_run() && cores[last.value].urgency() == 0) return last;
  const CoreId best = lowest_below(entity, candidates, last, cores);
  if (best.value < max_cores) return best;
  return may_stay ? last : candidates.lowest();
}

}  // namespace corral::sched

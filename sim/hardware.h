// The machine that is simulated, as numbers: its cores, how they share caches, and what moving and waking cost.
#pragma once

#include <vector>

#include "lib/types.h"

namespace corral::sim {

struct Hardware {
  static constexpr u32 full_capacity = 1024;

  u32 cores = 4;
  std::vector<u32> capacity;  // of each core, of full_capacity; those that are not named have all of it
  u32 cluster = 1;            // cores next to each other that share a cache
  Duration tick = milliseconds(4);
  Duration switch_cost = nanoseconds(0);     // another thread than the last one is taken
  Duration message = nanoseconds(0);         // a wake-up goes to another core
  Duration idle_exit = nanoseconds(0);       // a sleeping core notices it
  Duration queue_lock = nanoseconds(0);  // a list of the global queue is locked for who is put in or taken out
  Duration refill = nanoseconds(0);          // compute to fill a cache that knows nothing of the thread
  Duration refill_in_cluster = nanoseconds(0);  // the same where only the core's own cache is cold
  Duration warm = milliseconds(2);           // a cache has forgotten a thread that has not run for so long
  // For threads that say how much memory they use, instead of the three above (sim/cache.h).
  u64 cache_pages = 0;                       // of each core's own cache; 0: there is none
  Duration refill_page = nanoseconds(0);     // compute to fetch one page into it

  [[nodiscard]] u32 capacity_of(CoreId core) const {
    return core.value < capacity.size() ? capacity[core.value] : full_capacity;
  }
  [[nodiscard]] bool share_cache(CoreId a, CoreId b) const { return a.value / cluster == b.value / cluster; }
};

}  // namespace corral::sim

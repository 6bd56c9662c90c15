// What a core publishes of itself for placement decisions of others. Written by that core only, read by any; each
// word is right by itself, not together with the others: a policy must live with numbers that are a moment old.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::sched {

struct alignas(cache_line) CoreStatistics {
  Atomic<u32> runnable{0};        // waiting entities and the running one
  Atomic<u32> on_the_way{0};      // placed here by other cores, not arrived yet (placers add, the core subtracts)
  Atomic<u64> load_weight{0};     // sum of the weights of the runnable
  Atomic<i64> idle_ns{0};         // total time asleep
  Atomic<u64> switches{0};
  Atomic<u64> migrations_in{0};
  Atomic<u64> migrations_out{0};
  Atomic<u64> preemptions{0};
};

}  // namespace corral::sched

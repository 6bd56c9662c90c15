// The processor's own counters of events, running sums of the calling core. Contract: the same names in every
// arch/<name>/include/arch/performance_counters.h.
#pragma once

#include "lib/types.h"

namespace corral::arch {

// Running sums since the counters were started, each modulo a power of two: only differences mean something.
struct EventSums {
  u64 instructions = 0;  // retired, in user and in kernel mode
  u64 cycles = 0;        // of the core's clock, while it did not sleep
  u64 accesses = 0;      // to the last-level cache; 0 without has_cache_events()
  u64 refills = 0;       // of those, the ones that missed; the same
};

// Boot context, once: why this processor cannot count; null: it can.
[[nodiscard]] const char* find_event_counters();
[[nodiscard]] bool has_cache_events();

// ---- the calling core, interrupts off; only where it can count --------------------------------------------------------------
void start_event_counters();
[[nodiscard]] EventSums read_event_counters();
// What happened between two readings of the same core.
[[nodiscard]] EventSums events_between(const EventSums& before, const EventSums& after);

}  // namespace corral::arch

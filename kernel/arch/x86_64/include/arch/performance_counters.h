// The processor's own counters of events, running sums of the calling core. Contract: the same names in every
// arch/<name>/include/arch/performance_counters.h.
#pragma once

#include "lib/enum_set.h"
#include "lib/types.h"

namespace corral::arch {

enum class CountedEvent : u8 {
  instructions,  // retired
  cycles,  // of the core's clock, while it did not sleep
  accesses,  // to the last-level cache
  refills,  // of those, the ones that missed
};
inline constexpr u32 counted_events = 4;

using CountedEvents = EnumSet<CountedEvent>;

// Running sums since the counters were started, each modulo a power of two: only differences mean something. What is not counted is 0.
struct EventSums {
  u64 all[counted_events] = {};  // in user and in kernel mode
  u64 in_kernel[counted_events] = {};
  bool operator==(const EventSums&) const = default;
};

// Boot context, once: why this processor cannot count; null: it can.
[[nodiscard]] const char* find_event_counters();
// Which events are counted, and which of them in kernel mode by themselves, too.
[[nodiscard]] CountedEvents events_counted();
[[nodiscard]] CountedEvents events_told_apart();

// ---- the calling core, interrupts off; only where it can count --------------------------------------------------------------
void start_event_counters();
[[nodiscard]] EventSums read_event_counters();
// What happened between two readings of the same core.
[[nodiscard]] EventSums events_between(const EventSums& before, const EventSums& after);

}  // namespace corral::arch

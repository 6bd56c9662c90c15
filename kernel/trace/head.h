// The second word of a record in a ring: which event, of which thread, and the priority that the thread has.
//
// The priority stands where programs get the core, which in a ring is known. All but the event does not change from one record of
// a thread to the next: so each thread keeps the head of its calls ready (task/thread.h), and other events are made of that.
#pragma once

#include "lib/types.h"
#include "trace/record.h"

namespace corral::trace {

// As Linux numbers priorities in its traces: -1 with a deadline, 0 to 98 in the real-time class, 100 to 139 by nice value.
inline constexpr i32 usual_priority = 120, real_time_priority = 99, deadline_priority = -1;

[[nodiscard]] constexpr u64 head_of(Event event, u8 detail, i32 thread, i32 priority = 0) {
  return static_cast<u64>(event) | u64{detail} << 8 | u64{static_cast<u16>(priority)} << 16 |
         u64{static_cast<u32>(thread)} << 32;
}

// `head` is that of a call of the thread: head_of(Event::called, 0, …).
[[nodiscard]] constexpr u64 with_event(u64 head, Event event, u8 detail) {
  return head ^ head_of(Event::called, 0, 0) ^ head_of(event, detail, 0);
}

[[nodiscard]] constexpr i32 thread_in(u64 head) {
  return static_cast<i32>(head >> 32);
}
[[nodiscard]] constexpr i32 priority_in(u64 head) {
  return static_cast<i16>(head >> 16);
}

}  // namespace corral::trace

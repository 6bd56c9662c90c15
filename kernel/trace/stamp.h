// What a record in a ring has for a time.
//
// Where the cycle counter is the machine's clock, a stamp is what that counter says: reading it takes one instruction, and whoever reads
// the ring makes a time of it. Elsewhere a stamp is the time itself. Chosen at boot, before anything is traced.
#pragma once

#include "arch/processor.h"
#include "lib/atomic.h"
#include "lib/types.h"

namespace corral::trace {

// When the cycle counter said `cycles`. Null: it is not the clock.
using TimeOfCycles = Instant (*)(u64 cycles);
extern constinit Atomic<TimeOfCycles> time_of_cycles;

// Where the counter is not the clock. It keeps all registers, so that it costs nothing where nobody calls it.
[[nodiscard, clang::preserve_most]] u64 stamp_by_clock();

// For those who have read the cycle counter already.
[[nodiscard]] inline bool stamps_are_cycles() {
  return time_of_cycles.load(Order::relaxed) != nullptr;
}

// Any context.
[[nodiscard]] inline u64 stamp() {
  if (!stamps_are_cycles()) [[unlikely]]
    return stamp_by_clock();
  return arch::cycle_counter();
}

[[nodiscard]] inline Instant time_of(u64 stamp) {
  const TimeOfCycles time = time_of_cycles.load(Order::relaxed);
  return time != nullptr ? time(stamp) : Instant{static_cast<i64>(stamp)};
}

}  // namespace corral::trace

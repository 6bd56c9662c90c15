// Makes a counter of 64 bits out of a narrow one that wraps (24-bit PM timer, 32-bit HPET, 16-bit PIT), without a lock.
//
// The last extended value is shared. Whoever reads the counter takes over its upper bits, adding a wrap when the lower
// bits went backwards; the value is published again once an eighth of the range has passed, so readers seldom write.
// Why it never goes back: the published value is loaded before the counter is read, so the counter is always at least
// as late as it, and less than one wrap later provided that somebody reads at least every half range
// (`period_limit`): the clock sees to that. A failed publication means that another core has just published.
// Any core, any context. Pure: built and tested on the host. Neighbour: device/clock.cpp.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

template <template <class> class AtomicT = Atomic>
class NarrowCounter {
 public:
  constexpr NarrowCounter() = default;

  // `bits`: 8 … 63. `read_raw()` gives the counter; what is above its width is ignored.
  template <class ReadRaw>
  [[nodiscard]] u64 extend(u32 bits, ReadRaw&& read_raw) {
    const u64 mask = (u64{1} << bits) - 1;
    u64 published = published_.load(Order::acquire);
    const u64 raw = static_cast<u64>(read_raw()) & mask;
    u64 extended = (published & ~mask) | raw;
    if (extended < published) extended += mask + 1;
    if (extended - published > mask / 8) {
      // Failure is fine: then `published_` is not older than what this call has seen.
      static_cast<void>(published_.compare_exchange(published, extended, Order::acq_rel, Order::relaxed));
    }
    return extended;
  }

 private:
  alignas(cache_line) AtomicT<u64> published_{0};
};

}  // namespace corral

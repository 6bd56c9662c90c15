// A token bucket: a number of them at once, and one in each interval on the long run. It is kept as one moment, that at
// which the bucket will be full again (the generic cell rate algorithm, ITU-T I.371).
//
// Owner: whoever has it; no locks.
#pragma once

#include "lib/types.h"

namespace corral {

class TokenBucket {
 public:
  // `interval`: of nothing, there are tokens without end. `most`: at least 1.
  constexpr TokenBucket(Duration interval, u32 most) : interval_{interval}, spread_{interval.ns * (i64{most} - 1)} {}

  // Whether there is one, which is gone then. `now` does not go back.
  constexpr bool take(Instant now) {
    const Instant full = now > full_ ? now : full_;
    if (full - now > spread_) return false;
    full_ = full + interval_;
    return true;
  }

 private:
  const Duration interval_;
  const Duration spread_;  // of all tokens but one
  Instant full_{};
};

}  // namespace corral

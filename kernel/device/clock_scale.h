// From ticks of a counter to nanoseconds and back by one multiplication: no division on the way to the time.
// Pure arithmetic; built and tested on the host. Neighbours: device/clock.cpp, platform timers.
#pragma once

#include "lib/types.h"

namespace corral {

class ClockScale {
 public:
  constexpr ClockScale() = default;
  // `frequency`: 1 Hz … 2^62 Hz. The relative error is below 2^-30 up to 4 GHz.
  constexpr explicit ClockScale(u64 frequency)
      : multiplier_{frequency == 0 ? 0 : (u64{1'000'000'000} << fraction_bits) / frequency} {}

  // Nanoseconds of `ticks`, rounded down.
  [[nodiscard]] constexpr i64 to_ns(u64 ticks) const {
    return static_cast<i64>(static_cast<u64>((Wide{ticks} * multiplier_) >> fraction_bits));
  }

  // Ticks in `ns` at `frequency`, rounded up, at most `limit`. For timers that count down.
  [[nodiscard]] static constexpr u64 to_ticks(u64 frequency, i64 ns, u64 limit) {
    if (ns <= 0) return 0;
    // Whole seconds apart from the rest, so that no step needs more than 128 bits or a wide division.
    const u64 whole = static_cast<u64>(ns) / 1'000'000'000;
    const u64 rest = static_cast<u64>(ns) % 1'000'000'000;
    if (whole != 0 && frequency > limit / whole) return limit;
    const u64 ticks = whole * frequency + rest_ticks(frequency, rest);
    return ticks < limit ? ticks : limit;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr u32 fraction_bits = 32;

  // frequency * rest / 10^9 with rest < 10^9: the product of the frequency's low part fits 64 bits.
  static constexpr u64 rest_ticks(u64 frequency, u64 rest) {
    const u64 high = frequency / 1'000'000'000;
    const u64 low = frequency % 1'000'000'000;
    return high * rest + (low * rest + 999'999'999) / 1'000'000'000;
  }

  u64 multiplier_ = 0;
};

}  // namespace corral

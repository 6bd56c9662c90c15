// Measures a counter's frequency against a reference clock, also where the measuring core may be stopped at any moment
// (an emulator on a busy host): each end of the measurement is the best of several pairs of readings, the error that is
// left is known, and a measurement that is too coarse is repeated.
//
// Pure: counters come as objects; built and tested on the host. Context: boot of each core; waits busily, for some
// tens of milliseconds. Neighbours: platform timers.
#pragma once

#include "lib/types.h"

namespace corral {

// A counter that counts up for the length of one measurement, on the calling core.
class UpCounter {
 public:
  [[nodiscard]] virtual u64 read() = 0;

 protected:
  ~UpCounter() = default;
};

struct Calibration {
  u64 frequency = 0;       // Hz; 0: could not be measured
  u64 error_ppm = 0;       // bound of the relative error
  u32 attempts = 0;
};

struct CalibrationOptions {
  Duration length = milliseconds(10);
  u64 lowest = 10'000;                  // Hz: what lies outside is implausible and is measured again
  u64 highest = 10'000'000'000;
  u64 wanted_ppm = 500;                 // good enough to stop
  u32 attempts = 12;
  // The reference is lost if it is not read for so long (narrow counters); checked against the subject.
  Duration reference_range = {never.ns};
};

// `reference` must not wrap during the measurement (see NarrowCounter). Returns the best attempt; the caller looks at
// error_ppm if it needs more than "plausible".
[[nodiscard]] Calibration calibrate(UpCounter& subject, UpCounter& reference, u64 reference_frequency,
                                    const CalibrationOptions& options);

// Whether `a` and `b` differ by at most `percent` hundredths of the smaller.
[[nodiscard]] constexpr bool agree_within_percent(u64 a, u64 b, u64 percent) {
  const u64 least = a < b ? a : b;
  const u64 difference = a < b ? b - a : a - b;
  return difference <= least / 100 * percent;
}

}  // namespace corral

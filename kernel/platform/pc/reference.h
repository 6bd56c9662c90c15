// A free-running counter of the platform as the reference of a calibration: unwrapped, with the options that its width asks
// for. One measurement on one core. Neighbours: device/calibration, platform/pc/timers.
#pragma once

#include "device/calibration.h"
#include "device/clock.h"
#include "device/clock_scale.h"
#include "device/narrow_counter.h"

namespace corral::platform {

class ReferenceCounter final : public UpCounter {
 public:
  explicit ReferenceCounter(const ClockSource& source) : source_{source} {}

  u64 read() override {
    if (source_.bits() >= 64) return source_.read();
    return extension_.extend(source_.bits(), [this] { return source_.read(); });
  }

  [[nodiscard]] CalibrationOptions options() const {
    CalibrationOptions options;
    // Only a 16-bit counter can wrap unseen in a measurement that takes milliseconds.
    if (source_.bits() <= 16) {
      options.reference_range = {ClockScale{source_.frequency()}.to_ns(u64{1} << source_.bits())};
      options.wanted_ppm = 2'000;
    }
    return options;
  }

 private:
  const ClockSource& source_;
  NarrowCounter<> extension_;
};

}  // namespace corral::platform

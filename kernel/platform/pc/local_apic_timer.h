// A core's own timer in its local APIC: one-shot by count-down, or by the time-stamp counter where the processor can
// (TSC-deadline mode) and the machine's clock is that counter.
//
// Invariant: created, calibrated and used by its own core only. Each core calibrates for itself (paper 000, section 3.4);
// the cores of one machine are compared with each other and must agree within 1 %.
// Source: Intel SDM vol. 3, 11.5.4. Neighbours: device/calibration, device/clock, core/core.
#pragma once

#include "device/calibration.h"
#include "device/clock.h"
#include "lib/result.h"

namespace corral::platform {

class LocalApicTimer final : public CoreTimer {
 public:
  explicit LocalApicTimer(bool deadline_mode) : deadline_mode_{deadline_mode} {}

  // Measures the frequency against `reference` on the calling core and sets the timer up, not armed. eio: no plausible
  // frequency could be found.
  Result<void> calibrate_here(const ClockSource& reference);

  void arm(Duration from_now) override;
  void disarm() override;
  [[nodiscard]] u64 frequency() const override { return frequency_; }
  size_t describe(char* to, size_t size) const override;

 private:
  Calibration measure(const ClockSource& reference) const;

  const bool deadline_mode_;
  u64 frequency_ = 0;
  u64 error_ppm_ = 0;
};

}  // namespace corral::platform

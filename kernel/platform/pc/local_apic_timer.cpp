// See the header. The count-down runs at the bus clock divided by 16: a 1 GHz bus gives 16 ns steps and 68 s range.
#include "platform/pc/local_apic_timer.h"

#include "arch/port_io.h"
#include "arch/processor.h"
#include "arch/traps.h"
#include "device/clock_scale.h"
#include "device/narrow_counter.h"
#include "lib/format.h"
#include "platform/pc/local_apic.h"
#include "platform/pc/reference.h"
#include "trace/log.h"

namespace corral::platform {

namespace {

constexpr u32 divide_by_16 = 0x3;
constexpr u32 one_shot = 0u << 17;
constexpr u32 tsc_deadline = 2u << 17;
constexpr u32 masked = 1u << 16;
constexpr u32 msr_tsc_deadline = 0x6e0;
constexpr u64 largest_count = 0xffff'ffff;
constexpr u64 lowest_frequency = 100'000;           // a 1.6 MHz bus: far below any
constexpr u64 highest_frequency = 10'000'000'000;
constexpr u64 agreement_percent = 1;
constexpr u32 most_calibrations = 4;

// The first core's result, which the others are compared with; 0: none yet.
constinit Atomic<u64> first_frequency{0};

class CountDown final : public UpCounter {
 public:
  u64 read() override { return largest_count - local_apic().read(ApicRegister::timer_current); }
};

class CycleCounter final : public UpCounter {
 public:
  u64 read() override { return arch::cycle_counter(); }
};

}  // namespace

Calibration LocalApicTimer::measure(const ClockSource& reference) const {
  ReferenceCounter reference_counter{reference};
  CalibrationOptions options = reference_counter.options();
  options.lowest = lowest_frequency;
  options.highest = highest_frequency;
  if (deadline_mode_) {
    CycleCounter cycles;
    return calibrate(cycles, reference_counter, reference.frequency(), options);
  }
  LocalApicController& apic = local_apic();
  apic.write(ApicRegister::timer_divide, divide_by_16);
  apic.write(ApicRegister::local_timer, masked | one_shot | arch::vector_timer);
  apic.write(ApicRegister::timer_initial, static_cast<u32>(largest_count));
  CountDown count_down;
  const Calibration result = calibrate(count_down, reference_counter, reference.frequency(), options);
  apic.write(ApicRegister::timer_initial, 0);
  return result;
}

Result<void> LocalApicTimer::calibrate_here(const ClockSource& reference) {
  for (u32 attempt = 1; attempt <= most_calibrations; ++attempt) {
    const Calibration result = measure(reference);
    if (result.frequency == 0) continue;
    frequency_ = result.frequency;
    error_ppm_ = result.error_ppm;
    u64 first = 0;
    if (first_frequency.compare_exchange(first, frequency_, Order::acq_rel, Order::acquire)) break;
    if (agree_within_percent(first, frequency_, agreement_percent)) break;
    log::warning("core {}: its timer runs at {} Hz, but the first core's at {} Hz: more than {} % apart; measuring again",
                 arch::core_index(), frequency_, first, agreement_percent);
    if (attempt == most_calibrations) {
      log::error("core {}: its timer still disagrees with the first core's after {} measurements", arch::core_index(), attempt);
    }
  }
  if (frequency_ == 0) return Errno::eio;
  local_apic().write(ApicRegister::local_timer, (deadline_mode_ ? tsc_deadline : one_shot) | arch::vector_timer);
  // The deadline register takes effect only after the mode has (11.5.4.1: a fence orders the two on xAPIC).
  if (deadline_mode_) asm volatile("mfence" ::: "memory");
  return {};
}

void LocalApicTimer::arm(Duration from_now) {
  if (deadline_mode_) {
    // A quarter of the counter's range is more than any machine runs: no overflow.
    const u64 ticks = ClockScale::to_ticks(frequency_, from_now.ns, u64{1} << 62);
    arch::write_msr(msr_tsc_deadline, arch::cycle_counter() + (ticks == 0 ? 1 : ticks));
    return;
  }
  const u64 ticks = ClockScale::to_ticks(frequency_, from_now.ns, largest_count);  // beyond its range it fires early
  local_apic().write(ApicRegister::timer_initial, ticks == 0 ? 1 : static_cast<u32>(ticks));
}

void LocalApicTimer::disarm() {
  if (deadline_mode_) {
    arch::write_msr(msr_tsc_deadline, 0);
  } else {
    local_apic().write(ApicRegister::timer_initial, 0);
  }
}

size_t LocalApicTimer::describe(char* to, size_t size) const {
  return format_to({to, size}, "local APIC timer, {}, {} Hz (calibrated within {} ppm)",
                   deadline_mode_ ? "TSC deadline" : "one-shot", frequency_, error_ppm_)
      .size();
}

}  // namespace corral::platform

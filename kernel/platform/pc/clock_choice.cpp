// See the header.
#include "platform/pc/clock_choice.h"

#include "arch/port_io.h"
#include "arch/processor.h"
#include "device/interrupts.h"
#include "platform/pc/reference.h"
#include "platform/pc/timers.h"
#include "trace/log.h"
#include "trace/panic.h"

namespace corral::platform {

namespace {

constinit Hpet hpet;
constinit PmTimer pm_timer;
constinit Pit pit;
constinit TimeStampCounter time_stamps;
constinit const ClockSource* reference = nullptr;

constexpr std::string_view emulator_with_one_counter = "TCGTCGTCGTCG";  // QEMU: one counter for all cores
constexpr u64 lowest_tsc = 10'000'000;
constexpr u64 highest_tsc = 10'000'000'000;

class CycleCounter final : public UpCounter {
 public:
  u64 read() override { return arch::cycle_counter(); }
};

// Reads the clock at least every quarter of its range, by interrupts of the 8254's channel 0.
class ClockKeeper final : public InterruptHandler {
 public:
  void start(Duration quiet) {
    constexpr u32 irq = 0;
    if (!connected_ && !interrupts::router().connect(irq, "clock keeper", *this).ok()) {
      log::warning("clock: no interrupt keeps its counter alive; it may lose time while all cores sleep");
      return;
    }
    connected_ = true;
    u64 count = ClockScale::to_ticks(pit.frequency(), quiet.ns, 0x1'0000);
    arch::port_write8(0x43, 0x34);  // channel 0, low then high byte, mode 2
    arch::port_write8(0x40, static_cast<u8>(count));
    arch::port_write8(0x40, static_cast<u8>(count >> 8));  // 65,536 is written as 0
  }
  void handle_interrupt() override { static_cast<void>(clock::now()); }

 private:
  bool connected_ = false;
};
constinit ClockKeeper keeper;

bool measure_time_stamps() {
  ReferenceCounter counter{*reference};
  CalibrationOptions options = counter.options();
  options.length = milliseconds(20);
  options.lowest = lowest_tsc;
  options.highest = highest_tsc;
  CycleCounter cycles;
  const Calibration result = calibrate(cycles, counter, reference->frequency(), options);
  if (result.frequency == 0) {
    log::warning("clock: the time-stamp counter has no plausible rate ({} attempts); not used", result.attempts);
    return false;
  }
  time_stamps.set_frequency(result.frequency);
  log::debug("clock: time-stamp counter {} Hz within {} ppm, {} attempts", result.frequency, result.error_ppm, result.attempts);
  return true;
}

const ClockSource* wish(std::string_view wanted, bool has_hpet, bool has_pm_timer, bool has_pit) {
  if (wanted == "hpet" && has_hpet) return &hpet;
  if (wanted == "pm" && has_pm_timer) return &pm_timer;
  if (wanted == "pit" && has_pit) return &pit;
  if (wanted == "tsc" && time_stamps.frequency() != 0) return &time_stamps;
  return nullptr;
}

}  // namespace

Result<void> choose_clock(const acpi::Tables& tables, std::string_view wanted) {
  const bool has_hpet = tables.hpet.present && hpet.initialise(tables.hpet.address);
  const bool has_pm_timer = pm_timer.initialise(tables.fadt);
  const bool has_pit = pit.initialise();
  if (has_pit) reference = &pit;
  if (has_pm_timer) reference = &pm_timer;
  if (has_hpet) reference = &hpet;
  if (reference == nullptr) {
    log::error("clock: none of HPET, PM timer and 8254 counts");
    return Errno::enodev;
  }
  const arch::Features& features = arch::features();
  const bool one_for_all = features.invariant_tsc || emulator_with_one_counter == features.hypervisor_name;
  const bool measured = (one_for_all || wanted == "tsc") && measure_time_stamps();
  const ClockSource* chosen = wish(wanted, has_hpet, has_pm_timer, has_pit);
  if (chosen == nullptr) {
    if (wanted != "auto") {
      log::warning("clock={}: this machine has no such clock that works; choosing automatically (auto, tsc, hpet, pm, pit)",
                   wanted);
    }
    chosen = measured ? &time_stamps : reference;
  }
  if (has_hpet) devices().add(hpet);
  if (has_pm_timer) devices().add(pm_timer);
  if (has_pit) devices().add(pit);
  if (measured) devices().add(time_stamps);
  clock::use(*chosen);
  return {};
}

const ClockSource& reference_clock() {
  KERNEL_ASSERT(reference != nullptr);
  return *reference;
}

bool clock_is_time_stamp_counter() {
  return &clock::source() == &time_stamps;
}

void keep_clock_alive() {
  const Duration quiet = clock::longest_quiet();
  if (quiet != Duration{never.ns}) keeper.start(quiet);
}

void abandon_time_stamp_counter() {
  if (!clock_is_time_stamp_counter()) return;
  log::warning("clock: the cores' time-stamp counters differ; the slower reference tells the time from now on");
  clock::use(reference_clock());
  keep_clock_alive();
}

}  // namespace corral::platform

// The free-running counters of a PC: HPET, ACPI power-management timer, 8254 (PIT) and the processor's time-stamp
// counter. Each is a ClockSource; which of them is the reference and which the clock is decided in choose_clock.cpp.
// Context: initialise() in boot, on the bootstrap core; read() anywhere. Neighbours: device/clock, device/calibration.
#pragma once

#include "device/bounded_lock.h"
#include "device/clock.h"
#include "platform/pc/acpi/tables.h"

namespace corral::platform {

// High Precision Event Timer. Only its low 32 bits are read (some bridges split wider reads).
// Source: IA-PC HPET specification 1.0a, 2.3.
class Hpet final : public ClockSource {
 public:
  constexpr Hpet() = default;
  // Checks what the registers say (period at most 100 ns, counting) and starts the counter. False: not usable, with a
  // message. Call once.
  bool initialise(PhysicalAddress registers);
  [[nodiscard]] u64 read() const override;
  [[nodiscard]] u64 frequency() const override { return frequency_; }
  [[nodiscard]] u32 bits() const override { return 32; }
  size_t describe(char* to, size_t size) const override;

 private:
  volatile u8* registers_ = nullptr;
  PhysicalAddress address_ = {};
  u64 frequency_ = 0;
};

// ACPI power-management timer, 3.579545 MHz, 24 or 32 bits. Source: ACPI 6.5, 4.8.3.3.
class PmTimer final : public ClockSource {
 public:
  constexpr PmTimer() = default;
  // False: it does not count.
  bool initialise(const acpi::Fadt& fadt);
  [[nodiscard]] u64 read() const override;
  [[nodiscard]] u64 frequency() const override { return 3'579'545; }
  [[nodiscard]] u32 bits() const override { return bits_; }
  size_t describe(char* to, size_t size) const override;

 private:
  u16 port_ = 0;
  u32 bits_ = 24;
};

// Channel 2 of the 8254, 1.193182 MHz, free-running over 16 bits (mode 2): it is never programmed again, so delays and
// calibrations of several cores cannot disturb each other. A reading is three port accesses, under a lock.
// Source: Intel 8254 data sheet.
class Pit final : public ClockSource {
 public:
  constexpr Pit() = default;
  // False: it does not count.
  bool initialise();
  [[nodiscard]] u64 read() const override;
  [[nodiscard]] u64 frequency() const override { return 1'193'182; }
  [[nodiscard]] u32 bits() const override { return 16; }
  size_t describe(char* to, size_t size) const override;

 private:
  mutable BoundedLock lock_;
};

// The time-stamp counter of the processors, where it is one for all of them. Source: Intel SDM vol. 3, 18.17.
class TimeStampCounter final : public ClockSource {
 public:
  constexpr TimeStampCounter() = default;
  void set_frequency(u64 hertz) { frequency_ = hertz; }
  [[nodiscard]] u64 read() const override;
  [[nodiscard]] u64 frequency() const override { return frequency_; }
  [[nodiscard]] u32 bits() const override { return 64; }
  [[nodiscard]] bool is_cycle_counter() const override { return true; }
  size_t describe(char* to, size_t size) const override;

 private:
  u64 frequency_ = 0;
};

}  // namespace corral::platform

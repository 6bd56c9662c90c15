// Registers of the reference counters. See the header.
#include "platform/pc/timers.h"

#include "arch/page_table.h"
#include "arch/port_io.h"
#include "arch/processor.h"
#include "lib/format.h"
#include "trace/log.h"

namespace corral::platform {

namespace {

// HPET register offsets (2.3.2).
constexpr u64 hpet_size = 1024;
constexpr u32 hpet_period = 0x04;  // upper half of the capabilities: femtoseconds for each tick
constexpr u32 hpet_configuration = 0x10;
constexpr u32 hpet_counter = 0xf0;
constexpr u32 hpet_enable = 1;
constexpr u32 hpet_legacy_routing = 2;
constexpr u64 femtoseconds = 1'000'000'000'000'000;
constexpr u32 longest_period = 100'000'000;  // 2.3.4: 0x05f5e100
constexpr u32 shortest_period = 100'000;     // 10 GHz: nobody has that

constexpr u16 pit_channel_2 = 0x42;
constexpr u16 pit_command = 0x43;
constexpr u8 pit_channel_2_rate_generator = 0xb4;  // channel 2, low then high byte, mode 2, binary
constexpr u8 pit_latch_channel_2 = 0x80;
constexpr u16 speaker_port = 0x61;
constexpr u8 speaker_gate = 0x01;
constexpr u8 speaker_data = 0x02;

constexpr u32 looks_for_counting = 100'000;

// Whether two readings differ, some time apart.
bool counts(const ClockSource& source) {
  const u64 first = source.read();
  for (u32 i = 0; i < looks_for_counting; ++i) {
    if (source.read() != first) return true;
    arch::pause();
  }
  return false;
}

u32 register32(volatile u8* base, u32 offset) {
  return *reinterpret_cast<volatile u32*>(base + offset);
}
void set_register32(volatile u8* base, u32 offset, u32 value) {
  *reinterpret_cast<volatile u32*>(base + offset) = value;
}

}  // namespace

bool Hpet::initialise(PhysicalAddress registers) {
  Result<volatile u8*> mapped = arch::map_device(registers, hpet_size);
  if (!mapped.ok()) {
    log::warning("hpet: its registers at {x} cannot be mapped; not used", registers.value);
    return false;
  }
  registers_ = mapped.value();
  address_ = registers;
  const u32 period = register32(registers_, hpet_period);
  if (period < shortest_period || period > longest_period) {
    log::warning("hpet: a period of {} fs is impossible; not used", period);
    return false;
  }
  frequency_ = femtoseconds / period;
  const u32 configuration = register32(registers_, hpet_configuration);
  set_register32(registers_, hpet_configuration, (configuration | hpet_enable) & ~hpet_legacy_routing);
  if (counts(*this)) return true;
  log::warning("hpet: the counter at {x} stands still; not used", registers.value);
  return false;
}

u64 Hpet::read() const {
  return register32(registers_, hpet_counter);
}

size_t Hpet::describe(char* to, size_t size) const {
  return format_to({to, size}, "HPET at {x}, {} Hz", address_.value, frequency_).size();
}

bool PmTimer::initialise(const acpi::Fadt& fadt) {
  if (!fadt.pm_timer.present()) return false;
  port_ = fadt.pm_timer.port;
  bits_ = fadt.pm_timer_32_bits ? 32 : 24;
  if (counts(*this)) return true;
  log::warning("pm-timer: the counter at port {x} stands still; not used", port_);
  return false;
}

// Some chipsets return a value in the middle of a carry: three readings in order are believed.
u64 PmTimer::read() const {
  constexpr u32 most_attempts = 8;
  u32 last = 0;
  for (u32 i = 0; i < most_attempts; ++i) {
    const u32 first = arch::port_read32(port_);
    const u32 second = arch::port_read32(port_);
    last = arch::port_read32(port_);
    if (first <= second && second <= last) return last;
    // Also at each wrap of the counter; then the next attempt is in order.
  }
  return last;
}

size_t PmTimer::describe(char* to, size_t size) const {
  return format_to({to, size}, "ACPI power-management timer, port {x}, {} bits, {} Hz", port_, bits_, frequency()).size();
}

bool Pit::initialise() {
  const u8 speaker = arch::port_read8(speaker_port);
  arch::port_write8(speaker_port, static_cast<u8>((speaker & ~speaker_data) | speaker_gate));
  arch::port_write8(pit_command, pit_channel_2_rate_generator);
  arch::port_write8(pit_channel_2, 0);  // 0: 65,536
  arch::port_write8(pit_channel_2, 0);
  if (counts(*this)) return true;
  log::warning("pit: channel 2 stands still; not used");
  return false;
}

u64 Pit::read() const {
  BoundedGuard guard{lock_};
  arch::port_write8(pit_command, pit_latch_channel_2);
  const u32 low = arch::port_read8(pit_channel_2);
  const u32 high = arch::port_read8(pit_channel_2);
  return (0x1'0000 - (high << 8 | low)) & 0xffff;  // it counts down
}

size_t Pit::describe(char* to, size_t size) const {
  return format_to({to, size}, "8254 interval timer, channel 2, {} Hz", frequency()).size();
}

u64 TimeStampCounter::read() const {
  return arch::ordered_cycle_counter();
}

size_t TimeStampCounter::describe(char* to, size_t size) const {
  return format_to({to, size}, "time-stamp counter, {} Hz", frequency_).size();
}

}  // namespace corral::platform

// Registers of the MC146818. Read twice until two readings agree: it may be updating itself. See the header.
#include "platform/pc/real_time_clock.h"

#include "arch/port_io.h"
#include "arch/processor.h"

namespace corral::platform {

namespace {

constexpr u16 index_port = 0x70;
constexpr u16 data_port = 0x71;
constexpr u8 register_a = 0x0a;
constexpr u8 register_b = 0x0b;
constexpr u8 updating = 0x80;     // register A
constexpr u8 binary = 0x04;       // register B; else binary-coded decimal
constexpr u8 hours_24 = 0x02;     // register B
constexpr u8 afternoon = 0x80;    // of the hour, in 12-hour mode
constexpr u32 most_looks = 100'000;  // an update takes about 2 ms
constexpr u32 most_readings = 8;

u8 get(u8 number) {
  arch::port_write8(index_port, number);  // bit 7 clear: non-maskable interrupts stay on
  return arch::port_read8(data_port);
}

u32 decimal(u8 value) {
  return (value >> 4) * 10u + (value & 0x0f);
}

CalendarTime read_once() {
  for (u32 i = 0; i < most_looks && (get(register_a) & updating) != 0; ++i) arch::pause();
  const u8 mode = get(register_b);
  const auto number = [mode](u8 value) { return (mode & binary) != 0 ? u32{value} : decimal(value); };
  const u8 raw_hour = get(4);
  u32 hour = number((mode & hours_24) != 0 ? raw_hour : static_cast<u8>(raw_hour & ~afternoon));
  if ((mode & hours_24) == 0) hour = hour % 12 + ((raw_hour & afternoon) != 0 ? 12 : 0);
  const u32 year = number(get(9));
  return {year + (year < 70 ? 2000 : 1900), number(get(8)), number(get(7)), hour, number(get(2)), number(get(0))};
}

}  // namespace

bool read_real_time_clock(CalendarTime& time) {
  for (u32 i = 0; i < most_readings; ++i) {
    time = read_once();
    if (read_once() == time) {
      i64 seconds = 0;
      return calendar_to_unix(time, seconds);
    }
  }
  return false;
}

}  // namespace corral::platform

// Registers of the MC146818. See the header.
#include "platform/pc/real_time_clock.h"

#include "arch/port_io.h"
#include "arch/processor.h"
#include "device/clock.h"
#include "device/real_time_clock.h"
#include "sync/spin_lock.h"
#include "trace/log.h"

namespace corral::platform {

namespace {

constexpr u16 index_port = 0x70;
constexpr u16 data_port = 0x71;
constexpr u8 second = 0, minute = 2, hour = 4, day = 7, month = 8, year = 9;
constexpr u8 register_a = 0x0a;
constexpr u8 register_b = 0x0b;
constexpr u8 updating = 0x80;        // register A
constexpr u8 binary = 0x04;          // register B; else binary-coded decimal
constexpr u8 hours_24 = 0x02;        // register B
constexpr u8 held = 0x80;            // register B: it does not count on while its date is written
constexpr u8 afternoon = 0x80;       // of the hour, in 12-hour mode
constexpr u32 first_year = 1970, end_year = 2070;  // what two digits mean
constexpr u32 most_looks = 100'000;  // an update takes about 2 ms

constinit SpinLock lock{Rank::timer_hardware, "real-time clock"};  // index and data belong together

u8 get(u8 number) REQUIRES(lock) {
  arch::port_write8(index_port, number);  // bit 7 clear: non-maskable interrupts stay on
  return arch::port_read8(data_port);
}

void put(u8 number, u8 value) REQUIRES(lock) {
  arch::port_write8(index_port, number);
  arch::port_write8(data_port, value);
}

constexpr u32 decode(u8 value, u8 mode) {
  return (mode & binary) != 0 ? value : (value >> 4) * 10u + (value & 0x0f);
}

constexpr u8 encode(u32 value, u8 mode) {
  return static_cast<u8>((mode & binary) != 0 ? value : value / 10 << 4 | value % 10);
}

constexpr u32 decode_hour(u8 value, u8 mode) {
  if ((mode & hours_24) != 0) return decode(value, mode);
  return decode(static_cast<u8>(value & ~afternoon), mode) % 12 + ((value & afternoon) != 0 ? 12 : 0);
}

constexpr u8 encode_hour(u32 value, u8 mode) {
  if ((mode & hours_24) != 0) return encode(value, mode);
  const u8 twelfth = encode(value % 12 == 0 ? 12 : value % 12, mode);
  return static_cast<u8>(value < 12 ? twelfth : twelfth | afternoon);
}

// An update that comes between two registers shows: it is announced 244 µs before, and changes the second.
Result<CalendarTime> read() {
  CalendarTime time{};
  {
    LockGuard guard{lock};
    if ((get(register_a) & updating) != 0) return Errno::eagain;
    const u8 mode = get(register_b);
    const u8 before = get(second);
    const u32 in_century = decode(get(year), mode);
    time = {.year = in_century + (in_century < first_year % 100 ? 2000 : 1900),
            .month = decode(get(month), mode),
            .day = decode(get(day), mode),
            .hour = decode_hour(get(hour), mode),
            .minute = decode(get(minute), mode),
            .second = decode(before, mode)};
    if ((get(register_a) & updating) != 0 || get(second) != before) return Errno::eagain;
  }
  i64 seconds = 0;
  return calendar_to_unix(time, seconds) ? Result<CalendarTime>{time} : Errno::eio;
}

Result<void> set(const CalendarTime& to) {
  i64 seconds = 0;
  if (!calendar_to_unix(to, seconds) || to.year < first_year || to.year >= end_year) return Errno::einval;
  LockGuard guard{lock};
  const u8 mode = get(register_b);
  put(register_b, mode | held);
  put(second, encode(to.second, mode));
  put(minute, encode(to.minute, mode));
  put(hour, encode_hour(to.hour, mode));
  put(day, encode(to.day, mode));
  put(month, encode(to.month, mode));
  put(year, encode(to.year % 100, mode));
  put(register_b, mode & static_cast<u8>(~held));
  return {};
}

}  // namespace

void initialise_real_time_clock() {
  for (u32 i = 0; i < most_looks; ++i) {
    const Result<CalendarTime> time = read();
    if (!time.ok() && time.error() == Errno::eagain) {
      arch::pause();
      continue;
    }
    real_time_clock::set_operations({.read = read, .set = set});
    i64 seconds = 0;
    if (!time.ok() || !calendar_to_unix(time.value(), seconds)) break;
    clock::set_boot_wall_time(seconds * 1'000'000'000 - clock::now().ns);
    return;
  }
  log::warning("the real-time clock holds no valid date; wall time counts from 1970");
}

}  // namespace corral::platform

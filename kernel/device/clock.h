// Time. One clock for the machine (nanoseconds since boot, the same on every core, never going back), and one
// timer for each core that interrupts it at an instant.
#pragma once

#include "device/clock_page.h"
#include "device/device.h"
#include "lib/types.h"

namespace corral {

// A free-running counter that all cores can read.
class ClockSource : public Device {
 public:
  static constexpr DeviceClass device_class_object{"clock"};
  constexpr ClockSource() : Device{device_class_object} {}
  [[nodiscard]] virtual u64 read() const = 0;       // any core, any context
  [[nodiscard]] virtual u64 frequency() const = 0;  // Hz
  [[nodiscard]] virtual u32 bits() const = 0;       // width: the counter wraps after 2^bits
  // read() is arch::ordered_cycle_counter(), of full width, which programs can read as well (the vDSO's do).
  [[nodiscard]] virtual bool is_cycle_counter() const { return false; }

 protected:
  ~ClockSource() = default;
};

// The calling core's own interrupt timer: one-shot. May fire early when it is armed for longer than its counter reaches
// (a minute or more); whoever handles it looks at the clock.
class CoreTimer : public Device {
 public:
  static constexpr DeviceClass device_class_object{"core-timer"};
  constexpr CoreTimer() : Device{device_class_object} {}
  virtual void arm(Duration from_now) = 0;  // vector_timer after that time (at least 1 µs); own core only
  virtual void disarm() = 0;                // own core only
  [[nodiscard]] virtual u64 frequency() const = 0;  // as calibrated, Hz

 protected:
  ~CoreTimer() = default;
};

namespace clock {
// Now. Any core, any context. Instant{0} until use() was called first.
[[nodiscard]] Instant now();
// When the counter of the clock in use was at `ticks`, which it has been since use(). Any context; counters of full width only.
[[nodiscard]] Instant time_at(u64 ticks);
// Busy wait for start-up sequences only (interrupts need not work); at least that long. Only after use().
void spin(Duration time);
// Wall time at boot, ns since 1970: wall time is this and now(). First from the real-time clock; setting it sets the wall clock,
// for programs that read the published page too. Any core, thread step or boot.
[[nodiscard]] i64 boot_wall_time_ns();
void set_boot_wall_time(i64 ns);
[[nodiscard]] i64 wall_time_ns();  // since 1970. Any context.
// When `deadline` is, as far as the wall clock is not set any more. Any context.
[[nodiscard]] Instant instant_of(Deadline deadline);
// Takes `source` as the machine's clock; time goes on from now(). Bootstrap core; may be called again (at most seven
// times) while other cores read the clock, when the source in use turns out to be no good.
void use(const ClockSource& source);
[[nodiscard]] const ClockSource& source();
// Keeps what programs need to read the clock by themselves written there from now on. Bootstrap core, once; `page` lives
// for ever.
void publish_to(ClockPage& page);
// How long the clock may go without anybody reading it: never for wide counters, else a quarter of the counter's range.
// The platform that offers a narrow counter sees to it.
[[nodiscard]] Duration longest_quiet();
}  // namespace clock

}  // namespace corral

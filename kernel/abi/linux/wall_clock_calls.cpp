// Setting the wall clock: settimeofday, clock_settime, and what adjtimex and clock_adjtime can do. Time since boot never jumps.
// The clock runs as fast as the hardware's, so whatever would adjust its rate is EPERM; reading the state is not.
// Source: Linux clock_settime(2), adjtimex(2).
#include "abi/linux/call.h"
#include "abi/linux/cpu_clocks.h"
#include "abi/linux/resource_usage.h"
#include "abi/linux/time_values.h"
#include "core/wall_clock.h"
#include "device/clock.h"

namespace corral::abi {

namespace {

constexpr i64 billion = 1'000'000'000;
constexpr i64 latest_seconds = INT64_MAX / billion - i64{30} * 365 * 24 * 3600;  // leaves thirty years of uptime, as Linux
constexpr i32 clock_realtime = 0, clock_tai = 11;

// einval also when the machine would have been booted before 1970.
Result<i64> set_wall_time(const Call& call, i64 seconds, i64 ns) {
  if (seconds < 0 || seconds >= latest_seconds || ns < 0 || ns >= billion) return Errno::einval;
  if (!call.thread.may(Capability::sys_time)) return Errno::eperm;
  const i64 at_boot = seconds * billion + ns - clock::now().ns;
  if (at_boot < 0) return Errno::einval;
  wall_clock::set_boot_time(at_boot);
  return 0;
}

Result<i64> sys_clock_settime(Call& call) {
  const i32 clock_id = call.number(0);
  if (!is_cpu_clock(clock_id) && clock_id != clock_realtime) return Errno::einval;
  const TimeSpec wanted = TRY(call.read<TimeSpec>(call.address(1)));
  if (is_cpu_clock(clock_id)) {
    (void)TRY(duration_of(wanted));
    (void)TRY(cpu_clock_of(call, clock_id));
    return Errno::eperm;
  }
  return set_wall_time(call, wanted.seconds, wanted.nanoseconds);
}

struct TimeZone {
  i32 minutes_west, dst_time;
};

Result<i64> sys_settimeofday(Call& call) {
  TimeValue wanted{};
  if (call.argument[0] != 0) {
    wanted = TRY(call.read<TimeValue>(call.address(0)));
    if (wanted.microseconds < 0 || wanted.microseconds >= 1'000'000) return Errno::einval;
  }
  if (call.argument[1] != 0) {  // the kernel's zone is always UTC
    const TimeZone zone = TRY(call.read<TimeZone>(call.address(1)));
    if (zone.minutes_west != 0) return Errno::einval;
  }
  if (call.argument[0] == 0)
    return call.argument[1] != 0 && !call.thread.may(Capability::sys_time) ? Errno::eperm : Result<i64>{0};
  return set_wall_time(call, wanted.seconds, wanted.microseconds * 1000);
}

// struct timex.
struct ClockState {
  u32 modes, pad0;
  i64 offset, frequency, most_error, estimated_error;
  i32 status, pad1;
  i64 time_constant, precision, tolerance;
  TimeValue time;
  i64 tick, pulse[2];
  i32 shift, pad2;
  i64 counts[5];
  i32 tai, unused[11];
};
static_assert(sizeof(ClockState) == 208);

Result<i64> adjust(Call& call, VirtualAddress at) {
  constexpr u32 set_offset = 0x100, nanoseconds = 0x2000, adjtime = 0x8000, single_shot = 1, read_only = 0x2000;
  constexpr i64 unknown_error_us = 16'000'000;
  constexpr i32 not_synchronised = 0x40, time_error = 5;
  ClockState state = TRY(call.read<ClockState>(at));
  const u32 modes = state.modes;
  bool change = modes != 0;
  if ((modes & adjtime) != 0) {
    if ((modes & single_shot) == 0) return Errno::einval;
    change = (modes & read_only) == 0;
  } else if ((modes & set_offset) != 0) {
    const i64 unit = (modes & nanoseconds) != 0 ? 1 : 1000;
    const i64 part = state.time.microseconds;
    if (part < 0 || part >= billion / unit) return Errno::einval;
    if (state.time.seconds < -latest_seconds || state.time.seconds > latest_seconds) return Errno::einval;
    const i64 now = clock::wall_time_ns();
    const i64 fraction = now % billion + part * unit;
    (void)TRY(set_wall_time(call, now / billion + state.time.seconds + fraction / billion, fraction % billion));
    change = (modes & ~(set_offset | nanoseconds)) != 0;
  }
  if (change) return Errno::eperm;
  const i64 now = clock::wall_time_ns();
  state = ClockState{};
  state.modes = modes;
  state.most_error = state.estimated_error = unknown_error_us;
  state.status = not_synchronised;
  state.time_constant = 2;
  state.precision = 1;
  state.tolerance = 32'768'000;
  state.time = {now / billion, now % billion / 1000};
  state.tick = 10'000;
  TRY(call.write(at, state));
  return time_error;
}

Result<i64> sys_adjtimex(Call& call) {
  return adjust(call, call.address(0));
}

Result<i64> sys_clock_adjtime(Call& call) {
  const i32 clock_id = call.number(0);
  if (clock_id == clock_realtime) return adjust(call, call.address(1));
  return clock_id > 0 && clock_id <= clock_tai && clock_id != clock_tai - 1 ? Errno::eopnotsupp : Errno::einval;
}

constexpr Entry entries[] = {
    {159, "adjtimex", sys_adjtimex},
    {164, "settimeofday", sys_settimeofday},
    {227, "clock_settime", sys_clock_settime},
    {305, "clock_adjtime", sys_clock_adjtime},
};

}  // namespace

std::span<const Entry> wall_clock_calls() {
  return entries;
}

}  // namespace corral::abi

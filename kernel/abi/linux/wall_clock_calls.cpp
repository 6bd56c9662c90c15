// Setting the wall clock: settimeofday, clock_settime. Time since boot never jumps. Source: Linux clock_settime(2), settimeofday(2).
#include "abi/linux/call.h"
#include "abi/linux/clock_setting.h"
#include "abi/linux/cpu_clocks.h"
#include "abi/linux/resource_usage.h"
#include "abi/linux/time_values.h"
#include "core/wall_clock.h"
#include "device/clock.h"

namespace corral::abi {

namespace {

constexpr i64 billion = 1'000'000'000;
constexpr i32 clock_realtime = 0;

Result<i64> sys_clock_settime(Call& call) {
  const i32 clock_id = call.number(0);
  const bool of_process = clock_id < 0 && is_cpu_clock(clock_id);  // not the caller's own by their names
  if (!of_process && clock_id != clock_realtime) return Errno::einval;
  const TimeSpec wanted = TRY(call.read<TimeSpec>(call.address(1)));
  if (of_process) {
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

constexpr Entry entries[] = {
    {164, "settimeofday", sys_settimeofday},
    {227, "clock_settime", sys_clock_settime},
};

}  // namespace

Result<i64> set_wall_time(const Call& call, i64 seconds, i64 ns) {
  if (seconds < 0 || seconds >= latest_wall_seconds || ns < 0 || ns >= billion) return Errno::einval;
  if (!call.thread.may(Capability::sys_time)) return Errno::eperm;
  const i64 at_boot = seconds * billion + ns - clock::now().ns;
  if (at_boot < 0) return Errno::einval;
  wall_clock::set_boot_time(at_boot);
  forget_clock_errors();
  return 0;
}

std::span<const Entry> wall_clock_calls() {
  return entries;
}

}  // namespace corral::abi

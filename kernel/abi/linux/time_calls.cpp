// Clocks, sleeping, interval timers. Source: Linux clock_gettime(2), clock_nanosleep(2), setitimer(2).
#include "abi/linux/call.h"
#include "abi/linux/resource_usage.h"
#include "abi/linux/time_values.h"
#include "core/core.h"
#include "device/clock.h"

namespace corral::abi {

namespace {

enum ClockId : i32 {
  clock_realtime = 0,
  clock_monotonic = 1,
  clock_process = 2,
  clock_thread = 3,
  clock_monotonic_raw = 4,
  clock_realtime_coarse = 5,
  clock_monotonic_coarse = 6,
  clock_boot = 7,
  clock_tai = 11,
};
constexpr i32 absolute_time = 1;  // TIMER_ABSTIME
constexpr i64 ticks_per_second = 100;  // USER_HZ
constexpr i64 billion = 1'000'000'000;

Result<i64> read_clock(Call& call, i32 clock_id) {
  switch (clock_id) {
    case clock_realtime:
    case clock_realtime_coarse:
    case clock_tai: return clock::boot_wall_time_ns() + clock::now().ns;
    case clock_monotonic:
    case clock_monotonic_raw:
    case clock_monotonic_coarse:
    case clock_boot: return clock::now().ns;
    case clock_process: {
      this_core().scheduler->update_running();
      const Times t = times_of(call.process);
      return t.user_ns + t.system_ns;
    }
    case clock_thread: this_core().scheduler->update_running(); return call.thread.run_ns();
    default: return Errno::einval;
  }
}

Result<i64> sys_clock_gettime(Call& call) {
  const i64 ns = TRY(read_clock(call, call.number(0)));
  TRY(call.write(call.address(1), time_spec(ns)));
  return 0;
}

Result<i64> sys_clock_getres(Call& call) {
  (void)TRY(read_clock(call, call.number(0)));
  if (call.argument[1] != 0) TRY(call.write(call.address(1), TimeSpec{0, 1}));
  return 0;
}

// One user and no way to set the wall clock yet: the answer is Linux's for a caller without the right.
Result<i64> sys_clock_settime(Call&) {
  return Errno::eperm;
}

Result<i64> sys_gettimeofday(Call& call) {
  const i64 ns = clock::boot_wall_time_ns() + clock::now().ns;
  if (call.argument[0] != 0) TRY(call.write(call.address(0), TimeValue{ns / billion, ns % billion / 1000}));
  if (call.argument[1] != 0) TRY(call.write(call.address(1), u64{0}));
  return 0;
}

Result<i64> sys_time(Call& call) {
  const i64 seconds = (clock::boot_wall_time_ns() + clock::now().ns) / billion;
  if (call.argument[0] != 0) TRY(call.write(call.address(0), seconds));
  return seconds;
}

// word 0: the deadline. Relative sleeps report what is left when a signal ends them.
Result<i64> sleep(Call& call, i32 clock_id, bool absolute, VirtualAddress request, VirtualAddress remaining) {
  Thread& thread = call.thread;
  if (thread.step.phase == 0) {
    if (clock_id == clock_thread || clock_id == clock_process)
      return clock_id == clock_thread ? Errno::einval : Errno::eopnotsupp;
    (void)TRY(read_clock(call, clock_id));
    const TimeSpec spec = TRY(call.read<TimeSpec>(request));
    const Duration wait = TRY(duration_of(spec));
    Instant deadline = deadline_after(clock::now(), wait);
    if (absolute) {
      const bool wall = clock_id == clock_realtime || clock_id == clock_tai;
      deadline = Instant{wait.ns - (wall ? clock::boot_wall_time_ns() : 0)};
    }
    thread.step.word[0] = static_cast<u64>(deadline.ns);
    thread.step.phase = 1;
  }
  const Instant deadline{static_cast<i64>(thread.step.word[0])};
  const Instant now = clock::now();
  if (deadline <= now) return 0;
  const Errno result = thread.sleep_until(deadline);
  if (result == Errno::blocked) return result;
  if (absolute) return Errno::restart_without_handler;
  if (remaining.value != 0) TRY(call.write(remaining, time_spec((deadline - now).ns)));
  return Errno::restart_from_step;
}

Result<i64> sys_nanosleep(Call& call) {
  return sleep(call, clock_monotonic, false, call.address(0), call.address(1));
}

Result<i64> sys_clock_nanosleep(Call& call) {
  return sleep(call, call.number(0), (call.number(1) & absolute_time) != 0, call.address(2), call.address(3));
}

Result<i64> sys_times(Call& call) {
  this_core().scheduler->update_running();
  const Times own = times_of(call.process);
  const Times children = times_of_children(call.process);
  struct {
    i64 user, system, children_user, children_system;
  } out{};
  constexpr i64 tick = billion / ticks_per_second;
  out = {own.user_ns / tick, own.system_ns / tick, children.user_ns / tick, children.system_ns / tick};
  if (call.argument[0] != 0) TRY(call.write(call.address(0), out));
  return clock::now().ns / tick;
}

Result<i64> sys_getrusage(Call& call) {
  constexpr i32 self = 0, children = -1, thread = 1;
  this_core().scheduler->update_running();
  Times times;
  switch (call.number(0)) {
    case self: times = times_of(call.process); break;
    case children: times = times_of_children(call.process); break;
    case thread: times = times_of(call.thread); break;
    default: return Errno::einval;
  }
  TRY(call.write(call.address(1), usage_of(times)));
  return 0;
}

// ---- alarm and setitimer(ITIMER_REAL): the process's real-time interval timer -------------------------------------------------

struct Interval {
  TimeValue interval, value;
};

Result<i64> microseconds_of(const TimeValue& v) {
  constexpr i64 million = 1'000'000;
  if (v.seconds < 0 || v.microseconds < 0 || v.microseconds >= million) return Errno::einval;
  if (v.seconds >= INT64_MAX / billion) return INT64_MAX / 1000;
  return v.seconds * million + v.microseconds;
}

TimeValue time_value(i64 ns) {
  const i64 up = (ns + 999) / 1000;
  return {up / 1'000'000, up % 1'000'000};
}

Result<i64> sys_setitimer(Call& call) {
  constexpr i32 real = 0;
  if (call.number(0) < 0 || call.number(0) > 2) return Errno::einval;
  if (call.number(0) != real) return Errno::einval;  // times of execution: not offered (docs/caveats.md)
  Interval wanted{};
  if (call.argument[1] != 0) wanted = TRY(call.read<Interval>(call.address(1)));
  const i64 value = TRY(microseconds_of(wanted.value));
  const i64 interval = TRY(microseconds_of(wanted.interval));
  if (call.argument[2] != 0) {
    TRY(vm::prepare(call.space, call.thread.caller, call.address(2), sizeof(Interval), vm::Access::write));
  }
  const AlarmState old = call.process.alarm.set(microseconds(value), microseconds(interval));
  if (call.argument[2] != 0) TRY(call.write(call.address(2), Interval{time_value(old.interval.ns), time_value(old.left.ns)}));
  return 0;
}

Result<i64> sys_getitimer(Call& call) {
  if (call.number(0) != 0) return Errno::einval;
  const AlarmState now = call.process.alarm.state();
  TRY(call.write(call.address(1), Interval{time_value(now.interval.ns), time_value(now.left.ns)}));
  return 0;
}

Result<i64> sys_alarm(Call& call) {
  const u64 wanted = call.argument[0] & 0xffff'ffff;
  const AlarmState old = call.process.alarm.set(seconds(static_cast<i64>(wanted)), {});
  const i64 left = (old.left.ns + billion / 2) / billion;
  return old.left.ns > 0 && left == 0 ? 1 : left;
}

constexpr Entry entries[] = {
    {35, "nanosleep", sys_nanosleep},
    {36, "getitimer", sys_getitimer},
    {37, "alarm", sys_alarm},
    {38, "setitimer", sys_setitimer},
    {96, "gettimeofday", sys_gettimeofday},
    {98, "getrusage", sys_getrusage},
    {100, "times", sys_times},
    {201, "time", sys_time},
    {227, "clock_settime", sys_clock_settime},
    {228, "clock_gettime", sys_clock_gettime},
    {229, "clock_getres", sys_clock_getres},
    {230, "clock_nanosleep", sys_clock_nanosleep},
};

}  // namespace

std::span<const Entry> time_calls() {
  return entries;
}

}  // namespace corral::abi

// Clocks, sleeping, times. Source: Linux clock_gettime(2), clock_nanosleep(2), getrusage(2). Timers: timer_calls.cpp.
#include "abi/linux/call.h"
#include "abi/linux/cpu_clocks.h"
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
  if (is_cpu_clock(clock_id)) return used_ns(TRY(cpu_clock_of(call, clock_id)));
  switch (clock_id) {
    case clock_realtime:
    case clock_realtime_coarse:
    case clock_tai: return clock::wall_time_ns();
    case clock_monotonic:
    case clock_monotonic_raw:
    case clock_monotonic_coarse:
    case clock_boot: return clock::now().ns;
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

Result<i64> sys_gettimeofday(Call& call) {
  const i64 ns = clock::wall_time_ns();
  if (call.argument[0] != 0) TRY(call.write(call.address(0), time_value(ns)));
  if (call.argument[1] != 0) TRY(call.write(call.address(1), u64{0}));
  return 0;
}

Result<i64> sys_time(Call& call) {
  const i64 seconds = (clock::wall_time_ns()) / billion;
  if (call.argument[0] != 0) TRY(call.write(call.address(0), seconds));
  return seconds;
}

// A sleep that a signal ended. Relative ones report what is left.
Result<i64> interrupted_sleep(Call& call, bool absolute, VirtualAddress remaining, i64 left_ns) {
  if (absolute) return Errno::restart_without_handler;
  if (remaining.value != 0) TRY(call.write(remaining, time_spec(left_ns)));
  return Errno::restart_from_step;
}

// By a clock of processor time; word 0: how much must have been used. While a thread sleeps its process uses at most as much time
// as passes on each core; so it looks again when it may be enough.
Result<i64> sleep_by_processor_time(Call& call, i32 clock_id, bool absolute, VirtualAddress request, VirtualAddress remaining) {
  constexpr i64 least_ns = 1'000'000;
  Thread& thread = call.thread;
  const CpuClock clock = TRY(cpu_clock_of(call, clock_id));
  if (thread.step.phase == 0) {
    const Duration wait = TRY(duration_of(TRY(call.read<TimeSpec>(request))));
    if (clock.thread.get() == &thread) return Errno::einval;  // it would never end
    const i64 start = absolute ? 0 : used_ns(clock);
    thread.step.word[0] = static_cast<u64>(wait.ns < INT64_MAX - start ? start + wait.ns : INT64_MAX);
    thread.step.phase = 1;
  }
  const i64 left = static_cast<i64>(thread.step.word[0]) - used_ns(clock);
  if (left <= 0) return 0;
  const i64 cores_busy = clock.thread ? 1 : clock.process->thread_count();
  const i64 pause = left / (cores_busy > 0 ? cores_busy : 1);
  const Errno result = thread.sleep_until(deadline_after(clock::now(), Duration{pause > least_ns ? pause : least_ns}));
  return result == Errno::blocked ? result : interrupted_sleep(call, absolute, remaining, left);
}

// word 0: the deadline, by wall time if word 1 is not 0.
Result<i64> sleep(Call& call, i32 clock_id, bool absolute, VirtualAddress request, VirtualAddress remaining) {
  Thread& thread = call.thread;
  if (thread.step.phase == 0) {
    if (clock_id == clock_monotonic_raw || clock_id == clock_realtime_coarse || clock_id == clock_monotonic_coarse)
      return Errno::eopnotsupp;
    (void)TRY(read_clock(call, clock_id));
    const TimeSpec spec = TRY(call.read<TimeSpec>(request));
    const Duration wait = TRY(duration_of(spec));
    const Instant deadline = absolute ? Instant{wait.ns} : deadline_after(clock::now(), wait);
    thread.step.word[0] = static_cast<u64>(deadline.ns);
    thread.step.word[1] = absolute && (clock_id == clock_realtime || clock_id == clock_tai) ? 1 : 0;
    thread.step.phase = 1;
  }
  const i64 ns = static_cast<i64>(thread.step.word[0]);
  const Deadline deadline = thread.step.word[1] != 0 ? Deadline::at_wall_time(ns) : Deadline{Instant{ns}};
  const Duration left = clock::instant_of(deadline) - clock::now();
  if (left.ns <= 0) return 0;
  const Errno result = thread.sleep_until(deadline);
  return result == Errno::blocked ? result : interrupted_sleep(call, absolute, remaining, left.ns);
}

Result<i64> sys_nanosleep(Call& call) {
  return sleep(call, clock_monotonic, false, call.address(0), call.address(1));
}

Result<i64> sys_clock_nanosleep(Call& call) {
  const auto how = is_cpu_clock(call.number(0)) && call.number(0) != clock_thread ? sleep_by_processor_time : sleep;
  if (call.number(0) == clock_thread) return Errno::eopnotsupp;
  return how(call, call.number(0), (call.number(1) & absolute_time) != 0, call.address(2), call.address(3));
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
  ResourceUsage usage{};
  switch (call.number(0)) {
    case self: usage = usage_of(call.process); break;
    case children: usage = usage_of_children(call.process); break;
    case thread: usage = usage_of(call.thread); break;
    default: return Errno::einval;
  }
  TRY(call.write(call.address(1), usage));
  return 0;
}

constexpr Entry entries[] = {
    {35, "nanosleep", sys_nanosleep},
    {96, "gettimeofday", sys_gettimeofday},
    {98, "getrusage", sys_getrusage},
    {100, "times", sys_times},
    {201, "time", sys_time},
    {228, "clock_gettime", sys_clock_gettime},
    {229, "clock_getres", sys_clock_getres},
    {230, "clock_nanosleep", sys_clock_nanosleep},
};

}  // namespace

std::span<const Entry> time_calls() {
  return entries;
}

}  // namespace corral::abi

// Timers that send signals: alarm, setitimer, timer_create and what belongs to it. Source: Linux setitimer(2), timer_create(2),
// timer_settime(2), timer_getoverrun(2).
#include "abi/linux/call.h"
#include "abi/linux/cpu_clocks.h"
#include "abi/linux/resource_usage.h"
#include "abi/linux/time_values.h"
#include "core/core.h"
#include "device/clock.h"

namespace corral::abi {

namespace {

constexpr i64 billion = 1'000'000'000;

// ---- alarm, setitimer ------------------------------------------------------------------------------------------------

enum Which : i32 { real = 0, virtual_time = 1, profiling = 2 };

struct Interval {
  TimeValue interval, value;
};

Result<i64> nanoseconds_of(const TimeValue& v) {
  constexpr i64 million = 1'000'000;
  if (v.seconds < 0 || v.microseconds < 0 || v.microseconds >= million) return Errno::einval;
  if (v.seconds >= INT64_MAX / billion) return INT64_MAX;
  return v.seconds * billion + v.microseconds * 1000;
}

// A time that is left is told rounded up: it is not over before it is.
TimeValue rounded_up(i64 ns) {
  const i64 up = ns / 1000 + (ns % 1000 != 0 ? 1 : 0);
  return {up / 1'000'000, up % 1'000'000};
}

Interval told(const TimerSetting& s) {
  return {rounded_up(s.interval.ns), rounded_up(s.next == never ? 0 : (s.next - clock::now()).ns)};
}

Interval told(const CpuTimers::Setting& s) {
  return {rounded_up(s.interval_ns), rounded_up(s.left_ns)};
}

CpuTimers::Kind kind_of(i32 which) {
  return which == virtual_time ? CpuTimers::user_only : CpuTimers::user_and_system;
}

Result<i64> sys_setitimer(Call& call) {
  Interval wanted{};
  if (call.argument[1] != 0) wanted = TRY(call.read<Interval>(call.address(1)));
  const i64 value = TRY(nanoseconds_of(wanted.value));
  const i64 interval = TRY(nanoseconds_of(wanted.interval));
  const i32 which = call.number(0);
  if (which < real || which > profiling) return Errno::einval;
  if (call.argument[2] != 0) {
    TRY(vm::prepare(call.space, call.thread.caller, call.address(2), sizeof(Interval), vm::Access::write));
  }
  const Interval old = which == real ? told(TRY(call.process.timers.set_alarm(Duration{value}, Duration{interval})))
                                     : told(call.process.cpu_timers.set(kind_of(which), {value, interval}));
  if (call.argument[2] != 0) TRY(call.write(call.address(2), old));
  return 0;
}

Result<i64> sys_getitimer(Call& call) {
  const i32 which = call.number(0);
  if (which < real || which > profiling) return Errno::einval;
  TRY(call.write(call.address(1),
                 which == real ? told(call.process.timers.alarm()) : told(call.process.cpu_timers.setting(kind_of(which)))));
  return 0;
}

Result<i64> sys_alarm(Call& call) {
  const u64 wanted = call.argument[0] & 0xffff'ffff;
  const TimerSetting old = TRY(call.process.timers.set_alarm(seconds(static_cast<i64>(wanted)), {}));
  if (old.next == never) return 0;
  const i64 left = ((old.next - clock::now()).ns + billion / 2) / billion;
  return left > 0 ? left : 1;
}

// ---- timer_create ----------------------------------------------------------------------------------------------------

enum ClockId : i32 {
  realtime = 0,
  monotonic = 1,
  monotonic_raw = 4,
  realtime_coarse = 5,
  monotonic_coarse = 6,
  boot_time = 7,
  realtime_alarm = 8,
  boot_time_alarm = 9,
  tai = 11,
};
enum Notify : i32 { by_signal = 0, not_at_all = 1, by_thread = 2, to_thread = 4 };

struct Event {  // struct sigevent
  u64 value;
  i32 signal, notify, thread;
  u8 rest[64 - 20];
};
static_assert(sizeof(Event) == 64);

struct TimerSpec {
  TimeSpec interval, value;
};

// einval: no such clock, or one of another process (docs/caveats.md); eopnotsupp: one that has no timers.
Result<TimerClock> clock_of(Call& call, i32 id) {
  using Counts = TimerClock::Counts;
  if (is_cpu_clock(id)) {
    CpuClock clock = TRY(cpu_clock_of(call, id));
    if (clock.process.get() != &call.process) return Errno::einval;
    return TimerClock{clock.user_only ? Counts::user_time : Counts::processor_time, std::move(clock.thread)};
  }
  switch (id) {
    case realtime:
    case monotonic:
    case boot_time:
    case tai: return TimerClock{};
    case monotonic_raw:
    case realtime_coarse:
    case monotonic_coarse:
    case realtime_alarm:
    case boot_time_alarm: return Errno::eopnotsupp;
    default: return Errno::einval;
  }
}

Result<i64> sys_timer_create(Call& call) {
  Event event{};
  event.signal = sigalrm;
  if (call.argument[1] != 0) event = TRY(call.read<Event>(call.address(1)));
  TimerClock clock = TRY(clock_of(call, call.number(0)));
  Ref<Thread> thread;
  switch (event.notify) {
    case by_signal | to_thread:
      thread = call.process.find_thread({event.thread});
      if (!thread) return Errno::einval;
      [[fallthrough]];
    case by_signal:
    case by_thread:
      if (event.signal <= 0 || event.signal > signal_count) return Errno::einval;
      break;
    case not_at_all: break;
    default: return Errno::einval;
  }
  TRY(vm::prepare(call.space, call.thread.caller, call.address(2), sizeof(i32), vm::Access::write));
  const SignalInfo signal{.number = event.signal, .code = code_timer, .value = event.value};
  const Ref<ProcessTimer> timer =
      TRY(call.process.timers.create(signal, std::move(thread), event.notify == not_at_all, std::move(clock), call.number(0)));
  timer->set_identity(call.argument[1] == 0);
  const Result<void> written = call.write(call.address(2), timer->id);
  if (!written) {
    call.process.timers.remove(*timer);
    return written.error();
  }
  return 0;
}

// The process's lock is held.
TimerSpec told_exactly(const ProcessTimer& timer) {
  const TimerSetting s = timer.setting();
  const i64 left = s.next == never ? 0 : (s.next - timer.now()).ns;
  return {time_spec(s.interval.ns), time_spec(s.next == never || left > 0 ? left : 1)};
}

// When a timer is to pass that a program sets to `value`; never: not at all. The process's lock is held.
TimerSetting first_passing(const ProcessTimer& timer, Duration value, bool absolute) {
  if (value.ns == 0) return {};
  const bool goes_by_time = timer.clock >= 0 && !is_cpu_clock(timer.clock);
  const Instant now = goes_by_time ? clock::now() : timer.now();
  const Instant next = absolute ? Instant{value.ns} : deadline_after(now, value);
  return {next, {}, absolute && (timer.clock == realtime || timer.clock == tai)};
}

Result<i64> sys_timer_settime(Call& call) {
  constexpr i32 absolute = 1;
  if (call.argument[2] == 0) return Errno::einval;
  const TimerSpec spec = TRY(call.read<TimerSpec>(call.address(2)));
  const Duration value = TRY(duration_of(spec.value));
  const Duration interval = TRY(duration_of(spec.interval));
  const Ref<ProcessTimer> timer = call.process.timers.find(call.number(0));
  if (!timer) return Errno::einval;
  if (call.argument[3] != 0) {
    TRY(vm::prepare(call.space, call.thread.caller, call.address(3), sizeof(TimerSpec), vm::Access::write));
  }
  TimerSpec old{};
  this_core().scheduler->update_running();
  {
    LockGuard guard{call.process.lock()};
    old = told_exactly(*timer);
    TimerSetting wanted = first_passing(*timer, value, (call.number(1) & absolute) != 0);
    if (value.ns != 0) wanted.interval = interval;
    timer->start(wanted);
  }
  if (call.argument[3] != 0) TRY(call.write(call.address(3), old));
  return 0;
}

Result<i64> sys_timer_gettime(Call& call) {
  const Ref<ProcessTimer> timer = call.process.timers.find(call.number(0));
  if (!timer) return Errno::einval;
  TimerSpec present{};
  this_core().scheduler->update_running();
  {
    LockGuard guard{call.process.lock()};
    present = told_exactly(*timer);
  }
  TRY(call.write(call.address(1), present));
  return 0;
}

Result<i64> sys_timer_getoverrun(Call& call) {
  const Ref<ProcessTimer> timer = call.process.timers.find(call.number(0));
  if (!timer) return Errno::einval;
  LockGuard guard{call.process.lock()};
  return timer->overrun();
}

Result<i64> sys_timer_delete(Call& call) {
  const Ref<ProcessTimer> timer = call.process.timers.find(call.number(0));
  if (!timer) return Errno::einval;
  call.process.timers.remove(*timer);
  return 0;
}

constexpr Entry entries[] = {
    {36, "getitimer", sys_getitimer},
    {37, "alarm", sys_alarm},
    {38, "setitimer", sys_setitimer},
    {222, "timer_create", sys_timer_create},
    {223, "timer_settime", sys_timer_settime},
    {224, "timer_gettime", sys_timer_gettime},
    {225, "timer_getoverrun", sys_timer_getoverrun},
    {226, "timer_delete", sys_timer_delete},
};

}  // namespace

std::span<const Entry> timer_calls() {
  return entries;
}

}  // namespace corral::abi

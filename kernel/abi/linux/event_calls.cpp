// eventfd and timerfd. Source: Linux man-pages eventfd(2), timerfd_create(2). The order of the checks is Linux's.
#include <algorithm>

#include "abi/linux/file_handlers.h"
#include "device/clock.h"
#include "fs/event/event_counter.h"
#include "fs/event/timer_file.h"

namespace corral::abi {

namespace {

using fs::OpenFile;

Result<i64> install(Call& call, Ref<OpenFile> file, u32 flags) {
  return i64{
      TRY(resources_of(call).files().install(std::move(file), (flags & fs::o_cloexec) != 0, call.process.limits.open_files))};
}

Result<i64> make_counter(Call& call, u32 flags) {
  constexpr u32 semaphore = 1;
  if ((flags & ~(semaphore | fs::o_cloexec | fs::o_nonblock)) != 0) return Errno::einval;
  const u64 start = static_cast<u32>(call.argument[0]);
  return install(call, TRY(fs::make_event_counter(start, (flags & semaphore) != 0, flags & fs::o_nonblock)), flags);
}

Result<i64> sys_eventfd(Call& call) {
  return make_counter(call, 0);
}

Result<i64> sys_eventfd2(Call& call) {
  return make_counter(call, static_cast<u32>(call.argument[1]));
}

// ---- timerfd -----------------------------------------------------------------------------------------------------------

struct TimerSpec {  // struct itimerspec
  TimeSpec interval, value;
};

TimerSpec spec_of(const fs::TimerSetting& setting) {
  return {time_spec(setting.interval.ns), time_spec(setting.left.ns)};
}

Result<i64> sys_timerfd_create(Call& call) {
  enum : int { realtime = 0, monotonic = 1, boot = 7, realtime_alarm = 8, boot_alarm = 9 };
  const u32 flags = static_cast<u32>(call.argument[1]);
  if ((flags & ~(fs::o_cloexec | fs::o_nonblock)) != 0) return Errno::einval;
  const int clock = call.number(0);
  switch (clock) {
    case realtime:
    case realtime_alarm: return install(call, TRY(fs::make_timer_file(true, clock, flags & fs::o_nonblock)), flags);
    case monotonic:
    case boot:
    case boot_alarm: return install(call, TRY(fs::make_timer_file(false, clock, flags & fs::o_nonblock)), flags);
    default: return Errno::einval;
  }
}

Result<Ref<OpenFile>> timer_at(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  if (!fs::is_timer_file(*file)) return (file->flags() & fs::o_path) != 0 ? Errno::ebadf : Errno::einval;
  return file;
}

Result<i64> sys_timerfd_settime(Call& call) {
  constexpr u32 absolute = 1, cancel_on_set = 2;
  const u32 flags = static_cast<u32>(call.argument[1]);
  const TimerSpec wanted = TRY(call.read<TimerSpec>(call.address(2)));
  if ((flags & ~(absolute | cancel_on_set)) != 0) return Errno::einval;
  const Duration value = TRY(duration_of(wanted.value));
  const Duration interval = TRY(duration_of(wanted.interval));
  Ref<OpenFile> file = TRY(timer_at(call));
  if (call.argument[3] != 0) {
    TRY(vm::prepare(call.space, call.thread.caller, call.address(3), sizeof(TimerSpec), vm::Access::write));
  }
  const bool by_wall = (flags & absolute) != 0 && fs::goes_by_wall_time(*file);
  constexpr i64 latest = fs::latest_expiry.ns;  // what is never is off
  const Instant expiry = (flags & absolute) != 0 ? Instant{value.ns} : deadline_after(clock::now(), value);
  Deadline first = Instant{std::min(expiry.ns, latest)};
  if (by_wall) first = Deadline::at_wall_time(std::min(value.ns, latest));
  if (value.ns == 0) first = never;
  bool cancelled = false;
  const fs::TimerSetting old =
      fs::set_timer_file(*file, first, interval, flags, by_wall && (flags & cancel_on_set) != 0, cancelled);
  if (cancelled) return Errno::ecanceled;
  if (call.argument[3] != 0) TRY(call.write(call.address(3), spec_of(old)));
  return 0;
}

Result<i64> sys_timerfd_gettime(Call& call) {
  Ref<OpenFile> file = TRY(timer_at(call));
  TRY(call.write(call.address(1), spec_of(fs::timer_file_setting(*file))));
  return 0;
}

constexpr Entry entries[] = {
    {283, "timerfd_create", sys_timerfd_create},
    {284, "eventfd", sys_eventfd},
    {286, "timerfd_settime", sys_timerfd_settime},
    {287, "timerfd_gettime", sys_timerfd_gettime},
    {290, "eventfd2", sys_eventfd2},
};

}  // namespace

std::span<const Entry> event_calls() {
  return entries;
}

}  // namespace corral::abi

// See cpu_timers.h.
#include "task/cpu_timers.h"

#include "core/core.h"
#include "sched/engine/scheduler.h"
#include "task/later.h"
#include "task/process.h"

namespace corral {

namespace {
constexpr i64 second = 1'000'000'000;
}

CpuTime cpu_time_of(Process& process) NO_THREAD_SAFETY_ANALYSIS {  // the lock is held: see the header
  CpuTime time{process.user_ns.load(Order::relaxed), process.system_ns.load(Order::relaxed)};
  process.for_each_thread_locked([&](Thread& thread) {
    if (thread.times_counted.load(Order::acquire)) return;
    time.user_ns += thread.user_ns();
    time.system_ns += thread.system_ns();
  });
  return time;
}

CpuTimers::Setting CpuTimers::told(const Timer& timer, i64 now) const {
  if (timer.at_ns == 0) return {0, timer.interval_ns};
  return {timer.at_ns > now ? timer.at_ns - now : 1, timer.interval_ns};
}

void CpuTimers::arm_if_set() {
  const ResourceLimits& limits = process_.limits;
  armed_.store(timers_[0].at_ns != 0 || timers_[1].at_ns != 0 || limits.cpu_seconds != no_limit ||
                   limits.hard[ResourceLimits::cpu] != no_limit || process_.timers.watch_processor(),
               Order::relaxed);
}

CpuTimers::Setting CpuTimers::set(Kind kind, Setting setting) {
  this_core().scheduler->update_running();
  LockGuard guard{process_.lock()};
  const CpuTime time = cpu_time_of(process_);
  const i64 now = kind == user_only ? time.user_ns : time.user_ns + time.system_ns;
  const Setting old = told(timers_[kind], now);
  const i64 most = INT64_MAX - now - 1;
  timers_[kind] = {setting.left_ns == 0 ? 0 : now + (setting.left_ns < most ? setting.left_ns : most), setting.interval_ns};
  watch();
  return old;
}

CpuTimers::Setting CpuTimers::setting(Kind kind) {
  this_core().scheduler->update_running();
  LockGuard guard{process_.lock()};
  const CpuTime time = cpu_time_of(process_);
  return told(timers_[kind], kind == user_only ? time.user_ns : time.user_ns + time.system_ns);
}

void CpuTimers::watch() NO_THREAD_SAFETY_ANALYSIS {  // the lock is held: see the header
  const bool watched = armed();
  arm_if_set();
  if (armed() && !watched) {
    process_.for_each_thread_locked([](Thread& thread) { thread.request(Request::look_at_signals); });
  }
}

void CpuTimers::limit_changed() {
  LockGuard guard{process_.lock()};
  watch();
}

void CpuTimers::look() {
  constexpr int signal_of[] = {sigvtalrm, sigprof};
  bool due[2] = {};
  bool over_soft = false;
  bool over_hard = false;
  this_core().scheduler->update_running();
  {
    LockGuard guard{process_.lock()};
    const CpuTime time = cpu_time_of(process_);
    const i64 all = time.user_ns + time.system_ns;
    for (const Kind kind : {user_only, user_and_system}) {
      Timer& timer = timers_[kind];
      const i64 now = kind == user_only ? time.user_ns : all;
      if (timer.at_ns == 0 || timer.at_ns > now) continue;
      due[kind] = true;
      timer.at_ns =
          timer.interval_ns == 0
              ? 0
              : later(Instant{timer.at_ns}, (now - timer.at_ns) / timer.interval_ns + 1, Duration{timer.interval_ns}).ns;
    }
    ResourceLimits& limits = process_.limits;
    const u64 seconds = static_cast<u64>(all / second);
    over_hard = seconds >= limits.hard[ResourceLimits::cpu];
    over_soft = !over_hard && seconds >= limits.cpu_seconds;
    process_.timers.look();
    if (over_soft) limits.cpu_seconds = seconds + 1;  // told again every second, as on Linux
    arm_if_set();
  }
  for (const Kind kind : {user_only, user_and_system}) {
    if (due[kind]) (void)signals::send(process_, {.number = signal_of[kind], .code = code_kernel});
  }
  if (over_soft) (void)signals::send(process_, {.number = sigxcpu, .code = code_kernel});
  if (over_hard) (void)signals::send(process_, {.number = sigkill, .code = code_kernel});
}

}  // namespace corral

// See process_timers.h. clang's analysis cannot see that SharedTimer's lock is the process's.
#include "task/process_timers.h"

#include <algorithm>

#include "device/clock.h"
#include "memory/heap.h"
#include "task/later.h"
#include "task/process.h"
#include "task/signal_queue.h"

namespace corral {

namespace {
// While its signal is ignored a timer goes on, but not faster than this.
constexpr Duration ignored_pause = milliseconds(10);
}  // namespace

ProcessTimer::ProcessTimer(Process& process, const SignalInfo& signal, Ref<Thread> thread, bool silent, TimerClock clock)
    : SharedTimer{process.lock()},
      process_{Ref<Process>::share(process)},
      thread_{std::move(thread)},
      silent_{silent},
      clock_{std::move(clock)},
      signal_{signal, {}, this} {}

void ProcessTimer::start(const TimerSetting& setting) NO_THREAD_SAFETY_ANALYSIS {
  signals::withdraw_locked(*process_, signal_);
  next_ = setting.next;
  by_wall_ = setting.by_wall;
  interval_ = setting.interval;
  overrun_ = 0;
  if (!silent_) arm(next_);
}

void ProcessTimer::arm(Instant when) NO_THREAD_SAFETY_ANALYSIS {
  if (clock_.counts == TimerClock::Counts::time) {
    set(by_wall_ && when != never ? Deadline::at_wall_time(when.ns) : Deadline{when});
    return;
  }
  processor_due_ = when;
  process_->cpu_timers.watch();
}

void ProcessTimer::disarm() {
  if (clock_.counts == TimerClock::Counts::time) {
    withdraw();
  } else {
    arm(never);
  }
}

Instant ProcessTimer::now() const NO_THREAD_SAFETY_ANALYSIS {
  const bool user_only = clock_.counts == TimerClock::Counts::user_time;
  if (clock_.counts == TimerClock::Counts::time) return by_wall_ ? Instant{clock::wall_time_ns()} : clock::now();
  if (clock_.thread) return {user_only ? clock_.thread->user_ns() : clock_.thread->run_ns()};
  const CpuTime used = cpu_time_of(*process_);
  return {used.user_ns + (user_only ? 0 : used.system_ns)};
}

void ProcessTimer::look() {
  if (processor_due_ == never || processor_due_ > now()) return;
  processor_due_ = never;
  due();
}

TimerSetting ProcessTimer::setting() const {
  TimerSetting told{next_, interval_, by_wall_};
  const Instant present = now();
  if (next_ == never || next_ > present) return told;
  told.next = never;
  if (interval_.ns != 0) told.next = later(next_, (present - next_).ns / interval_.ns + 1, interval_);
  return told;
}

void ProcessTimer::end() NO_THREAD_SAFETY_ANALYSIS {
  ended_ = true;
  next_ = never;
  disarm();
  signals::withdraw_locked(*process_, signal_);
  signal_.room = {};
}

void ProcessTimer::due() NO_THREAD_SAFETY_ANALYSIS {
  if (ended_) return;
  passed_ = next_;
  if (interval_.ns == 0) next_ = never;
  signal_.info.sender_user = 0;
  if (!signals::send_owned_locked(*process_, thread_.get(), signal_) && interval_.ns > 0) (void)go_on(ignored_pause);
}

// Passes next at the first multiple of its interval that is at least `least` away. Answers how often it should have passed since.
u64 ProcessTimer::go_on(Duration least) {
  const Instant present = now();
  const i64 missed = std::max(i64{0}, (present - passed_).ns / interval_.ns);
  next_ = std::max(later(passed_, missed + 1, interval_), present + least);
  arm(next_);
  return static_cast<u64>(missed);
}

void ProcessTimer::signal_taken(SignalInfo& info) {
  if (ended_) return;
  const u64 missed = interval_.ns > 0 ? go_on({}) : 0;
  overrun_ = static_cast<i32>(std::min(missed, u64{INT32_MAX}));
  if (info.code == code_timer) info.sender_user = static_cast<u32>(overrun_);
}

void ProcessTimer::signal_dropped() {
  if (!ended_ && interval_.ns > 0) (void)go_on(ignored_pause);
}

// ---- the timers of a process -----------------------------------------------------------------------------------------

Result<Ref<ProcessTimer>> ProcessTimers::create(const SignalInfo& signal, Ref<Thread> thread, bool silent, TimerClock clock,
                                                i32 number) {
  ProcessTimer* timer = TRY(memory::make<ProcessTimer>(process_, signal, std::move(thread), silent, std::move(clock)));
  Ref<ProcessTimer> made = Ref<ProcessTimer>::adopt(timer);
  LockGuard guard{process_.lock()};
  SignalRoom room = SignalRoom::within(process_.account(), process_.limits.pending_signals);
  if (!room || process_.ending()) return Errno::eagain;
  timer->take_room(std::move(room));
  timer->id = next_id_;
  timer->clock = number;
  next_id_ = next_id_ == INT32_MAX ? 0 : next_id_ + 1;
  timers_.push_back(*timer);
  timer->retain();
  return made;
}

Ref<ProcessTimer> ProcessTimers::find(i32 id) {
  LockGuard guard{process_.lock()};
  Ref<ProcessTimer> found;
  timers_.for_each([&](ProcessTimer& timer) {
    if (timer.id == id) found = Ref<ProcessTimer>::share(timer);
  });
  return found;
}

void ProcessTimers::remove(ProcessTimer& timer) {
  {
    LockGuard guard{process_.lock()};
    if (!timer.link.linked()) return;
    List::remove(timer);
    timer.end();
  }
  timer.drop();  // the list's reference
}

TimerSetting ProcessTimers::alarm() {
  LockGuard guard{process_.lock()};
  return alarm_ ? alarm_->setting() : TimerSetting{};
}

Result<TimerSetting> ProcessTimers::set_alarm(Duration first, Duration interval) {
  Ref<ProcessTimer> spare;
  if (!alarm_ && first.ns > 0) {
    const SignalInfo signal{.number = sigalrm, .code = code_kernel};
    spare = Ref<ProcessTimer>::adopt(TRY(memory::make<ProcessTimer>(process_, signal, Ref<Thread>{}, false, TimerClock{})));
  }
  LockGuard guard{process_.lock()};
  if (!alarm_) alarm_ = std::move(spare);
  if (!alarm_ || process_.ending()) return TimerSetting{};
  const TimerSetting old = alarm_->setting();
  const Instant now = clock::now();
  const Instant next = first.ns <= 0 ? never : first.ns >= INT64_MAX - now.ns ? Instant{INT64_MAX - 1} : now + first;
  alarm_->start({next, interval});
  return old;
}

bool ProcessTimers::watch_processor() {
  bool any = false;
  timers_.for_each([&](const ProcessTimer& timer) { any = any || timer.watches_processor(); });
  return any;
}

void ProcessTimers::look() {
  timers_.for_each([](ProcessTimer& timer) { timer.look(); });
}

void ProcessTimers::release(bool alarm_too) {
  Ref<ProcessTimer> gone;
  if (alarm_too) {
    LockGuard guard{process_.lock()};
    if (alarm_) alarm_->end();
    gone = std::move(alarm_);
  }
  for (;;) {
    ProcessTimer* timer;
    {
      LockGuard guard{process_.lock()};
      timer = timers_.pop_front();
      if (timer == nullptr) return;
      timer->end();
    }
    timer->drop();
  }
}

}  // namespace corral

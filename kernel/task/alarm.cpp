// See alarm.h.
#include "task/alarm.h"

#include <algorithm>
#include <new>

#include "core/core.h"
#include "device/clock.h"
#include "task/process.h"

namespace corral {

struct Alarm::Shot {
  TimerEvent event{fire};
  Ref<Process> process;
  u64 setting = 0;
};

AlarmState Alarm::state_locked() const {
  if (when_ == never) return {{}, interval_};
  return {std::max(when_ - clock::now(), nanoseconds(1)), interval_};
}

AlarmState Alarm::state() {
  LockGuard guard{lock_};
  return state_locked();
}

AlarmState Alarm::set(Duration first, Duration interval) {
  LockGuard guard{lock_};
  const AlarmState old = state_locked();
  ++setting_;
  when_ = never;
  interval_ = interval;
  if (first.ns > 0) arm(clock::now() + first);
  return old;
}

void Alarm::arm(Instant when) {
  auto* shot = new (std::nothrow) Shot;
  if (shot == nullptr) return;
  shot->process = Ref<Process>::share(process_);
  shot->setting = setting_;
  when_ = when;
  Core& core = this_core();
  core.timers().add(shot->event, when);
  core.rearm_timer();
}

void Alarm::fire(TimerEvent& event) {
  auto* shot = reinterpret_cast<Shot*>(&event);  // its first member
  Process& process = *shot->process;
  Alarm& alarm = process.alarm;
  bool due;
  {
    LockGuard guard{alarm.lock_};
    due = shot->setting == alarm.setting_;
    if (due) {
      const Instant fired = alarm.when_;
      alarm.when_ = never;
      if (alarm.interval_.ns > 0) alarm.arm(std::max(fired + alarm.interval_, clock::now() + microseconds(10)));
    }
  }
  if (due) (void)signals::send(process, {sigalrm, 0x80, 0, 0, 0});
  delete shot;
}

}  // namespace corral

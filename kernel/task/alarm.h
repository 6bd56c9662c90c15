// The real-time interval timer of a process (alarm, setitimer): sends SIGALRM.
//
// The timer event lives in the queue of the core that set it. Setting it from another core cannot touch that queue, so each
// setting has a number: an event of an older setting finds that it is stale and does nothing. The event is owned by a small
// object that goes when it has fired, so a process may end while one is still queued.
#pragma once

#include "lib/types.h"
#include "sync/spin_lock.h"

namespace corral {

class Process;

struct AlarmState {
  Duration left{}, interval{};
};

class Alarm {
 public:
  explicit Alarm(Process& process) : process_{process} {}
  // Sends SIGALRM after `first` and then every `interval`; 0: off, not repeated. What was set before. When there is no
  // memory for the timer it is off.
  AlarmState set(Duration first, Duration interval) EXCLUDES(lock_);
  [[nodiscard]] AlarmState state() EXCLUDES(lock_);

 private:
  struct Shot;
  static void fire(class TimerEvent& event);
  void arm(Instant when) REQUIRES(lock_);
  [[nodiscard]] AlarmState state_locked() const REQUIRES(lock_);

  Process& process_;
  SpinLock lock_{Rank::process_timer, "alarm"};
  u64 setting_ GUARDED_BY(lock_) = 0;
  Instant when_ GUARDED_BY(lock_) = never;
  Duration interval_ GUARDED_BY(lock_){};
};

}  // namespace corral

// What a process is told of the processor time that it uses: ITIMER_VIRTUAL, ITIMER_PROF, RLIMIT_CPU and timer_create. While one of them is set,
// every core that runs one of its threads looks at its time every 4 ms (Executive). Source: setitimer(2), getrlimit(2).
// Guarded by the process's lock; armed() is read by any core.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

class Process;

struct CpuTime {
  i64 user_ns = 0, system_ns = 0;
};
// Of the threads that live and those that ended. The caller holds the process's lock.
[[nodiscard]] CpuTime cpu_time_of(Process& process);

class CpuTimers {
 public:
  static constexpr Duration look_interval = milliseconds(4);
  enum Kind : u32 { user_only = 0, user_and_system = 1 };
  struct Setting {
    i64 left_ns = 0;  // 0: off
    i64 interval_ns = 0;
  };

  explicit CpuTimers(Process& process) : process_{process} {}
  [[nodiscard]] bool armed() const { return armed_.load(Order::relaxed); }
  // What was set before.
  Setting set(Kind kind, Setting setting);
  [[nodiscard]] Setting setting(Kind kind);
  void limit_changed();  // RLIMIT_CPU
  // A timer of timer_create was set. The process's lock is held.
  void watch();
  // Sends what is due. Any step or the timer interrupt, on a core that runs one of the threads; no lock is held.
  void look();

 private:
  struct Timer {
    i64 at_ns = 0;  // of the time that it counts; 0: off
    i64 interval_ns = 0;
  };
  [[nodiscard]] Setting told(const Timer& timer, i64 now) const;
  void arm_if_set();

  Process& process_;
  Timer timers_[2];
  Atomic<bool> armed_{false};
};

}  // namespace corral

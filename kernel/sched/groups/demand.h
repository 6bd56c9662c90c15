// The dynamic ratio: how many cores the real-time class needs, from what ran and waited lately. Pure, any context.
//
// The demand of a class in an interval is the number of threads of it that could run: the time that its group's cores were
// busy, divided by the interval, and those that wait there at its end. While a class wants more cores than it has, the share
// moves a quarter of the way to what the demands of that interval ask for, in proportion; else it stays, so that a class which
// rests for a while, and whose cores nobody is short of, has its part when it goes on. The number of cores is the share, at
// least one for each class, once the share is further from it than the hysteresis.
//
// The share is smoothed and not the demands: of a thousand threads that are woken at once those of one class come first.
#pragma once

#include "lib/types.h"

namespace corral::sched {

// Of all cores of a group together.
struct GroupLoad {
  i64 busy_ns = 0;  // since any fixed moment, the same for all cores
  u32 waiting = 0;  // threads that could run and do not
};
struct GroupLoads {
  GroupLoad real_time, normal;
};

class Demand {
 public:
  // From here on; what was before is forgotten.
  void begin(const GroupLoads& loads, Instant now);
  // The groups have other cores from now on: these are their loads.
  void regroup(const GroupLoads& loads) { before_ = loads; }

  // Takes the next interval in, in which the groups did not change, and answers how many of `cores` (at least 2) the real-time
  // class should have, 1 … cores - 1. `present`: how many it has; `hysteresis` in hundredths of a core.
  [[nodiscard]] u32 next(const GroupLoads& loads, Instant now, u32 cores, u32 present, u32 hysteresis);

  // Of the last interval, in thousandths of a thread.
  [[nodiscard]] i64 real_time() const { return real_time_; }
  [[nodiscard]] i64 normal() const { return normal_; }

 private:
  void take(const GroupLoads& loads, Instant now);

  GroupLoads before_;
  Instant since_{};
  i64 real_time_ = 0, normal_ = 0;
  i64 share_ = 0;  // the real-time class's, in thousandths of a core; 0: nobody has been short of cores
};

}  // namespace corral::sched

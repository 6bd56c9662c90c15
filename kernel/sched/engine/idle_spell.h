// One idle core that is watched, by looks now and then: for how long it has slept without a break while each look found somebody who
// should run there. Which cores those are, the caller finds out (engine/idle_watch.h). Pure.
#pragma once

#include "lib/core_set.h"
#include "lib/types.h"

namespace corral::sched {

class IdleSpell {
 public:
  // How long a core may be left idle. A core with somebody to spare gives it away in microseconds.
  static constexpr Duration bound = seconds(1);

  // A look. False: the last one was a moment ago.
  [[nodiscard]] bool begin_look(Instant now) {
    const Duration passed = now - last_look_;
    if (passed < shortest) return false;
    last_look_ = now;
    if (passed > stale) core_ = none;
    step_ = passed > stale ? Duration{} : at_most_longest(passed);
    return true;
  }
  // What it stands for: the time since the last one, or a part of that.
  [[nodiscard]] Duration step() const { return step_; }
  // The core that is watched; max_cores: none.
  [[nodiscard]] CoreId core() const { return core_; }

  // What the look found: idle cores where somebody should run, or none. `counts`: false when others may have been about to see to
  // it, all the time since the last look that counted. `idle_time_of`: of a core, how long it has idled in all. True: core() was left
  // idle for longer than the bound; it is told again after as long again.
  template <class IdleTimeOf>
  [[nodiscard]] bool found(const CoreSet& promised, bool counts, Instant now, IdleTimeOf&& idle_time_of) {
    if (promised.empty()) {
      core_ = none;
    } else if (!promised.contains(core_) || idle_time_of(core_) - idle_then_ != now - since_) {
      core_ = promised.lowest();
      idle_then_ = idle_time_of(core_);
      since_ = now;
      found_idle_ = uncounted_ = {};
    } else {
      uncounted_ = at_most_longest(uncounted_ + step_);
      if (!counts) return false;
      found_idle_ = found_idle_ + uncounted_;
      uncounted_ = {};
      if (found_idle_ <= bound) return false;
      found_idle_ = {};
      return true;
    }
    return false;
  }

 private:
  // Looks are not closer to each other: each reads what every core publishes. A longer time between two counts as `longest`, so
  // that `bound` is several of them; after `stale`, nobody waited or the core was stopped meanwhile.
  static constexpr Duration shortest = milliseconds(20);
  static constexpr Duration longest = milliseconds(250);
  static constexpr Duration stale = milliseconds(750);
  static constexpr CoreId none{max_cores};

  static Duration at_most_longest(Duration time) { return time < longest ? time : longest; }

  Instant last_look_{};
  Duration step_{};
  // The core, how long it had idled in all, since when, and for how much of the time since then it was found so.
  CoreId core_ = none;
  Duration idle_then_{};
  Instant since_{};
  Duration found_idle_{};
  Duration uncounted_{};  // after that: steps of looks that did not count
};

}  // namespace corral::sched

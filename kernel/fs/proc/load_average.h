// The load averages: how many threads wanted a core, over 1, 5 and 15 minutes, decaying exponentially. Taken every five
// seconds by a timer of the bootstrap core, as Linux does (kernel/sched/loadavg.c has the constants and their origin:
// fixed point with 11 bits, exp(-5 s / 1, 5, 15 min)). The arithmetic is pure and tested on the host.
#pragma once

#include "lib/types.h"

namespace corral::fs {

struct LoadAverages {
  static constexpr u64 one = 2048;
  u64 minutes_1 = 0, minutes_5 = 0, minutes_15 = 0;

  // One sample: `running` threads now.
  constexpr void add(u64 running) {
    minutes_1 = mixed(minutes_1, 1884, running);
    minutes_5 = mixed(minutes_5, 2014, running);
    minutes_15 = mixed(minutes_15, 2037, running);
  }

 private:
  static constexpr u64 mixed(u64 load, u64 keep, u64 running) {
    const u64 now = running * one;
    // Rounded up while the load grows, so that it reaches what it tends to.
    return (load * keep + now * (one - keep) + (now >= load ? one - 1 : 0)) / one;
  }
};

inline constexpr Duration load_sample_period = seconds(5);

// Boot context, bootstrap core.
void start_load_sampling();
[[nodiscard]] LoadAverages load_averages();  // any core

}  // namespace corral::fs

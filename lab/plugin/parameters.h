// What the user asked for: the words after the plugin's name in QEMU's command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "shape.h"

namespace corral::cache_model {

enum class GuestClock : u8 {
  instructions,  // as QEMU counts: those of all cores, one after another
  stalls,  // ... and what refills cost
  parallel,  // the same, but cores that take turns run at the same time
};

struct Parameters {
  CacheShape l1{16 << 10, 4, 64};  // of each core
  CacheShape l2{128 << 10, 16, 64};  // of those that share one
  u32 l2_per = 0;  // so many neighbouring cores share one, up to 64; 0: all do
  u32 l1_latency = 10;  // cycles that a refill from the shared cache costs
  u32 l2_latency = 100;  // ... and those that memory costs beyond that
  u32 quantum = 0;  // cycles that a core's turn takes; 0: as QEMU likes
  GuestClock clock = GuestClock::instructions;
  bool region_only = false;  // counts only between the marks `start` and `stop`
  std::string report;  // file for it; empty: none is written

  // How many share one, of so many.
  [[nodiscard]] u32 l2_cores(u32 cores) const { return l2_per == 0 ? cores : l2_per; }
};

// Reads words such as "l1=32K:8"; a later one counts. Answers what is wrong with them; empty: nothing.
[[nodiscard]] std::string parse(std::span<const std::string_view> words, Parameters& parameters);

}  // namespace corral::cache_model

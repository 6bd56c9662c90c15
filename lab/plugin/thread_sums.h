// What the threads of the guest have done on one core. The core's thread writes; a report may read at any time.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "lib/cache_model.h"

namespace corral::cache_model {

// Numbers at one moment.
struct Reading {
  u64 values[modes][events] = {};

  static Reading of(const Sums& sums) {
    Reading reading;
    for (u32 mode = 0; mode < modes; ++mode) {
      for (u32 event = 0; event < events; ++event) {
        reading.values[mode][event] = sums.of(static_cast<Mode>(mode), static_cast<Event>(event));
      }
    }
    return reading;
  }
  // What was added since `before`.
  void add_since(const Reading& before, const Reading& now) {
    for (u32 mode = 0; mode < modes; ++mode) {
      for (u32 event = 0; event < events; ++event) values[mode][event] += now.values[mode][event] - before.values[mode][event];
    }
  }
  void add(const Reading& other) { add_since({}, other); }
};

struct ThreadUse {
  std::string name;
  Reading use;
};
using ThreadUses = std::map<u64, ThreadUse>;  // by the thread's number

class ThreadSums {
 public:
  // `thread` runs from now on, when the core's sums are `now`. 0: nobody does, and `name` is that of who did.
  void runs(u64 thread, std::string_view name, const Reading& now) {
    const std::lock_guard guard{lock_};
    settle(now);
    const u64 named = thread != 0 ? thread : current_;
    if (named != 0) uses_[named].name = name;
    current_ = thread;
  }
  void reset(const Reading& now) {
    const std::lock_guard guard{lock_};
    for (auto& [thread, use] : uses_) use.use = {};
    since_ = begin_ = now;
  }
  // Adds what the threads did here to `all`, and answers what the core did.
  Reading report(ThreadUses& all, const Reading& now) {
    const std::lock_guard guard{lock_};
    settle(now);
    for (const auto& [thread, use] : uses_) {
      ThreadUse& sum = all[thread];
      sum.name = use.name;
      sum.use.add(use.use);
    }
    Reading core;
    core.add_since(begin_, now);
    return core;
  }

 private:
  void settle(const Reading& now) {
    uses_[current_].use.add_since(since_, now);
    since_ = now;
  }

  std::mutex lock_;
  ThreadUses uses_;
  u64 current_ = 0;  // 0: none that is known
  Reading since_;  // the core's sums when `current_` began
  Reading begin_;  // ... when the report begins
};

}  // namespace corral::cache_model

// What hostile grouping methods have in common: right at first, so that the machine is up. See timelines.h and, for the namespace,
// migrations.h.
#pragma once

#include "sched/grouping_method.h"
#include "tests/hostile/wrongs.h"

namespace corral::sched::hostile {

class BaseGrouping : public GroupingMethod {
 public:
  void choose(const GroupingRequest& request, CoreSet& candidates) const final {
    candidates = request.own;
    if (calls_.fetch_add(1, Order::relaxed) >= good_calls) choose_badly(request, candidates);
  }

 protected:
  ~BaseGrouping() = default;
  // `candidates` are right.
  virtual void choose_badly(const GroupingRequest& request, CoreSet& candidates) const = 0;

 private:
  static constexpr u32 good_calls = 8;
  mutable Atomic<u32> calls_{0};
};

}  // namespace corral::sched::hostile

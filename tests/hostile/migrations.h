// What hostile migrations have in common: push and pull as they should be (sched/migration/rules.h), except where they are not;
// and right at first, so that the machine is up. See timelines.h. They have a namespace of their own: what is wrong has the same
// name in policies of all kinds.
#pragma once

#include "sched/migration/rules.h"
#include "tests/hostile/wrongs.h"

namespace corral::sched::hostile {

class BaseMigration : public MigrationPolicy {
 public:
  static constexpr bool pushes = true;
  static constexpr bool pulls = true;

  CoreId push(const PushRequest& request, const SystemView& system) final {
    return turns_bad(pushed_) ? push_badly(request, system) : push_to_emptiest(request, system, emptier);
  }
  PullAnswer ask(const PullRequest& request, const SystemView& system) final {
    return turns_bad(asked_) ? ask_badly(request, system) : ask_well(request, system);
  }
  Instant leaves_at(const LeaveRequest& request, const SystemView&) final {
    return turns_bad(left_) ? leave_badly(request) : request.now;
  }

 protected:
  static constexpr i64 emptier = 2;

  virtual CoreId push_badly(const PushRequest& request, const SystemView& system) {
    return push_to_emptiest(request, system, emptier);
  }
  virtual PullAnswer ask_badly(const PullRequest& request, const SystemView& system) { return ask_well(request, system); }
  virtual Instant leave_badly(const LeaveRequest& request) { return request.now; }

  static PullAnswer ask_well(const PullRequest& request, const SystemView& system) {
    return {busiest(request, system, 0), request.now};
  }

 private:
  static constexpr u32 good_calls = 8;
  static bool turns_bad(Atomic<u32>& calls) { return calls.fetch_add(1, Order::relaxed) >= good_calls; }

  Atomic<u32> pushed_{0}, asked_{0}, left_{0};
};

}  // namespace corral::sched::hostile

// Grouping by blocked migration (paper 003, section 2.1): the placement policy may propose any core; before the thread moves
// there, it is checked whether the core is of its group. If not, that move is blocked, and another one is asked for.
//
// A policy may like every core of the other group better than one of its own: a real-time thread whose group is busy does. So after
// a few it is asked for one that will not be blocked, or a wake-up on 32 cores would take 50,000 instructions.
#include "sched/grouping_method.h"

namespace corral::sched {

class BlockedMigration final : public GroupingMethod {
 public:
  [[nodiscard]] CoreId place(Proposals& policy, const CoreSet& asked, const CoreSet& online, const CoreSet& group,
                             u64& blocked) const override {
    CoreSet left = asked & online;
    for (u32 refused = 0; refused < most_refused && !left.empty(); ++refused) {
      const CoreId proposed = policy.among(left);
      if (group.contains(proposed)) return proposed;
      ++blocked;
      left.remove(proposed);
    }
    return policy.among(within(asked, group));
  }

 private:
  static constexpr u32 most_refused = 4;
};

}  // namespace corral::sched

CORRAL_GROUPING_METHOD(corral::sched::BlockedMigration, "blocked-migration",
                       "each move of a thread is checked, and another is looked for when it is blocked")

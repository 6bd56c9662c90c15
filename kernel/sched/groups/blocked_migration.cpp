// Grouping by blocked migration (paper 003, section 2.1): the placement policy may propose any core; before the thread moves
// there, it is checked whether the core is of its group. If not, that move is blocked, and another one is asked for.
#include "sched/grouping_method.h"

namespace corral::sched {

class BlockedMigration final : public GroupingMethod {
 public:
  [[nodiscard]] CoreId place(Proposals& policy, const CoreSet& asked, const CoreSet& online, const CoreSet& group,
                             u64& blocked) const override {
    for (CoreSet left = asked & online; !left.empty();) {
      const CoreId proposed = policy.among(left);
      if (group.contains(proposed)) return proposed;
      ++blocked;
      left.remove(proposed);
    }
    return policy.among(group);  // its own mask has none of the group
  }
};

}  // namespace corral::sched

CORRAL_GROUPING_METHOD(corral::sched::BlockedMigration, "blocked-migration",
                       "each move of a thread is checked, and another is looked for when it is blocked")

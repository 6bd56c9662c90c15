// Grouping by blocked migration (paper 003, section 2.1): the placement policy may propose any core; before the thread moves
// there, it is checked whether the core is of its group. If not, that move is blocked, and another one is asked for.
//
// A policy may like every core of the other group better than one of its own: a real-time thread whose group is busy does. So after
// a few it is asked for one that will not be blocked, or a wake-up on 32 cores would take 50,000 instructions.
#include "sched/grouping_method.h"

namespace corral::sched {

class BlockedMigration final : public GroupingMethod {
 public:
  void choose(const GroupingRequest& request, CoreSet& candidates) const override {
    candidates = request.blocked < most_blocked && !request.left.empty() ? request.left : request.own;
  }

 private:
  static constexpr u32 most_blocked = 4;
};

}  // namespace corral::sched

CORRAL_GROUPING_METHOD(corral::sched::BlockedMigration, "blocked-migration",
                       "each move of a thread is checked, and another is looked for when it is blocked")

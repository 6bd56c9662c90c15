// Grouping by affinity mask (paper 003, section 2.3): the thread's own mask is cut down to its group when it is made, changes
// its class or its mask, and when the groups change. All that looks at masks then does the rest, and nothing else is asked.
#include "sched/grouping_method.h"

namespace corral::sched {

class AffinityMask final : public GroupingMethod {
 public:
  static constexpr bool sets_masks = true;
  void choose(const GroupingRequest& request, CoreSet& candidates) const override { candidates = request.own; }
};

}  // namespace corral::sched

CORRAL_GROUPING_METHOD(corral::sched::AffinityMask, "affinity-mask", "a thread's mask is cut down to its group")

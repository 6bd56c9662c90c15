// Grouping by run-queue entry (paper 003, section 2.2): a thread is sent wherever the placement policy wants it. The run queue
// of that core looks at who wants to enter, and turns away who is not of its group: to a core of the right one.
#include "sched/grouping_method.h"

namespace corral::sched {

class RunQueueEntry final : public GroupingMethod {
 public:
  static constexpr bool guards_entry = true;
  void choose(const GroupingRequest& request, CoreSet& candidates) const override { candidates = request.left; }
};

}  // namespace corral::sched

CORRAL_GROUPING_METHOD(corral::sched::RunQueueEntry, "run-queue-entry", "each core's run queue turns away whom it is not for")

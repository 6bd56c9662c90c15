// No groups: the default.
#include "sched/grouping_method.h"

namespace corral::sched {

namespace {
constinit const GroupingDescriptor descriptor{{"none", "every thread may use every core"}, nullptr};
CORRAL_REGISTER(corral_groupings, GroupingDescriptor, descriptor);
}  // namespace

}  // namespace corral::sched

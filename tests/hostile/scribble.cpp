// Writes over what the entities keep for it: its own lists.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Scribble final : public Base {
 public:
  using Base::Base;
  Decision pick(Instant now) override {
    if (turns_bad() && !queue_.empty()) {
      __builtin_memset(static_cast<void*>(&queue_.front()->queue_link), 0xa5, sizeof(ListLink));
      __builtin_memset(static_cast<void*>(&queue_.front()->tree_link), 0xa5, sizeof(TreeLink));
    }
    return Base::pick(now);
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Scribble, "test.scribble", "hostile: writes over its own lists")

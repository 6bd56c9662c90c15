// Never comes back from its end.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Undying final : public Base {
 public:
  using Base::Base;
  ~Undying() override { never_come_back(); }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Undying, "test.undying", "hostile: never comes back from its end")

// Faults while it is made.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Unborn final : public Base {
 public:
  explicit Unborn(const AlgorithmParameters& parameters) : Base{parameters} { write_to_address_0(); }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Unborn, "test.unborn", "hostile: faults while it is made")

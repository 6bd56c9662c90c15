// SpinWord under the model checker: one thread at a time inside, and each sees what those before it did.
#include "sync/spin_word.h"

#include "relacy/model.h"

namespace corral::model {
namespace {

struct SpinWordModel : rl::test_suite<SpinWordModel, 3> {
  SpinWord<ModelAtomic> word;
  Plain<int> inside{0};
  Plain<int> total{0};
  void thread(unsigned index) {
    if (index == 2) {
      if (!word.try_take(3)) return;
    } else {
      word.take(index + 1, pause);
    }
    RL_ASSERT(word.owner() == index + 1);
    RL_ASSERT(inside == 0);
    inside = 1;
    total = total + 1;
    inside = 0;
    word.give_up();
  }
  void after() { RL_ASSERT(total >= 2 && inside == 0); }
};

TEST(Relacy, SpinWord) {
  check_and_mutate<SpinWordModel>("kernel/sync/spin_word.h", {.iterations = 300'000}, {.iterations = 300'000});
}

}  // namespace
}  // namespace corral::model

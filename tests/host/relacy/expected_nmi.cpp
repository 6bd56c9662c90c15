// ExpectedNmi under the model checker, as core/call_watch.cpp uses it: a core that sends whenever it finds a reason to, and one that
// handles what comes. The processor keeps one NMI while another is being handled: each that comes must be expected.
#include "core/expected_nmi.h"

#include "relacy/model.h"

namespace corral::model {
namespace {

// How not to do it: what is sent while another one is handled comes when its word has been taken.
struct AlwaysSending {
  bool expect() {
    sent.store(1, Order::seq_cst);
    return true;
  }
  bool take() { return sent.exchange(0, Order::seq_cst) != 0; }
  ModelAtomic<u32> sent{0};
};

template <class NmiT = ExpectedNmi<ModelAtomic>>
struct NmiModel : rl::test_suite<NmiModel<NmiT>, 2> {
  NmiT nmi;
  rl::atomic<unsigned> latch;  // an NMI that the processor has not delivered yet

  void before() { latch($) = 0; }
  void thread(unsigned index) {
    for (unsigned i = 0; i < 3; ++i) {
      if (index == 0) {
        if (nmi.expect()) latch($).store(1, rl::mo_seq_cst);
      } else if (latch($).exchange(0, rl::mo_seq_cst) == 1) {
        RL_ASSERT(nmi.take());
      }
    }
  }
  // None is lost either: who finds the word set knows that one is on its way.
  void after() { RL_ASSERT(nmi.take() == (latch($).load(rl::mo_relaxed) == 1)); }
};

TEST(Relacy, ExpectedNmiSearch) {
  search_all<NmiModel<>>(rl::sched_bound, 3);
}

TEST(Relacy, NmiThatIsAlwaysSent) {
  EXPECT_FALSE((passes<NmiModel<AlwaysSending>>({.iterations = 1'000'000})));
}

}  // namespace
}  // namespace corral::model

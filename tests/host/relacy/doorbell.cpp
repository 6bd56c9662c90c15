// Doorbell and Mailbox under the model checker, as core/core.cpp uses them: two senders, and an owner that looks only when
// an interrupt comes. In the end every message has been taken, or an interrupt is still on its way: none is forgotten.
#include "core/doorbell.h"

#include "core/mailbox.h"
#include "relacy/model.h"

namespace corral::model {
namespace {

// How not to do it: a store does not see what was rung before it.
struct StoringDoorbell {
  bool ring() { return rung.exchange(1, Order::seq_cst) == 0; }
  void answer() { rung.store(0, Order::seq_cst); }
  ModelAtomic<u32> rung{0};
};

template <unsigned Looks, bool LateInterrupts, class DoorbellT = Doorbell<ModelAtomic>>
struct DoorbellModel : rl::test_suite<DoorbellModel<Looks, LateInterrupts, DoorbellT>, 3> {
  Mailbox<4, ModelAtomic, Plain<unsigned>> mailbox;
  DoorbellT doorbell;
  // What the interrupt controller keeps for the owner. An interrupt comes after what its sender did before it sent it.
  rl::atomic<unsigned> interrupt;
  unsigned taken = 0;

  void before() { interrupt($) = 0; }
  void thread(unsigned index) {
    if (index < 2) {
      post(index);
    } else {
      for (unsigned i = 0; i < Looks; ++i) look();
    }
  }
  // As Core::post.
  void post(unsigned value) {
    Plain<unsigned> message;
    message = value;
    RL_ASSERT(mailbox.post(message));
    if (doorbell.ring()) interrupt($).store(1, rl::mo_release);
  }
  // As Core::note_message_interrupt, and Executive::read_mail on the way out; with LateInterrupts the core may read its mail
  // for another reason (the end of a step), while the interrupt is on its way.
  void look() {
    if (interrupt($).exchange(0, rl::mo_acquire) == 1) {
      doorbell.answer();
    } else if (!LateInterrupts) {
      return;
    }
    if (!mailbox.empty()) drain();
  }
  // As Core::drain_mailbox.
  void drain() {
    doorbell.answer();
    Plain<unsigned> message;
    message = 9;
    while (mailbox.take(message)) {
      RL_ASSERT(message < 2u);
      ++taken;
    }
  }
  void after() { RL_ASSERT(taken == 2 || interrupt($).load(rl::mo_relaxed) == 1); }
};

TEST(Relacy, DoorbellSearch) {
  search_all<DoorbellModel<2, false>>(rl::sched_bound, 3);
  search_all<DoorbellModel<2, true>>(rl::sched_bound, 2);
}

TEST(Relacy, Doorbell) {
  check_and_mutate<DoorbellModel<2, false>, DoorbellModel<3, true>>("kernel/core/doorbell.h", {.iterations = 300'000},
                                                                    {.iterations = 300'000});
}

TEST(Relacy, DoorbellThatStores) {
  EXPECT_FALSE((passes<DoorbellModel<3, true, StoringDoorbell>>({.iterations = 1'000'000})));
}

}  // namespace
}  // namespace corral::model

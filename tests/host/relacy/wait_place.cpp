// WaitPlace under the model checker: a waker and the waiter's home core end the same wait at once; exactly one of them
// does, and the waker may free the queue as soon as it has let go of the lock.
#include "sync/wait_place.h"

#include "relacy/model.h"
#include "sync/spin_word.h"

namespace corral::model {
namespace {

template <unsigned Tries>
struct WaitPlaceModel : rl::test_suite<WaitPlaceModel<Tries>, 2> {
  static constexpr u64 address = 0x1000;
  WaitPlace<ModelAtomic> place;
  SpinWord<ModelAtomic> lock;  // the queue's
  Plain<int> listed{0};        // the queue's: is the waiter in it?
  Plain<int> freed{0};         // the queue is no more; whoever touches the queue reads this
  int ended_by_home = 0;
  int ended_by_waker = 0;

  void before() {
    listed = 1;
    place.enter(address);
  }
  void thread(unsigned index) {
    if (index == 0) {
      take_off();
    } else {
      wake_and_free();
    }
  }
  // As WaitQueue::take_off.
  void take_off() {
    for (unsigned i = 0; i < Tries; ++i) {
      const u64 queue = place.pin();
      if (queue == 0) return;
      RL_ASSERT(queue == address);
      RL_ASSERT(freed == 0);
      if (lock.try_take(1)) {
        RL_ASSERT(listed == 1);
        listed = 0;
        place.clear();
        ++ended_by_home;
        RL_ASSERT(freed == 0);
        lock.give_up();
        return;
      }
      RL_ASSERT(freed == 0);
      if (!place.unpin(queue)) return;
      pause();
    }
  }
  // As WaitQueue::wake_all, and the end of the object that the queue is in.
  void wake_and_free() {
    lock.take(2, pause);
    if (listed == 1) {
      listed = 0;
      RL_ASSERT(place.leave(address, pause));
      ++ended_by_waker;
    }
    lock.give_up();
    freed = 1;
  }
  void after() {
    RL_ASSERT(ended_by_home + ended_by_waker == 1);
    RL_ASSERT(!place.waits() && !place.waits_at(address));
  }
};

TEST(Relacy, WaitPlaceSearch) {
  search_all<WaitPlaceModel<1>>(rl::sched_full);
  search_all<WaitPlaceModel<2>>(rl::sched_full);
}

TEST(Relacy, WaitPlace) {
  check_and_mutate<WaitPlaceModel<3>>("kernel/sync/wait_place.h", {.iterations = 300'000}, {.iterations = 300'000});
}

}  // namespace
}  // namespace corral::model

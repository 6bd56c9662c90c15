// Calls itself until the stack ends.
#include "tests/hostile/timelines.h"

namespace corral::sched::hostile {

class Recursion final : public Base {
 public:
  using Base::Base;
  Instant review(const SchedulingEntity& running, Instant now) override {
    return turns_bad() ? Instant{deeper(0)} : Base::review(running, now);
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): that is the point
  [[gnu::noinline]] static i64 deeper(i64 depth) {
    volatile i64 room[16];
    room[depth % 16] = depth;
    return depth < 0 ? 0 : deeper(depth + 1) + room[0];
  }
};

}  // namespace corral::sched::hostile

CORRAL_SCHEDULING_ALGORITHM(corral::sched::hostile::Recursion, "test.recursion", "hostile: calls itself until the stack ends")

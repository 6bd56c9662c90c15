// The trace's ring under the model checker: who gives it memory and says so, as /proc/trace does, a core that writes then, one that reads
// all the time; two places, so that it goes round.
#include "trace/ring.h"

#include "relacy/model.h"

namespace corral::model {
namespace {

template <unsigned Writes, unsigned Reads>
struct RingModel : rl::test_suite<RingModel<Writes, Reads>, 3> {
  using Small = trace::Ring<ModelAtomic, 2, 1>;
  Small ring;
  Small::Page pages[2];
  Small::Page* list[2] = {&pages[0], &pages[1]};
  ModelAtomic<bool> wanted;

  void before() {
    wanted.store(false, Order::relaxed);
    for (Small::Page& page : pages) {
      for (auto& word : page.word) word.store(0, Order::relaxed);
    }
  }
  void thread(unsigned index) {
    if (index == 0) {
      ring.give_memory(list, 2);
      wanted.store(true, Order::release);
    } else if (index == 1) {
      for (u64 number = 0; number < Writes; ++number) {
        if (wanted.load(Order::acquire)) ring.write(ring.written() + 1, ring.written() + 1);
      }
    } else {
      u64 next = 0;
      for (unsigned i = 0; i < Reads; ++i) read_one(next);
    }
  }
  void read_one(u64& next) {
    const u64 before = next;
    u64 record[2] = {};
    if (!ring.read(next, record)) return;
    RL_ASSERT(next >= before && (before != 0 || next <= Writes));
    RL_ASSERT(record[0] == next + 1 && record[1] == next + 1);  // whole, and the one it is said to be
    ++next;
  }
  void after() {
    const u64 written = ring.written();  // fewer, when there was no memory at first
    u64 next = 0;
    while (next < written) read_one(next);
  }
};

TEST(Relacy, TraceRing) {
  check_and_mutate<RingModel<3, 3>, RingModel<4, 4>>("kernel/trace/ring.h", {.iterations = 300'000}, {.iterations = 300'000});
}

}  // namespace
}  // namespace corral::model

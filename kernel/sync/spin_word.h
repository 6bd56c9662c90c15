// The word of a spin lock: test-and-test-and-set. Free of everything else (ranks, statistics, panics), so that the
// shipped source also compiles against a model checker's atomics. Any context; the owner is a number that is not 0.
// Neighbours: sync/spin_lock.h adds names, ranks and the per-core records.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

template <template <class> class AtomicT = Atomic>
class SpinWord {
 public:
  constexpr SpinWord() = default;

  // One attempt; false: someone else is inside.
  [[nodiscard]] bool try_take(u32 owner) {
    u32 expected = 0;
    return word_.compare_exchange(expected, owner, Order::acquire, Order::relaxed);
  }
  // Takes the word, calling `pause` in each round of spinning. The rounds only read, so that the cache line stays
  // shared until it is worth an attempt. Returns false when it was taken at once, true when it had to spin.
  template <class Pause>
  bool take(u32 owner, Pause&& pause) {
    if (try_take(owner)) return false;
    do {
      while (word_.load(Order::relaxed) != 0) pause();
    } while (!try_take(owner));
    return true;
  }
  void give_up() { word_.store(0, Order::release); }
  // Who is inside, 0: nobody. Only the answer to "is it me?" is sure.
  [[nodiscard]] u32 owner() const { return word_.load(Order::relaxed); }

 private:
  AtomicT<u32> word_{0};
};

}  // namespace corral

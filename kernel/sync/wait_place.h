// Where a waiter waits: the word in which a waker and the waiter's home core settle who ends the wait.
//
// The difficulty: the home core ends a wait (time-out, signal) knowing only the waiter. It must read which queue that is
// before it can try that queue's lock, and a waker on another core may meanwhile end the wait and even free the queue.
//
//   0        does not wait
//   q        waits at q; set and taken back with q's lock held
//   q | 1    as q, and the home core is about to try q's lock: q must not go away
//   taken    a waker took it off while the home core was trying; the home core answers with 0, then q may go away
//
// The home core only *tries* the lock, so a waker may wait for the answer with the lock held: it comes after a few
// instructions.
//
// Orders: what the home core did to a pinned queue comes before unpin() (release), which comes before leave() returns
// (acquire); so the waker may free the queue. Everything else is ordered by the queue's lock, or stays on the home core.
// A template over the atomics, so that a model checker runs the shipped source. Interrupts off.
// Neighbour: sync/waiter.cpp.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

template <template <class> class AtomicT = Atomic>
class WaitPlace {
 public:
  constexpr WaitPlace() = default;

  // ---- with the queue's lock held; `queue` is its address, a multiple of 4 ---------------------------------------
  void enter(u64 queue) { word_.store(queue, Order::relaxed); }
  // The waker has taken the waiter off `queue`. Afterwards nobody looks at the queue on this waiter's behalf.
  // False: the word is not as the rules say (a bug).
  template <class Pause>
  [[nodiscard]] bool leave(u64 queue, Pause&& pause) {
    u64 word = queue;
    while (!word_.compare_exchange(word, word == queue ? 0 : taken, Order::acquire, Order::relaxed)) {
      if (word != queue && word != (queue | pinned)) return false;
    }
    if (word == queue) return true;
    while (word_.load(Order::acquire) == taken) pause();
    return true;
  }
  // The home core has taken the waiter off, whether it had pinned the place or not.
  void clear() { word_.store(0, Order::relaxed); }

  // ---- the home core ---------------------------------------------------------------------------------------------
  // The queue, which stays until unpin() or clear(); 0 when there is none.
  [[nodiscard]] u64 pin() {
    u64 word = word_.load(Order::relaxed);
    while (word != 0) {
      if (word_.compare_exchange(word, word | pinned, Order::relaxed, Order::relaxed)) return word;
    }
    return 0;
  }
  // Lets go of the pinned queue. False: a waker has ended the wait meanwhile.
  [[nodiscard]] bool unpin(u64 queue) {
    u64 word = queue | pinned;
    if (word_.compare_exchange(word, queue, Order::release, Order::relaxed)) return true;
    word_.store(0, Order::release);  // the answer
    return false;
  }

  [[nodiscard]] bool waits() const { return word_.load(Order::relaxed) != 0; }
  [[nodiscard]] bool waits_at(u64 queue) const { return word_.load(Order::relaxed) == queue; }

 private:
  static constexpr u64 pinned = 1;
  static constexpr u64 taken = 2;

  AtomicT<u64> word_{0};
};

}  // namespace corral

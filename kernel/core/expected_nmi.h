// An NMI that one core sends another, told apart from one that comes of the machine. At most one is under way: an NMI that is sent
// while another one has not been handled yet may come together with it, or after it, when nobody expects it any more.
//
// The word says that one has been sent and not been handled. The sender sets it before it sends, and does not send if it was set;
// the receiver takes it in its handler, before it does anything else. So each NMI that is sent finds the word set.
// A template over the atomics, so that a model checker runs the shipped source. Neighbours: core/call_watch.h.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

template <template <class> class AtomicT = Atomic>
class ExpectedNmi {
 public:
  // Any core, before it sends. False: one is under way already, and the caller sends none.
  [[nodiscard]] bool expect() { return sent_.exchange(1, Order::seq_cst) == 0; }
  // The receiver, in its handler. False: nobody has sent this one.
  [[nodiscard]] bool take() { return sent_.exchange(0, Order::seq_cst) != 0; }

 private:
  AtomicT<u32> sent_{0};
};

}  // namespace corral

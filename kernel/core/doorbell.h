// The doorbell of a mailbox: so that one interrupt announces all messages that are there when it comes.
//
// The word says that an interrupt has been sent and not been noticed yet. Who posts rings after the message is committed;
// if the word was set already, whoever set it sends the interrupt, or has sent it. The owner answers before it looks into the
// mailbox, also when the interrupt comes too late for its message: else nobody would ring for the next one.
//
// Orders: ring() releases the message; answer() acquires those of all rings since the last answer, because each is part of
// the same chain of exchanges. So a look after answer() finds every message that sent no interrupt of its own; and a ring
// after answer() finds the word clear. Therefore exchanges on both sides: a store would not see what was rung before.
// A template over the atomics, so that a model checker runs the shipped source. Neighbours: core/core.cpp, core/mailbox.h.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

template <template <class> class AtomicT = Atomic>
class Doorbell {
 public:
  // Any core, after its message was committed. True: the caller sends the interrupt.
  [[nodiscard]] bool ring() { return rung_.exchange(1, Order::release) == 0; }
  // The owner, before it looks into the mailbox.
  void answer() { rung_.exchange(0, Order::acquire); }
  // Any core: it was rung, and not answered so far.
  [[nodiscard]] bool rung() const { return rung_.load(Order::relaxed) != 0; }

 private:
  AtomicT<u32> rung_{0};
};

}  // namespace corral

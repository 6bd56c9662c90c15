// The mailbox of a core: how every other core asks it for something (paper 004, section 2.2).
//
// A ring of cache-line slots. A sender allocates the next slot in order with one atomic operation, fills it, and
// commits it by the valid word; the owner takes messages in order of allocation. A slot that is allocated but not yet
// committed holds back those behind it, so the order is kept. Full: post() answers false and nothing is lost — the
// sender's core keeps the message in its Outbox and posts it again at its next look.
//
// post(): any core. take(): the owning core only. Neither waits for another core.
#pragma once

#include "lib/atomic.h"
#include "lib/types.h"

namespace corral {

enum class MessageType : u32 {
  none,
  thread,     // word 0: Thread*: look at its requests (wake, signal, end, migrate …)
  arrive,     // word 0: Thread*: takes this core as its home and is enqueued here
  drop_translations,  // word 0: TranslationDrop*: flush and answer
  remote_call,        // word 0: RemoteCall*: execute here, answer to its thread
  deferred_call,      // word 0: DeferredCall*: execute now that no lock is held; from this core itself
  shared_timer,       // word 0: SharedTimer*: look at what it is set to
  reschedule,         // look at what the scheduler of this core is asked for (a change of its algorithm)
  real_time_room,     // another core runs no or lower real-time threads: look for who waits here and could go there
  pull_request,       // word 0: the id of a core that has nothing to run and asks for a thread
  pull_refused,       // word 0: the id of the core that has none to spare
  core_groups,        // the groups of cores changed: look for who may not stay here
  queues,             // the arrangement of the run queues changed: look for who waits in the wrong one
  wall_clock,         // it was set: look at the timers that go by it
  stop,               // the machine is about to be switched off: stop, for ever
  end_of_types,
};

struct Message {
  MessageType type = MessageType::none;
  u64 word[3] = {};
};

template <u32 Capacity, template <class> class AtomicT = Atomic, class MessageT = Message>
class Mailbox {
  static_assert(Capacity >= 2 && (Capacity & (Capacity - 1)) == 0, "a power of two");

 public:
  Mailbox() {
    for (u32 i = 0; i < Capacity; ++i) slots_[i].turn.store(i, Order::relaxed);
  }

  // False: full, nothing done.
  [[nodiscard]] bool post(const MessageT& message) {
    u64 position = allocated_.load(Order::relaxed);
    for (;;) {
      Slot& slot = slots_[position % Capacity];
      u64 turn = slot.turn.load(Order::acquire);
      if (turn == position) {
        if (allocated_.compare_exchange(position, position + 1, Order::relaxed, Order::relaxed)) {
          slot.message = message;
          slot.turn.store(position + 1, Order::release);  // valid
          return true;
        }
      } else if (turn < position) {
        return false;  // still holds the message of one round ago
      } else {
        position = allocated_.load(Order::relaxed);
      }
    }
  }

  // The oldest message; false when there is none (or the oldest is not committed yet).
  [[nodiscard]] bool take(MessageT& message) {
    Slot& slot = *next_;
    if (slot.turn.load(Order::acquire) != taken_ + 1) return false;
    message = slot.message;
    slot.turn.store(taken_ + Capacity, Order::release);  // free for the next round
    ++taken_;
    next_ = &slots_[taken_ % Capacity];
    return true;
  }

  // Owner only: nothing committed is waiting. (Relaxed: take() is what acquires the message.)
  [[nodiscard]] bool empty() const { return next_->turn.load(Order::relaxed) != taken_ + 1; }

 private:
  // `turn` says whose move it is: position p: free for the sender that allocates p; p + 1: valid for the owner.
  struct alignas(cache_line) Slot {
    AtomicT<u64> turn{0};
    MessageT message;
  };

  alignas(cache_line) AtomicT<u64> allocated_{0};  // next position; senders
  alignas(cache_line) u64 taken_ = 0;              // next position; owner only
  Slot* next_ = slots_;                            // its slot; owner only
  Slot slots_[Capacity];
};

}  // namespace corral

// The steps of priority-inheriting futexes. See pi_futex.h; what they ask for is done in pi_section.cpp.
#include "task/pi_futex.h"

#include "device/clock.h"
#include "task/pi_section.h"
#include "task/process_table.h"

namespace corral::futex {

namespace {

using Outcome = PiOperation::Outcome;

constexpr Duration retry = microseconds(20);
constexpr u32 tries_without_pause = 16;  // a program may change the word again and again

// The steps' phases: word 0 counts tries, word 1 is why the wait ended, word 2 says that this is known. Word 5 is the caller's.
enum Phase : u32 { start = 0, submitted = 1, taking_over = 2, telling = 3 };

class Place final : public Thread::WaitPlace {
 public:
  void cancel(Thread& thread, WakeReason reason) override { pi::submit_cancel(thread, reason); }
};
constinit Place place;

u32 own_id(const Thread& thread) {
  return static_cast<u32>(thread.id().value);
}

Result<u32*> pointer_to(Thread& thread, VirtualAddress address) {
  return reinterpret_cast<u32*>(TRY(thread.space->resolve(thread.caller, address, vm::Access::write)));
}

// Finds the owner that a lock's word names, so that it stays as long as the request. Null: none.
Thread* look_for_owner(PiOperation& operation, u32 value) {
  const u32 id = value & owner_mask;
  operation.held = id == 0 ? Ref<Thread>{} : processes::find_thread({static_cast<i32>(id)});
  Thread* owner = operation.held.get();
  if (owner != nullptr) owner->pi.sought.store(true, Order::seq_cst);  // before `closed` is read in the section
  return owner;
}

// Begins anew, after a pause when that happens often or the owner is at its end.
Errno again(Thread& thread, bool later) {
  const u64 tries = thread.step.word[0] + 1;
  thread.step = {.phase = start, .word = {tries, 0, 0, 0, 0, thread.step.word[5]}, .kept = {}};
  if (!later && tries % tries_without_pause != 0) return Errno{};
  return thread.pause_until(clock::now() + retry);
}

// The former owner has ended: the word says so and whose it is now.
Result<i64> take_over(Thread& thread, VirtualAddress address) {
  if (thread.step.phase == taking_over) {
    const Result<u32*> word = pointer_to(thread, address);
    if (!word && word.error() == Errno::blocked) return Errno::blocked;
    if (word) {
      u32 value = __atomic_load_n(word.value(), __ATOMIC_RELAXED);
      while (!__atomic_compare_exchange_n(word.value(), &value, own_id(thread) | has_waiters | owner_died, false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {}
    }
    thread.step.word[3] = word ? 0 : static_cast<u64>(word.error());
    thread.step.phase = telling;
    if (!pi::submit(thread, pi::execute_written)) return Errno::blocked;
  }
  if (thread.step.word[3] != 0) return static_cast<Errno>(thread.step.word[3]);
  return 0;
}

// What the outcome of lock_pi and wait_requeue_pi means. Errno{}: begin anew at once.
Result<i64> answer(Thread& thread, VirtualAddress lock) {
  PiOperation& operation = thread.pi;
  const auto reason = static_cast<WakeReason>(thread.step.word[1]);
  switch (operation.outcome) {
    case Outcome::done:
    case Outcome::granted: return 0;
    case Outcome::inherited: thread.step.phase = taking_over; return take_over(thread, lock);
    case Outcome::cancelled:
    case Outcome::not_requeued:
      if (reason == WakeReason::timed_out) return Errno::etimedout;
      return Errno::restart_always;
    case Outcome::later: return again(thread, true);
    case Outcome::pending:
    case Outcome::waits:
    case Outcome::again: return again(thread, false);
    case Outcome::differs:
    case Outcome::would_block: return Errno::eagain;
    case Outcome::no_owner: return Errno::esrch;
    case Outcome::not_owner: return Errno::eperm;
    case Outcome::inconsistent: return Errno::einval;
    case Outcome::deadlock: return Errno::edeadlk;
  }
  return Errno::einval;
}

// After a wake-up: false while a cancellation is still under way.
bool settled(Thread& thread) {
  if (thread.step.word[2] == 0) {
    thread.step.word[1] = static_cast<u64>(thread.wake_reason());
    thread.step.word[2] = 1;
  }
  return !thread.pi.cancel_pending.load(Order::acquire);
}

// Submits what may wait, with its deadline. Errno{}: the outcome is there.
Errno submit_wait(Thread& thread, void (*execute)(SectionRequest&), Deadline deadline) {
  thread.step.phase = submitted;
  const Errno blocked = thread.wait_at(place, deadline);
  if (!pi::submit(thread, execute) || thread.pi.outcome == Outcome::waits) return blocked;
  thread.abandon_wait();
  return Errno{};
}

bool is_again(const Result<i64>& result) {
  return !result && result.error() == Errno{};
}

Result<i64> lock_once(Thread& thread, Word word, Deadline deadline, bool try_only) {
  PiOperation& operation = thread.pi;
  if (thread.step.phase >= taking_over) return take_over(thread, word.address);
  if (thread.step.phase == submitted) {
    if (!settled(thread)) return thread.pause_until(clock::now() + retry);
    return answer(thread, word.address);
  }
  operation.key = TRY(key_of(thread, word));
  operation.word = TRY(pointer_to(thread, word.address));
  operation.expected = __atomic_load_n(operation.word, __ATOMIC_SEQ_CST);
  if ((operation.expected & owner_mask) == own_id(thread)) return Errno::edeadlk;
  operation.other = look_for_owner(operation, operation.expected);
  operation.try_only = try_only;
  if (try_only) {
    thread.step.phase = submitted;
    if (!pi::submit(thread, pi::execute_lock)) return Errno::blocked;
  } else {
    if (thread.interrupted()) return Errno::restart_always;
    const Errno waits = submit_wait(thread, pi::execute_lock, deadline);
    if (waits != Errno{}) return waits;
  }
  return answer(thread, word.address);
}

Result<i64> wait_requeue_once(Thread& thread, Word from, u32 expected, Word to, Deadline deadline) {
  PiOperation& operation = thread.pi;
  if (thread.step.phase >= taking_over) return take_over(thread, to.address);
  if (thread.step.phase == submitted) {
    if (!settled(thread)) return thread.pause_until(clock::now() + retry);
    // Once it waits for the lock, it cannot wait for `from` again.
    const bool interrupted = static_cast<WakeReason>(thread.step.word[1]) == WakeReason::interrupted;
    if (operation.outcome == Outcome::cancelled && interrupted) return Errno::eagain;
    return answer(thread, to.address);
  }
  operation.key = TRY(key_of(thread, from));
  operation.target = TRY(key_of(thread, to));
  if (operation.key == operation.target) return Errno::einval;
  operation.word = TRY(pointer_to(thread, from.address));
  operation.expected = expected;
  if (thread.interrupted()) return Errno::restart_always;
  const Errno waits = submit_wait(thread, pi::execute_wait_requeue, deadline);
  if (waits != Errno{}) return waits;
  return answer(thread, to.address);
}

Result<i64> requeue_once(Thread& thread, Word from, Word to, u32 move, u32 expected) {
  PiOperation& operation = thread.pi;
  if (thread.step.phase == start) {
    operation.key = TRY(key_of(thread, from));
    operation.target = TRY(key_of(thread, to));
    if (operation.key == operation.target) return Errno::einval;
    operation.word = TRY(pointer_to(thread, from.address));
    operation.target_word = TRY(pointer_to(thread, to.address));
    operation.expected = expected;
    operation.target_expected = __atomic_load_n(operation.target_word, __ATOMIC_SEQ_CST);
    operation.other = look_for_owner(operation, operation.target_expected);
    operation.move = move;
    thread.step.phase = submitted;
    if (!pi::submit(thread, pi::execute_requeue)) return Errno::blocked;
  }
  if (operation.outcome == Outcome::done) return operation.affected;
  return answer(thread, to.address);
}

// Until it is not to begin anew. Then nothing is held any more, unless it goes on.
template <class Once>
Result<i64> repeat(Thread& thread, Once&& once) {
  for (;;) {
    Result<i64> result = once();
    if (is_again(result)) continue;
    if (result || result.error() != Errno::blocked) thread.pi.held = {};
    return result;
  }
}

}  // namespace

Result<i64> lock_pi(Thread& thread, Word word, Deadline deadline, bool try_only) {
  return repeat(thread, [&] { return lock_once(thread, word, deadline, try_only); });
}

Result<i64> wait_requeue_pi(Thread& thread, Word from, u32 expected, Word to, Deadline deadline) {
  return repeat(thread, [&] { return wait_requeue_once(thread, from, expected, to, deadline); });
}

Result<i64> requeue_pi(Thread& thread, Word from, Word to, u32 move, u32 expected) {
  return repeat(thread, [&] { return requeue_once(thread, from, to, move, expected); });
}

Result<i64> unlock_pi(Thread& thread, Word word) {
  return repeat(thread, [&]() -> Result<i64> {
    PiOperation& operation = thread.pi;
    if (thread.step.phase == start) {
      operation.key = TRY(key_of(thread, word));
      operation.word = TRY(pointer_to(thread, word.address));
      if ((__atomic_load_n(operation.word, __ATOMIC_SEQ_CST) & owner_mask) != own_id(thread)) return Errno::eperm;
      thread.step.phase = submitted;
      if (!pi::submit(thread, pi::execute_unlock)) return Errno::blocked;
    }
    return answer(thread, word.address);
  });
}

Result<i64> priority_changed(Thread& thread, Thread& changed) {
  if (thread.step.phase == start) {
    if (!changed.pi.enlisted.load(Order::seq_cst)) return 0;
    thread.pi.held = Ref<Thread>::share(changed);
    thread.pi.other = &changed;
    thread.step.phase = submitted;
    if (!pi::submit(thread, pi::execute_reconsider)) return Errno::blocked;
  }
  thread.pi.held = {};
  return 0;
}

Errno release_owned_pi(Thread& thread) {
  if (thread.step.phase == start) {
    thread.pi.closed.store(true, Order::seq_cst);  // who looks for it as an owner from now on tries again
    if (!thread.pi.sought.load(Order::seq_cst)) return Errno{};
    thread.step.phase = submitted;
    if (!pi::submit(thread, pi::execute_close)) return Errno::blocked;
  }
  return Errno{};
}

}  // namespace corral::futex

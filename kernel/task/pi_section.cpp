// See pi_section.h.
#include "task/pi_section.h"

#include "core/core.h"
#include "lib/container.h"
#include "sync/interleave.h"
#include "task/pi_futex.h"
#include "task/process.h"

namespace corral::futex::pi {

namespace {

using Outcome = PiOperation::Outcome;
using Waits = PiOperation::Waits;
using KeyList = IntrusiveList<PiOperation, &PiOperation::key_link>;
using DonorList = IntrusiveList<PiOperation, &PiOperation::donor_link>;

// Owners of owners that are followed, at most: Linux's max_lock_depth. A longer chain is taken for a circle.
constexpr u32 longest_chain = 1024;
constexpr u32 list_count = 64;

constinit GuardedSection<Atomic, SectionRequest, interleave::Points> section;
constinit KeyList lists[list_count];  // inside the section

KeyList& list_of(const Key& key) {
  u64 hash = (key.address >> 2) ^ (key.space >> 6);
  hash *= 0x9e37'79b9'7f4a'7c15;
  return lists[hash >> 58];
}
static_assert(list_count == 64, "six bits of the hash choose the list");

PiOperation& operation_of(SectionRequest& request) {
  return container_of(request, &PiOperation::request);
}

// The end of a request that does not enlist its thread.
void finish(PiOperation& operation, Outcome outcome) {
  operation.outcome = outcome;
  if (operation.submitted_from != this_core().id()) operation.thread.wake(WakeReason::woken);
}

// A wait is over. The thread may be gone after this.
void end_wait(PiOperation& waiter, Outcome outcome, WakeReason reason) {
  waiter.outcome = outcome;
  waiter.thread.wake(reason);
}

// The words are where they were when the request was prepared. Finishes it otherwise.
bool words_are_valid(PiOperation& operation) {
  if (operation.submitted_from == this_core().id()) return true;
  if (operation.thread.space->changes_begun() == operation.space_changes) return true;
  finish(operation, Outcome::again);
  return false;
}

u32 load(const u32* word) {
  return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
bool replace(u32* word, u32 value, u32 by) {
  return __atomic_compare_exchange_n(word, &value, by, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

u32 id_of(const Thread& thread) {
  return static_cast<u32>(thread.id().value);
}

template <class Visitor>
PiOperation* first_with(const Key& key, Visitor&& visit) {
  KeyList& list = list_of(key);
  for (PiOperation* waiter = list.front(); waiter != nullptr; waiter = list.next(*waiter)) {
    if (waiter->key == key && visit(*waiter)) return waiter;
  }
  return nullptr;
}
PiOperation* first_waiter(const Key& key) {
  return first_with(key, [](const PiOperation& waiter) { return waiter.waits == Waits::for_lock; });
}
PiOperation* first_requeuer(const Key& key) {
  return first_with(key, [](const PiOperation& waiter) { return waiter.waits == Waits::for_requeue; });
}
PiOperation* heir_of(const Key& key) {
  return first_with(key, [](const PiOperation& waiter) { return waiter.waits == Waits::to_write; });
}

// Higher priorities first, equals in order of arrival.
void insert(PiOperation& waiter) {
  KeyList& list = list_of(waiter.key);
  waiter.priority = waiter.thread.effective_priority();
  PiOperation* lower = list.front();
  while (lower != nullptr && lower->priority >= waiter.priority) lower = list.next(*lower);
  lower == nullptr ? list.push_back(waiter) : list.insert_before(*lower, waiter);
}

void enlist(PiOperation& waiter, Waits what, Thread* owner) {
  waiter.waits = what;
  waiter.owner = owner;
  waiter.enlisted.store(true, Order::seq_cst);  // before its priority is read: see priority_changed()
  insert(waiter);
  if (owner != nullptr) owner->pi.donors.push_back(waiter);
}

void take_out(PiOperation& waiter) {
  KeyList::remove(waiter);
  if (waiter.owner != nullptr) DonorList::remove(waiter);
  waiter.owner = nullptr;
  waiter.waits = Waits::no;
  waiter.enlisted.store(false, Order::relaxed);
}

// What waiters donate to `thread` has changed, and with it perhaps what the thread itself donates, and so on.
void pass_on(Thread& thread) {
  Thread* owner = &thread;
  for (u32 depth = 0; depth < longest_chain && owner != nullptr; ++depth) {
    u32 highest = 0;
    owner->pi.donors.for_each([&](const PiOperation& donor) {
      if (donor.priority > highest) highest = donor.priority;
    });
    if (highest == owner->inherited_priority()) return;
    owner->inherit_priority(highest);
    PiOperation& next = owner->pi;
    if (!next.enlisted.load(Order::relaxed) || next.priority == owner->effective_priority()) return;
    KeyList::remove(next);
    insert(next);
    owner = next.owner;
  }
}

// Whether `thread` would wait for itself if it waited for something of `owner`.
bool is_circle(const Thread& thread, Thread* owner) {
  for (u32 depth = 0; owner != nullptr; ++depth) {
    if (owner == &thread || depth == longest_chain) return true;
    owner = owner->pi.waits == Waits::for_lock ? owner->pi.owner : nullptr;
  }
  return false;
}

// All that still wait for `key` wait for `owner` from now on.
void move_waiters(const Key& key, Thread& owner) {
  owner.pi.sought.store(true, Order::relaxed);  // its end releases them; it is not at its end, for it was enlisted
  KeyList& list = list_of(key);
  list.for_each([&](PiOperation& waiter) {
    if (waiter.key != key || waiter.waits != Waits::for_lock) return;
    DonorList::remove(waiter);
    waiter.owner = &owner;
    owner.pi.donors.push_back(waiter);
  });
  pass_on(owner);
}

// What stands between a thread and a lock. The owner in `owner` when the answer is `waits`; `done`: nobody has it, and its word
// is 0 but for owner_died.
Outcome find_owner(const Key& key, u32 value, Thread* named, Thread*& owner) {
  if (const PiOperation* heir = heir_of(key); heir != nullptr) {  // it is about to write the word
    owner = &heir->thread;
    return Outcome::waits;
  }
  const u32 id = value & owner_mask;
  if (const PiOperation* waiter = first_waiter(key); waiter != nullptr) {
    owner = waiter->owner;
    return id_of(*owner) == id ? Outcome::waits : Outcome::inconsistent;
  }
  if (id == 0) return Outcome::done;
  if (named == nullptr) return Outcome::no_owner;
  if (named->pi.closed.load(Order::seq_cst)) return Outcome::later;
  owner = named;
  return Outcome::waits;
}

}  // namespace

void execute_lock(SectionRequest& request) {
  PiOperation& operation = operation_of(request);
  if (!words_are_valid(operation)) return;
  const u32 value = load(operation.word);
  if (value != operation.expected) return finish(operation, Outcome::again);
  Thread* owner = nullptr;
  const Outcome found = find_owner(operation.key, value, operation.other, owner);
  if (found == Outcome::done) {
    const bool taken = replace(operation.word, value, (value & owner_died) | id_of(operation.thread));
    return finish(operation, taken ? Outcome::granted : Outcome::again);
  }
  if (found != Outcome::waits) return finish(operation, found);
  if (is_circle(operation.thread, owner)) return finish(operation, Outcome::deadlock);
  if (operation.try_only) return finish(operation, Outcome::would_block);
  if ((value & has_waiters) == 0 && !replace(operation.word, value, value | has_waiters)) {
    return finish(operation, Outcome::again);
  }
  operation.outcome = Outcome::waits;
  enlist(operation, Waits::for_lock, owner);
  pass_on(*owner);
}

void execute_unlock(SectionRequest& request) {
  PiOperation& operation = operation_of(request);
  if (!words_are_valid(operation)) return;
  PiOperation* next = first_waiter(operation.key);
  for (;;) {
    const u32 value = load(operation.word);
    if ((value & owner_mask) != id_of(operation.thread)) return finish(operation, Outcome::not_owner);
    if (next != nullptr && next->owner != &operation.thread) return finish(operation, Outcome::inconsistent);
    if (replace(operation.word, value, next == nullptr ? 0 : id_of(next->thread) | has_waiters)) break;
  }
  if (next != nullptr) {
    take_out(*next);
    move_waiters(operation.key, next->thread);
    pass_on(operation.thread);
    end_wait(*next, Outcome::granted, WakeReason::woken);
  }
  finish(operation, Outcome::done);
}

void execute_wait_requeue(SectionRequest& request) {
  PiOperation& operation = operation_of(request);
  if (!words_are_valid(operation)) return;
  if (load(operation.word) != operation.expected) return finish(operation, Outcome::differs);
  operation.outcome = Outcome::waits;
  enlist(operation, Waits::for_requeue, nullptr);
}

void execute_requeue(SectionRequest& request) {
  PiOperation& operation = operation_of(request);
  if (!words_are_valid(operation)) return;
  if (load(operation.word) != operation.expected) return finish(operation, Outcome::differs);
  operation.affected = 0;
  PiOperation* first = first_requeuer(operation.key);
  if (first == nullptr) return finish(operation, Outcome::done);
  if (first->target != operation.target) return finish(operation, Outcome::inconsistent);
  const u32 value = load(operation.target_word);
  if (value != operation.target_expected) return finish(operation, Outcome::again);
  Thread* owner = nullptr;
  const Outcome found = find_owner(operation.target, value, operation.other, owner);
  if (found == Outcome::done) {  // the first gets it at once
    if (!replace(operation.target_word, value, (value & owner_died) | has_waiters | id_of(first->thread))) {
      return finish(operation, Outcome::again);
    }
    take_out(*first);
    first->thread.pi.sought.store(true, Order::relaxed);
    owner = &first->thread;
    operation.affected = 1;
  } else if (found != Outcome::waits) {
    return finish(operation, found);
  } else if (is_circle(first->thread, owner)) {
    return finish(operation, Outcome::deadlock);
  } else if ((value & has_waiters) == 0 && !replace(operation.target_word, value, value | has_waiters)) {
    return finish(operation, Outcome::again);
  }
  while (operation.affected <= operation.move) {
    PiOperation* waiter = first_requeuer(operation.key);
    if (waiter == nullptr || waiter->target != operation.target || is_circle(waiter->thread, owner)) break;
    take_out(*waiter);
    waiter->key = operation.target;
    enlist(*waiter, Waits::for_lock, owner);
    ++operation.affected;
  }
  pass_on(*owner);
  if (found == Outcome::done) end_wait(*first, Outcome::granted, WakeReason::woken);
  finish(operation, Outcome::done);
}

void execute_reconsider(SectionRequest& request) {
  PiOperation& operation = operation_of(request);
  PiOperation& waiter = operation.other->pi;
  if (waiter.enlisted.load(Order::relaxed)) {
    KeyList::remove(waiter);
    insert(waiter);
    if (waiter.owner != nullptr) pass_on(*waiter.owner);
  }
  finish(operation, Outcome::done);
}

void execute_written(SectionRequest& request) {
  PiOperation& operation = operation_of(request);
  take_out(operation);
  finish(operation, Outcome::done);
}

void execute_close(SectionRequest& request) {
  PiOperation& operation = operation_of(request);
  while (PiOperation* donor = operation.donors.front()) {
    PiOperation& heir = *first_waiter(donor->key);  // the donor, or one before it
    take_out(heir);
    // It stays in the list until it has written the word, so that nobody takes the lock for free.
    enlist(heir, Waits::to_write, nullptr);
    heir.enlisted.store(false, Order::relaxed);
    move_waiters(heir.key, heir.thread);
    end_wait(heir, Outcome::inherited, WakeReason::woken);
  }
  finish(operation, Outcome::done);
}

void execute_cancel(SectionRequest& request) {
  PiOperation& waiter = container_of(request, &PiOperation::cancel_request);
  if (waiter.waits != Waits::for_lock && waiter.waits != Waits::for_requeue) {  // it has ended already
    waiter.cancel_pending.store(false, Order::release);
    return;
  }
  const Outcome outcome = waiter.waits == Waits::for_lock ? Outcome::cancelled : Outcome::not_requeued;
  const WakeReason reason = waiter.cancel_reason;
  Thread* owner = waiter.owner;
  take_out(waiter);
  if (owner != nullptr) pass_on(*owner);
  waiter.cancel_pending.store(false, Order::release);
  end_wait(waiter, outcome, reason);
}

bool submit(Thread& thread, void (*execute)(SectionRequest&)) {
  PiOperation& operation = thread.pi;
  operation.request.execute = execute;
  operation.outcome = Outcome::pending;
  operation.submitted_from = this_core().id();
  operation.space_changes = thread.space->changes_begun();
  return section.submit(operation.request);
}

void submit_cancel(Thread& thread, WakeReason reason) {
  PiOperation& waiter = thread.pi;
  waiter.cancel_reason = reason;
  waiter.cancel_request.execute = execute_cancel;
  waiter.cancel_pending.store(true, Order::relaxed);
  (void)section.submit(waiter.cancel_request);
}

}  // namespace corral::futex::pi

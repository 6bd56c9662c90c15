// See futex.h. Functions named execute_… run inside a bucket's section, on any core, and do not wait.
#include "task/futex.h"

#include "core/core.h"
#include "device/clock.h"
#include "lib/container.h"
#include "lib/planted.h"
#include "sync/interleave.h"
#include "task/futex_vector.h"
#include "task/process.h"

namespace corral::futex {

struct Bucket {
  GuardedSection<Atomic, SectionRequest, interleave::Points> section;
  // Only inside the section. Real-time ones first, by priority.
  IntrusiveList<Operation, &Operation::link> waiters;
  Operation* last_real_time = nullptr;  // of the waiters
};

namespace {

// Whoever wakes looks at all who wait in the bucket, also for other words: were there few, a crowd at one word would hold up many others.
constexpr u32 bucket_bits = 12;
constexpr Duration cancel_retry = microseconds(20);

struct alignas(cache_line) PaddedBucket : Bucket {};
constinit PaddedBucket buckets[1 << bucket_bits];

Bucket& bucket_of(const Key& key) {
  u64 hash = (key.address >> 2) ^ (key.space >> 6);
  hash *= 0x9e37'79b9'7f4a'7c15;
  return buckets[hash >> (64 - bucket_bits)];
}

// The submitter executes its own request unless it was chained in; then its thread has blocked and is to be woken.
bool executed_by_submitter(const Operation& operation) {
  return operation.submitted_from == this_core().id();
}

void finish(Operation& operation, Operation::Outcome outcome) {
  operation.outcome = outcome;
  if (!executed_by_submitter(operation)) operation.thread.wake(WakeReason::woken);
}

// The address space has changed since the word's place was looked up (only possible when another core executes the request).
bool is_outdated(const Operation& operation) {
  return !executed_by_submitter(operation) && operation.thread.space->changes_begun() != operation.space_changes;
}

bool has_expected_value(const Operation& operation) {
  return __atomic_load_n(operation.word, __ATOMIC_SEQ_CST) == operation.expected;
}

// True when the word has the expected value; else the request is over.
bool compare(Operation& operation) {
  if (is_outdated(operation)) {
    finish(operation, Operation::Outcome::again);
    return false;
  }
  if (has_expected_value(operation)) return true;
  finish(operation, Operation::Outcome::differs);
  return false;
}

// Those of a higher real-time priority are woken first, equals in the order in which they came, as on Linux. Only who comes
// before somebody looks for its place: a thousand equals line up in a thousand steps.
void line_up(Bucket& bucket, Operation& waiter) {
  if (waiter.priority == 0) return bucket.waiters.push_back(waiter);
  Operation* before = bucket.last_real_time;
  if (before == nullptr || before->priority >= waiter.priority) bucket.last_real_time = &waiter;
  while (before != nullptr && before->priority < waiter.priority) before = bucket.waiters.previous(*before);
  Operation* const after = before != nullptr ? bucket.waiters.next(*before) : bucket.waiters.front();
  if (after != nullptr) return bucket.waiters.insert_before(*after, waiter);
  bucket.waiters.push_back(waiter);
}

void leave_line(Bucket& bucket, Operation& waiter) {
  if (bucket.last_real_time == &waiter) bucket.last_real_time = bucket.waiters.previous(waiter);
  IntrusiveList<Operation, &Operation::link>::remove(waiter);
}

void begin_waiting(Operation& operation) {
  Bucket& bucket = bucket_of(operation.key);
  operation.bucket.store(&bucket, Order::relaxed);
  operation.outcome = Operation::Outcome::done;
  line_up(bucket, operation);
}

void execute_wait(SectionRequest& request) {
  Operation& operation = container_of(request, &Operation::request);
  if (compare(operation)) begin_waiting(operation);
}

// The same for an entry of several, whose thread looks at the outcome.
void execute_entry(SectionRequest& request) {
  Operation& entry = container_of(request, &Operation::request);
  if (is_outdated(entry)) {
    entry.outcome = Operation::Outcome::again;
  } else if (!has_expected_value(entry)) {
    entry.outcome = Operation::Outcome::differs;
  } else {
    begin_waiting(entry);
  }
  entry.cancel_pending.store(false, Order::release);
}

void take_out(Bucket& bucket, Operation& waiter) {
  leave_line(bucket, waiter);
  waiter.bucket.store(nullptr, Order::relaxed);
}

// Taken out, and not by a waker. The thread may be gone after this.
void end_cancelled(Operation& waiter) {
  const WakeReason reason = waiter.cancel_reason;
  Thread* const sleeps = waiter.vector == nullptr ? &waiter.thread : nullptr;
  waiter.cancel_pending.store(false, Order::release);
  if (sleeps != nullptr) sleeps->wake(reason);
}

// Inside who wakes: each switch by futexes goes through here.
[[gnu::always_inline]] inline u32 wake_matching(Bucket& bucket, const Key& key, u32 bits, u32 count) {
  u32 woken = 0;
  for (Operation *waiter = bucket.waiters.front(), *following; waiter != nullptr && woken < count; waiter = following) {
    following = bucket.waiters.next(*waiter);
    if (waiter->key != key || (waiter->bits & bits) == 0) continue;
    ++woken;
    if (waiter->vector != nullptr) [[unlikely]] {
      leave_line(bucket, *waiter);
      waiter->vector->woken(*waiter);
      continue;
    }
    take_out(bucket, *waiter);
    if (planted_now_and_then(Plant::futex_wake_lost, 50)) continue;
    waiter->thread.wake(WakeReason::woken);  // the waiter may be gone after this
  }
  return woken;
}

void execute_wake(SectionRequest& request) {
  Operation& operation = container_of(request, &Operation::request);
  operation.woken = wake_matching(bucket_of(operation.key), operation.key, operation.bits, operation.count);
  finish(operation, Operation::Outcome::done);
}

void execute_arrival(SectionRequest& request) {
  Operation& waiter = container_of(request, &Operation::move_request);
  if (waiter.cancel_waits) {
    waiter.cancel_waits = false;
    waiter.bucket.store(nullptr, Order::relaxed);
    end_cancelled(waiter);
    return;
  }
  line_up(*waiter.bucket.load(Order::relaxed), waiter);
}

void execute_requeue(SectionRequest& request) {
  Operation& operation = container_of(request, &Operation::request);
  if (operation.compare && !compare(operation)) return;
  Bucket& from = bucket_of(operation.key);
  Bucket& to = bucket_of(operation.target);
  operation.woken = wake_matching(from, operation.key, match_any, operation.count);
  operation.moved = 0;
  Operation* last = from.waiters.back();
  for (Operation* waiter = from.waiters.front(); waiter != nullptr && operation.moved < operation.move;) {
    Operation* following = waiter == last ? nullptr : from.waiters.next(*waiter);
    if (waiter->key == operation.key) {
      waiter->key = operation.target;
      ++operation.moved;
      if (&from != &to) {
        // Never null: a cancel elsewhere that reads it would take the thread for woken. Released: the link is free by then.
        leave_line(from, *waiter);
        waiter->bucket.store(&to, Order::release);
        waiter->move_request.execute = execute_arrival;
        (void)to.section.submit(waiter->move_request);
      }
    }
    waiter = following;
  }
  finish(operation, Operation::Outcome::done);
}

void execute_cancel(SectionRequest& request) {
  Operation& waiter = container_of(request, &Operation::cancel_request);
  Bucket* const at = waiter.bucket.load(Order::acquire);
  if (at == nullptr) {  // woken already
    waiter.cancel_pending.store(false, Order::release);
    return;
  }
  if (at != waiter.cancel_at) {  // it was moved
    waiter.cancel_at = at;
    (void)at->section.submit(waiter.cancel_request);
    return;
  }
  if (!waiter.link.linked()) {  // it is on its way to here, and this has overtaken it
    waiter.cancel_waits = true;
    return;
  }
  take_out(*at, waiter);
  end_cancelled(waiter);
}

class Place final : public Thread::WaitPlace {
 public:
  void cancel(Thread& thread, WakeReason reason) override {
    Operation& waiter = thread.futex;
    waiter.cancel_reason = reason;
    withdraw_entry(waiter);
  }
};
constinit Place place;

Result<const u32*> pointer_to(Thread& thread, VirtualAddress address) {
  return reinterpret_cast<const u32*>(TRY(thread.space->resolve(thread.caller, address, vm::Access::read)));
}

// Submits and answers true when the outcome is there; else the step must answer blocked.
bool submit(Operation& operation, void (*execute)(SectionRequest&), Thread& thread) {
  operation.request.execute = execute;
  operation.outcome = Operation::Outcome::pending;
  operation.submitted_from = this_core().id();
  operation.space_changes = thread.space->changes_begun();
  return bucket_of(operation.key).section.submit(operation.request);
}

enum Phase : u32 { start = 0, submitted = 1 };

}  // namespace

Result<Key> key_of(Thread& thread, Word word) {
  if (word.address.value % 4 != 0) return Errno::einval;
  if (word.address.value >= arch::user_space_end) return Errno::efault;
  if (word.shared) {
    u8* pointer = TRY(thread.space->resolve(thread.caller, word.address, vm::Access::read));
    if (thread.space->is_shared(word.address)) return Key{0, arch::physical_of_direct(pointer).value};
  }
  return Key{reinterpret_cast<u64>(thread.space), word.address.value};
}

Result<i64> wait(Thread& thread, Word word, u32 expected, u32 bits, Deadline deadline) {
  Operation& operation = thread.futex;
  if (thread.step.phase == submitted) {
    if (thread.step.word[0] == 0) {  // the first run after the wake-up; pauses may follow
      thread.step.word[0] = 1;
      thread.step.word[1] = static_cast<u64>(thread.wake_reason());
    }
    if (operation.cancel_pending.load(Order::acquire)) return thread.pause_until(clock::now() + cancel_retry);
    if (operation.outcome == Operation::Outcome::differs) return Errno::eagain;
    if (operation.outcome == Operation::Outcome::done) {
      switch (static_cast<WakeReason>(thread.step.word[1])) {
        case WakeReason::timed_out: return Errno::etimedout;
        case WakeReason::interrupted: return Errno::restart;
        default: return 0;
      }
    }
    thread.step = {};  // again
  }
  if (bits == 0) return Errno::einval;
  operation.key = TRY(key_of(thread, word));
  operation.first_key = operation.key;
  operation.word = TRY(pointer_to(thread, word.address));
  if (__atomic_load_n(operation.word, __ATOMIC_SEQ_CST) != expected) return Errno::eagain;
  if (!deadline.is_never() && clock::instant_of(deadline) <= clock::now()) return Errno::etimedout;
  if (thread.interrupted()) return Errno::restart;
  operation.expected = expected;
  operation.bits = bits;
  operation.priority = thread.policy_and_priority().priority;
  operation.bucket.store(nullptr, Order::relaxed);
  thread.step.phase = submitted;
  const Errno blocked = thread.wait_at(place, deadline);
  if (submit(operation, execute_wait, thread) && operation.outcome == Operation::Outcome::differs) {
    thread.abandon_wait();
    return Errno::eagain;
  }
  return blocked;
}

Result<void> enlist_entry(Operation& entry, Word word, u32 expected) {
  Thread& thread = entry.thread;
  entry.key = TRY(key_of(thread, word));
  entry.first_key = entry.key;
  entry.word = TRY(pointer_to(thread, word.address));
  entry.expected = expected;
  entry.bits = match_any;
  entry.priority = thread.policy_and_priority().priority;
  entry.cancel_pending.store(true, Order::relaxed);
  (void)submit(entry, execute_entry, thread);
  return {};
}

void withdraw_entry(Operation& entry) {
  entry.cancel_at = &bucket_of(entry.first_key);
  entry.cancel_request.execute = execute_cancel;
  entry.cancel_pending.store(true, Order::relaxed);
  (void)entry.cancel_at->section.submit(entry.cancel_request);
}

Result<i64> wake(Thread& thread, Word word, u32 count, u32 bits) {
  Operation& operation = thread.futex;
  if (thread.step.phase == start) {
    if (bits == 0) return Errno::einval;
    operation.key = TRY(key_of(thread, word));
    operation.bits = bits;
    operation.count = count;
    thread.step.phase = submitted;
    if (!submit(operation, execute_wake, thread)) return Errno::blocked;
  }
  return operation.woken;
}

Result<i64> wake_known(Thread& thread, const Key& key, u32 count) {
  Operation& operation = thread.futex;
  if (thread.step.phase == start) {
    operation.key = key;
    operation.bits = match_any;
    operation.count = count;
    thread.step.phase = submitted;
    if (!submit(operation, execute_wake, thread)) return Errno::blocked;
  }
  return operation.woken;
}

Result<i64> requeue(Thread& thread, Word from, Word to, u32 count, u32 move, const u32* expected) {
  Operation& operation = thread.futex;
  if (thread.step.phase == submitted && operation.outcome == Operation::Outcome::again) thread.step.phase = start;
  if (thread.step.phase == start) {
    operation.key = TRY(key_of(thread, from));
    operation.target = TRY(key_of(thread, to));
    operation.compare = expected != nullptr;
    if (expected != nullptr) {
      operation.word = TRY(pointer_to(thread, from.address));
      operation.expected = *expected;
    }
    operation.count = count;
    operation.move = move;
    thread.step.phase = submitted;
    if (!submit(operation, execute_requeue, thread)) return Errno::blocked;
  }
  if (operation.outcome == Operation::Outcome::differs) return Errno::eagain;
  return i64{operation.woken} + operation.moved;
}

Result<void> wake_plainly(Thread& thread, VirtualAddress address, u32 count) {
  Operation& operation = thread.futex;
  if (thread.step.phase == start) {
    operation.key = TRY(key_of(thread, {address, true}));
    operation.bits = match_any;
    operation.count = count;
    thread.step.phase = submitted;
    if (!submit(operation, execute_wake, thread)) return Errno::blocked;
  }
  thread.step.phase = start;
  return {};
}

}  // namespace corral::futex

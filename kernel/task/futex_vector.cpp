// See futex_vector.h.
#include "task/futex_vector.h"

#include <new>

#include "device/clock.h"
#include "memory/heap.h"
#include "sync/interleave.h"

namespace corral::futex {

namespace {

constexpr Duration look_again = microseconds(20);  // at what another core executes

class Place final : public Thread::WaitPlace {
 public:
  void cancel(Thread& thread, WakeReason reason) override {
    static_cast<VectorWait*>(thread.step.kept.get())->end_early(reason);
  }
};
constinit Place place;

// By who has claimed a thread that slept.
void wake(Thread& thread, WakeReason reason) {
  thread.waits_on_words.store(false, Order::relaxed);
  thread.wake(reason);
}

}  // namespace

Result<Ref<VectorWait>> VectorWait::create(Thread& thread, u64 count) {
  auto* vector = new (std::nothrow) VectorWait(thread, count);
  if (vector == nullptr) return Errno::enomem;
  Ref<VectorWait> made = Ref<VectorWait>::adopt(vector);
  vector->entries_ = static_cast<Entry*>(memory::allocate(count * sizeof(Entry)));
  if (vector->entries_ == nullptr) return Errno::enomem;
  for (u64 i = 0; i < count; ++i) (::new (&vector->entries_[i]) Entry{thread})->operation.vector = vector;
  return made;
}

VectorWait::~VectorWait() {
  memory::release(entries_);
}

void VectorWait::woken(Operation& entry) {
  Thread& thread = thread_;
  entry.woken = 1;
  const bool was_asleep = claim_.exchange(Claim::claimed, Order::acq_rel) == Claim::asleep;
  interleave::point();
  entry.bucket.store(nullptr, Order::release);  // all this may be gone from here on, unless the thread still sleeps
  interleave::point();
  if (was_asleep) wake(thread, WakeReason::woken);
}

void VectorWait::end_early(WakeReason reason) {
  if (claim_.exchange(Claim::claimed, Order::acq_rel) == Claim::asleep) wake(thread_, reason);
}

void VectorWait::give_up(Errno error) {
  error_ = error;
  part_ = Part::withdraw;
}

// One after the other, as long as the words have the expected values. blocked: go on with the same one.
Result<void> VectorWait::enlist() {
  while (enlisted_ < count_) {
    Entry& entry = entries_[enlisted_];
    Operation& operation = entry.operation;
    if (!submitted_) {
      const Result<void> begun = enlist_entry(operation, entry.word, entry.expected);
      if (!begun.ok() && begun.error() == Errno::blocked) return Errno::blocked;
      if (!begun.ok()) {
        give_up(begun.error());
        return {};
      }
      submitted_ = true;
    }
    if (operation.cancel_pending.load(Order::acquire)) return thread_.pause_until(clock::now() + look_again);
    submitted_ = false;
    if (operation.outcome == Operation::Outcome::differs) {
      give_up(Errno::eagain);
      return {};
    }
    if (operation.outcome == Operation::Outcome::done) ++enlisted_;
  }
  part_ = Part::sleep;
  return {};
}

// blocked; else somebody has woken an entry already, or a signal is to be taken.
Errno VectorWait::fall_asleep() {
  if (thread_.interrupted()) {
    give_up(Errno::restart);
    return Errno{};
  }
  part_ = Part::wake_up;
  const Errno blocked = thread_.wait_at(place, deadline_);
  interleave::point();
  Claim awake = Claim::awake;
  thread_.waits_on_words.store(true, Order::relaxed);
  if (claim_.compare_exchange(awake, Claim::asleep, Order::acq_rel, Order::acquire)) return blocked;
  thread_.waits_on_words.store(false, Order::relaxed);
  thread_.abandon_wait();
  give_up(Errno{});
  return Errno{};
}

void VectorWait::note_reason() {
  switch (thread_.wake_reason()) {
    case WakeReason::timed_out: return give_up(Errno::etimedout);
    case WakeReason::interrupted: return give_up(Errno::restart);
    default: return give_up(Errno{});
  }
}

void VectorWait::withdraw() {
  for (u64 i = 0; i < enlisted_; ++i) withdraw_entry(entries_[i].operation);
  part_ = Part::settle;
}

Result<i64> VectorWait::settle() {
  for (u64 i = 0; i < enlisted_; ++i) {
    if (entries_[i].operation.cancel_pending.load(Order::acquire)) return thread_.pause_until(clock::now() + look_again);
  }
  for (u64 i = enlisted_; i-- > 0;) {
    if (entries_[i].operation.woken != 0) return static_cast<i64>(i);
  }
  return error_;
}

Result<i64> VectorWait::run() {
  if (part_ == Part::check) {
    for (u64 i = 0; i < count_; ++i) (void)TRY(key_of(thread_, entries_[i].word));
    part_ = Part::enlist;
  }
  if (part_ == Part::enlist) TRY(enlist());
  if (part_ == Part::sleep && fall_asleep() == Errno::blocked) return Errno::blocked;
  if (part_ == Part::wake_up) note_reason();
  if (part_ == Part::withdraw) withdraw();
  return settle();
}

}  // namespace corral::futex

// See semaphore_set.h.
#include "ipc/sysv/semaphore_set.h"

#include <algorithm>

#include "device/clock.h"
#include "fs/types.h"
#include "task/exit.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::ipc {

namespace {
constinit IdTable<SemaphoreSet> sets{SemaphoreLimits::sets, "semaphore sets"};
constinit Atomic<u64> semaphores_in_all{0};

i64 now_s() {
  return fs::wall_time_ns() / 1'000'000'000;
}
}  // namespace

// ---- waiting -----------------------------------------------------------------------------------------------------------------

SemaphoreWait::SemaphoreWait(Ref<SemaphoreSet> set) : set_{static_cast<Ref<SemaphoreSet>&&>(set)}, woken_{set_->lock_} {}

SemaphoreWait::~SemaphoreWait() {
  withdraw();
}

void SemaphoreWait::withdraw() {
  LockGuard guard{set_->lock_};
  if (link.linked()) set_->waits_.remove(*this);
}

bool SemaphoreSet::stops(const SemaphoreOperation& operation) const {
  const u32 value = semaphores_[operation.number].value;
  return operation.change == 0 ? value != 0 : static_cast<i32>(value) + operation.change < 0;
}

bool SemaphoreSet::try_again(SemaphoreWait& wait) {
  if (wait.done_ == 0 && stops(wait.stopped_by())) return false;
  const Result<Undo*> undo = wait.undoes_ ? undo_of(wait.process_) : Result<Undo*>{nullptr};
  wait.outcome_ = undo.ok() ? perform(wait.operations_.all(), wait.process_, undo.value(), wait.done_) : undo.error();
  return wait.outcome_ != Errno::blocked;
}

void SemaphoreSet::end(SemaphoreWait& wait, Errno outcome) {
  waits_.remove(wait);
  wait.outcome_ = outcome;
  (void)wait.woken_.wake_all();
}

void SemaphoreSet::do_what_waits() {
  for (SemaphoreWait* wait = waits_.front(); wait != nullptr;) {
    if (!try_again(*wait)) {
      wait = waits_.next(*wait);
      continue;
    }
    end(*wait, wait->outcome_);
    wait = waits_.front();  // this may have made possible what came before
  }
}

// ---- sets --------------------------------------------------------------------------------------------------------------------

Result<Ref<SemaphoreSet>> SemaphoreSet::create(u32 count) {
  auto* memory = static_cast<Semaphore*>(memory::allocate(count * sizeof(Semaphore)));
  if (memory == nullptr) return Errno::enomem;
  auto* made = new (std::nothrow) SemaphoreSet(memory, count);
  if (made == nullptr) {
    memory::release(memory);
    return Errno::enomem;
  }
  for (u32 i = 0; i < count; ++i) ::new (&memory[i]) Semaphore{};
  made->changed_s.store(now_s(), Order::relaxed);
  semaphores_in_all.fetch_add(count, Order::relaxed);
  return Ref<SemaphoreSet>::adopt(made);
}

SemaphoreSet::~SemaphoreSet() {
  LockGuard guard{lock_};
  while (Undo* undo = undos_.pop_front()) memory::release(undo);
  memory::release(semaphores_);
  semaphores_in_all.fetch_sub(count_, Order::relaxed);
}

// ---- operations --------------------------------------------------------------------------------------------------------------

u32 SemaphoreSet::apply(std::span<const SemaphoreOperation> operations, Undo* undo, Errno& error) {
  constexpr i32 highest = SemaphoreLimits::highest_value;
  for (u32 i = 0; i < operations.size(); ++i) {
    const SemaphoreOperation& operation = operations[i];
    Semaphore& semaphore = semaphores_[operation.number];
    const i32 result = static_cast<i32>(semaphore.value) + operation.change;
    if (stops(operation)) {
      error = (static_cast<u32>(operation.flags) & flag_no_wait) != 0 ? Errno::eagain : Errno::blocked;
      return i;
    }
    if (result > highest) {
      error = Errno::erange;
      return i;
    }
    if ((operation.flags & semaphore_undo) != 0) {
      const i32 adjustment = undo->adjustment[operation.number] - operation.change;
      if (adjustment < -highest - 1 || adjustment > highest) {
        error = Errno::erange;
        return i;
      }
      undo->adjustment[operation.number] = static_cast<i16>(adjustment);
    }
    semaphore.value = static_cast<u32>(result);
  }
  error = Errno{};
  return static_cast<u32>(operations.size());
}

void SemaphoreSet::take_back(std::span<const SemaphoreOperation> done, Undo* undo) {
  for (u64 i = done.size(); i > 0; --i) {
    const SemaphoreOperation& operation = done[i - 1];
    Semaphore& semaphore = semaphores_[operation.number];
    semaphore.value = static_cast<u32>(static_cast<i32>(semaphore.value) - operation.change);
    if ((operation.flags & semaphore_undo) == 0) continue;
    i16& adjustment = undo->adjustment[operation.number];
    adjustment = static_cast<i16>(adjustment + operation.change);
  }
}

Errno SemaphoreSet::perform(std::span<const SemaphoreOperation> operations, i32 process, Undo* undo, u32& done) {
  Errno error{};
  done = apply(operations, undo, error);
  if (error != Errno{}) {
    take_back(operations.first(done), undo);
    return error;
  }
  for (const SemaphoreOperation& operation : operations) semaphores_[operation.number].last_process = process;
  operated_s.store(now_s(), Order::relaxed);
  return Errno{};
}

Result<void> SemaphoreSet::operate(Thread& thread, std::span<const SemaphoreOperation> operations, Instant deadline) {
  bool undoes = false;
  for (const SemaphoreOperation& operation : operations) {
    if (operation.number >= count_) return Errno::efbig;
    undoes = undoes || (operation.flags & semaphore_undo) != 0;
  }
  const Errno outcome = attempt(thread, operations, undoes, deadline);
  if (outcome != Errno::enomem) return outcome;
  // It has to wait: what it waits with is made first, and then it is tried again.
  const Ref<SemaphoreWait> wait = Ref<SemaphoreWait>::adopt(TRY(memory::make<SemaphoreWait>(Ref<SemaphoreSet>::share(*this))));
  TRY(wait->operations_.allocate(operations.size()));
  std::ranges::copy(operations, wait->operations_.data());
  wait->process_ = thread.process().id().value;
  wait->undoes_ = undoes;
  thread.step.kept = Ref<StepKept>::share(*wait);
  return attempt(thread, operations, undoes, deadline);
}

Result<void> SemaphoreSet::go_on(Thread& thread, Instant deadline) {
  auto& wait = static_cast<SemaphoreWait&>(*thread.step.kept);
  SemaphoreSet& set = *wait.set_;
  {
    LockGuard guard{set.lock_};
    if (wait.outcome_ != Errno::blocked) return wait.outcome_;
  }
  return set.attempt(thread, wait.operations_.all(), wait.undoes_, deadline);  // nobody else does them: it is out of the list
}

Errno SemaphoreSet::attempt(Thread& thread, std::span<const SemaphoreOperation> operations, bool undoes, Instant deadline) {
  const i32 process = thread.process().id().value;
  LockGuard guard{lock_};
  if (removed_) return Errno::eidrm;
  Undo* undo = nullptr;
  if (undoes) {
    const Result<Undo*> found = undo_of(process);
    if (!found.ok()) return found.error();
    undo = found.value();
    thread.process().undoes_at_end.store(true, Order::relaxed);
  }
  u32 done = 0;
  const Errno outcome = perform(operations, process, undo, done);
  if (outcome != Errno::blocked) {
    if (outcome == Errno{}) do_what_waits();
    return outcome;
  }
  if (thread.wake_reason() == WakeReason::timed_out) return Errno::eagain;
  if (!thread.step.kept) return Errno::enomem;
  auto& wait = static_cast<SemaphoreWait&>(*thread.step.kept);
  const Errno waiting = wait.woken_.wait(thread, deadline);
  if (waiting == Errno::blocked) {
    wait.done_ = done;
    waits_.push_back(wait);
  }
  return waiting;
}

// ---- values ----------------------------------------------------------------------------------------------------------------

Result<SemaphoreCounts> SemaphoreSet::look(u32 which) {
  LockGuard guard{lock_};
  if (removed_) return Errno::eidrm;
  SemaphoreCounts counts{.value = semaphores_[which].value, .last_process = semaphores_[which].last_process};
  waits_.for_each([&](const SemaphoreWait& wait) {
    const SemaphoreOperation& operation = wait.stopped_by();
    if (operation.number == which) ++(operation.change == 0 ? counts.zero_waiters : counts.increase_waiters);
  });
  return counts;
}

void SemaphoreSet::forget_undo(u32 which) {
  undos_.for_each([&](Undo& undo) { undo.adjustment[which] = 0; });
}

Result<void> SemaphoreSet::set(u32 which, u32 value, i32 process) {
  LockGuard guard{lock_};
  if (removed_) return Errno::eidrm;
  forget_undo(which);
  semaphores_[which].value = value;
  semaphores_[which].last_process = process;
  changed_s.store(now_s(), Order::relaxed);
  do_what_waits();
  return {};
}

Result<void> SemaphoreSet::get_all(std::span<u16> values) {
  LockGuard guard{lock_};
  if (removed_) return Errno::eidrm;
  for (u32 i = 0; i < count_; ++i) values[i] = static_cast<u16>(semaphores_[i].value);
  return {};
}

Result<void> SemaphoreSet::set_all(std::span<const u16> values, i32 process) {
  LockGuard guard{lock_};
  if (removed_) return Errno::eidrm;
  for (u32 i = 0; i < count_; ++i) {
    forget_undo(i);
    semaphores_[i].value = values[i];
    semaphores_[i].last_process = process;
  }
  changed_s.store(now_s(), Order::relaxed);
  do_what_waits();
  return {};
}

void SemaphoreSet::remove() {
  LockGuard guard{lock_};
  removed_ = true;
  while (SemaphoreWait* wait = waits_.front()) end(*wait, Errno::eidrm);
}

// ---- undoing ---------------------------------------------------------------------------------------------------------------

Result<SemaphoreSet::Undo*> SemaphoreSet::undo_of(i32 process) {
  Undo* found = nullptr;
  undos_.for_each([&](Undo& undo) {
    if (undo.process == process) found = &undo;
  });
  if (found != nullptr) return found;
  void* storage = memory::allocate(sizeof(Undo) + count_ * sizeof(i16));
  if (storage == nullptr) return Errno::enomem;
  auto* made = ::new (storage) Undo{};
  made->process = process;
  for (u32 i = 0; i < count_; ++i) made->adjustment[i] = 0;
  undos_.push_back(*made);
  return made;
}

void SemaphoreSet::undo(i32 process) {
  constexpr i32 highest = SemaphoreLimits::highest_value;
  LockGuard guard{lock_};
  undos_.for_each([&](Undo& undo) NO_THREAD_SAFETY_ANALYSIS {  // under the lock, which the analysis cannot see in a lambda
    if (undo.process != process) return;
    undos_.remove(undo);
    for (u32 i = 0; i < count_; ++i) {
      if (undo.adjustment[i] == 0) continue;
      const i32 value = static_cast<i32>(semaphores_[i].value) + undo.adjustment[i];
      semaphores_[i].value = static_cast<u32>(value < 0 ? 0 : value > highest ? highest : value);
      semaphores_[i].last_process = process;
    }
    memory::release(&undo);
  });
  do_what_waits();
}

namespace {

void process_ends(Process& process) {
  if (!process.undoes_at_end.load(Order::relaxed)) return;
  u32 place = 0;
  for (;;) {
    Ref<SemaphoreSet> set;
    {
      LockGuard guard{sets.lock()};
      while (place < sets.places() && sets.at(place) == nullptr) ++place;
      if (place >= sets.places()) return;
      set = Ref<SemaphoreSet>::share(*sets.at(place));
    }
    set->undo(process.id().value);
    ++place;
  }
}

}  // namespace

namespace semaphores {
IdTable<SemaphoreSet>& table() {
  return sets;
}
void initialise() {
  set_process_end(process_ends);
}
u64 in_all() {
  return semaphores_in_all.load(Order::relaxed);
}
}  // namespace semaphores

}  // namespace corral::ipc

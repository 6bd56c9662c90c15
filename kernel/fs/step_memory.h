// What a step that works on files keeps from one run to the next: the walks that it has finished, and the changes that it has
// begun elsewhere (decision 0011).
//
// A step is run again from its beginning after each wait. Looking things up again does no harm: what was found is cached.
// Changes are another matter: a file server must be asked once, its answer must reach the step that asked, and what the change has
// done (the new name exists now) must not make the step decide otherwise. So the step meets its finished walks and its
// changes again, in the same order, in place of doing them again.
// Context: the thread's own step.
#pragma once

#include "fs/walk.h"
#include "sync/waiter.h"

namespace corral::fs {

// A change under way in a file server. run() is called in each run of the step until it does not answer blocked; afterwards it
// answers the same result again.
class Operation : public RefCounted<Operation> {
 public:
  virtual ~Operation() = default;
  virtual Result<void> run(Waiter& waiter) = 0;
  Ref<Inode> made;  // what creating has made
};

class StepMemory final : public StepKept {
 public:
  // The memory of the thread's step; null: it has none so far.
  [[nodiscard]] static StepMemory* find(Thread& thread) { return static_cast<StepMemory*>(thread_step(thread).kept.get()); }
  static Result<StepMemory*> of(Thread& thread);  // enomem

  // A finished walk is kept where a change may follow that answers later. enomem.
  static Result<void> keep(Thread& thread, const Walk& walk);
  // The next walk of an earlier run. False: there is none.
  [[nodiscard]] bool recall(Walk& walk);
  // They are walked again: nothing is to refer to what they have found.
  void forget_walks();

  // The next change of this step: made by `make` (Result<Ref<Operation>>) when it is first met. Answers as Operation::run.
  template <class Make>
  static Result<Ref<Inode>> perform(Thread& thread, Make&& make) {
    StepMemory* memory = TRY(of(thread));
    if (memory->next_operation_ == most_operations) return Errno::enomem;
    Ref<Operation>& operation = memory->operations_[memory->next_operation_];
    if (!operation) operation = TRY(make());
    const Result<void> outcome = operation->run(waiter_of(thread));
    if (!outcome.ok() && outcome.error() == Errno::blocked) return Errno::blocked;
    ++memory->next_operation_;
    if (!outcome.ok()) return outcome.error();
    return operation->made;
  }

  // The change that perform() has answered last.
  [[nodiscard]] Operation* last() { return operations_[next_operation_ - 1].get(); }
  // The changes so far are finished, and the next one is another one.
  void forget_operations();
  // Of a file that is mapped (fs/shrinking.h); null: none is under way.
  Ref<Operation> shrinking;
  // The same, of a file that an earlier run may have made shorter, before it had to wait for the end of that.
  Ref<Operation> cutting;
  void begin_run() override { next_walk_ = next_operation_ = 0; }
  // When this step first waited for a file server: what was asked for since then is not asked for again.
  const Instant since;
  u64 progress = 0;  // of a flush that comes before a change

 private:
  explicit StepMemory(Instant now) : since{now} {}
  static StepState& thread_step(Thread& thread);
  static Waiter& waiter_of(Thread& thread);

  static constexpr u32 most_walks = 2, most_operations = 16;
  Walk walks_[most_walks];
  Ref<Operation> operations_[most_operations];
  u32 walk_count_ = 0, next_walk_ = 0, next_operation_ = 0;
};

// The thread whose step this core runs. In steps only.
[[nodiscard]] Thread& stepping_thread();

}  // namespace corral::fs

// See step_memory.h.
#include "fs/step_memory.h"

#include "core/core.h"
#include "device/clock.h"
#include "task/executive.h"
#include "trace/panic.h"

namespace corral::fs {

StepState& StepMemory::thread_step(Thread& thread) {
  return thread.step;
}

Waiter& StepMemory::waiter_of(Thread& thread) {
  return thread;
}

Result<StepMemory*> StepMemory::of(Thread& thread) {
  if (StepMemory* memory = find(thread)) return memory;
  auto* memory = new (std::nothrow) StepMemory(clock::now());
  if (memory == nullptr) return Errno::enomem;
  thread.step.kept = Ref<StepKept>::adopt(memory);
  return memory;
}

Result<void> StepMemory::keep(Thread& thread, const Walk& walk) {
  const bool later = (walk.directory && walk.directory->file_system().answers_later()) ||
                     (walk.file && walk.file->file_system().answers_later());
  if (!later) return {};
  StepMemory* memory = TRY(of(thread));
  if (memory->walk_count_ == most_walks) return {};
  memory->walks_[memory->walk_count_++] = walk;
  memory->next_walk_ = memory->walk_count_;
  return {};
}

bool StepMemory::recall(Walk& walk) {
  if (next_walk_ == walk_count_) return false;
  walk = walks_[next_walk_++];
  return true;
}

void StepMemory::forget_walks() {
  for (Walk& walk : walks_) walk = Walk{};
  walk_count_ = next_walk_ = 0;
}

void StepMemory::forget_operations() {
  for (Ref<Operation>& operation : operations_) operation = Ref<Operation>{};
  next_operation_ = 0;
}

Thread& stepping_thread() {
  Thread* thread = this_core().executive->current();
  KERNEL_ASSERT(thread != nullptr);
  return *thread;
}

}  // namespace corral::fs

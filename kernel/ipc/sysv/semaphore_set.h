// System V semaphores: sets of counters that a call changes together or not at all. Source: POSIX.1-2017 semop(); Linux man-pages
// semop(2), semctl(2).
//
// Everything in a set is guarded by its lock. A thread that cannot do its operations leaves them in the set and waits
// (SemaphoreWait). Who changes a counter does for the waiting ones what can be done now, in the order in which they came, before
// anybody else gets at the counter: so a thread that gives and at once takes again does not take what another waits for.
// What a process asked to be undone at its end is kept in the set, one record for each process (pid, adjustments).
#pragma once

#include <span>

#include "ipc/sysv/ids.h"
#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "memory/heap_array.h"
#include "sync/waiter.h"

namespace corral {
class Process;
class Thread;
}  // namespace corral

namespace corral::ipc {

struct SemaphoreLimits {  // as Linux's
  static constexpr u32 highest_value = 32767;
  static inline constinit Setting per_set{32000, 0, 65535}, in_all{1'024'000'000, 0, 0x7fff'ffff},
      operations{500, 0, 0x7fff'ffff}, sets{32000, 0, 32768};
};

struct SemaphoreOperation {  // struct sembuf
  u16 number;
  i16 change;
  i16 flags;
};
static_assert(sizeof(SemaphoreOperation) == 6);
inline constexpr i16 semaphore_undo = 0x1000;

struct SemaphoreCounts {
  u32 value = 0, increase_waiters = 0, zero_waiters = 0;
  i32 last_process = 0;
};

class SemaphoreSet;

// The operations of a thread that waits, as long as its step lasts.
class SemaphoreWait final : public StepKept {
 public:
  explicit SemaphoreWait(Ref<SemaphoreSet> set);
  ~SemaphoreWait() override;
  void begin_run() override { withdraw(); }

 private:
  friend class SemaphoreSet;
  void withdraw();  // whatever woke the thread: nobody is to do its operations any more
  [[nodiscard]] const SemaphoreOperation& stopped_by() const { return operations_[done_]; }

 public:
  ListLink link;  // in the set's waits; guarded by its lock, as all that follows but `operations_`, which stays as it is

 private:
  Ref<SemaphoreSet> set_;
  memory::HeapArray<SemaphoreOperation> operations_;
  WaitQueue woken_;
  i32 process_ = 0;
  bool undoes_ = false;
  u32 done_ = 0;  // how many operations could be done at the last attempt
  Errno outcome_ = Errno::blocked;  // until somebody has done them, or refused them
};

class SemaphoreSet final : public RefCounted<SemaphoreSet> {
 public:
  static Result<Ref<SemaphoreSet>> create(u32 count);  // enomem
  ~SemaphoreSet();
  [[nodiscard]] u32 count() const { return count_; }

  // All of the operations or none. efbig, eagain, erange, enomem, eidrm; blocked, restart.
  Result<void> operate(Thread& thread, std::span<const SemaphoreOperation> operations, Instant deadline) EXCLUDES(lock_);
  Result<SemaphoreCounts> look(u32 number) EXCLUDES(lock_);  // eidrm
  Result<void> set(u32 number, u32 value, i32 process) EXCLUDES(lock_);  // eidrm
  Result<void> get_all(std::span<u16> values) EXCLUDES(lock_);  // eidrm
  Result<void> set_all(std::span<const u16> values, i32 process) EXCLUDES(lock_);  // eidrm
  // It is out of the table: who waits is told.
  void remove() EXCLUDES(lock_);
  // The same for a step that has waited (it keeps something): its operations are those of its first run.
  static Result<void> go_on(Thread& thread, Instant deadline);
  // A process ends: what it asked for is undone.
  void undo(i32 process) EXCLUDES(lock_);

  i32 number = 0;  // guarded by the table's lock, as the next
  Ownership ownership;
  Atomic<i64> operated_s{0};  // time of the last operation, seconds since 1970
  Atomic<i64> changed_s{0};

 private:
  friend class SemaphoreWait;
  struct Semaphore {
    u32 value = 0;
    i32 last_process = 0;
  };
  struct Undo {
    ListLink link;
    i32 process;
    i16 adjustment[];  // count_
  };
  SemaphoreSet(Semaphore* semaphores, u32 count) : count_{count}, semaphores_{semaphores} {}
  // enomem without anything kept in the step: it would have to wait.
  Errno attempt(Thread& thread, std::span<const SemaphoreOperation> operations, bool undoes, Instant deadline) EXCLUDES(lock_);
  // Does the operations as far as they go; answers how many. `error`: why the next one cannot be done (blocked: wait).
  u32 apply(std::span<const SemaphoreOperation> operations, Undo* undo, Errno& error) REQUIRES(lock_);
  void take_back(std::span<const SemaphoreOperation> done, Undo* undo) REQUIRES(lock_);
  // All of the operations for that process, or none of them; `done`: how many could be done before the one that could not.
  Errno perform(std::span<const SemaphoreOperation> operations, i32 process, Undo* undo, u32& done) REQUIRES(lock_);
  // Counters have changed: does what waits and can be done now.
  void do_what_waits() REQUIRES(lock_);
  // Tries once more; true when that thread need not wait any longer.
  bool try_again(SemaphoreWait& wait) REQUIRES(lock_);
  void end(SemaphoreWait& wait, Errno outcome) REQUIRES(lock_);
  [[nodiscard]] bool stops(const SemaphoreOperation& operation) const REQUIRES(lock_);
  void forget_undo(u32 number) REQUIRES(lock_);
  Result<Undo*> undo_of(i32 process) REQUIRES(lock_);

  const u32 count_;
  SpinLock lock_{Rank::ipc_object, "semaphores"};
  Semaphore* const semaphores_;  // fields guarded by lock_
  IntrusiveList<Undo, &Undo::link> undos_ GUARDED_BY(lock_);
  IntrusiveList<SemaphoreWait, &SemaphoreWait::link> waits_ GUARDED_BY(lock_);  // the longest waiting one first
  bool removed_ GUARDED_BY(lock_) = false;
};

namespace semaphores {
[[nodiscard]] IdTable<SemaphoreSet>& table();
// Boot context: processes that end have their wishes undone.
void initialise();
[[nodiscard]] u64 in_all();  // semaphores of all sets
}  // namespace semaphores

}  // namespace corral::ipc

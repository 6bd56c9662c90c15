// System V semaphores: sets of counters that a call changes together or not at all. Source: POSIX.1-2017 semop(); Linux man-pages
// semop(2), semctl(2).
//
// Everything in a set is guarded by its lock. A thread that cannot do its operations waits at the counter that stopped it, and
// looks again whenever that counter has changed; what it waits for is counted while it does (SemaphoreWait).
// What a process asked to be undone at its end is kept in the set, one record for each process (pid, adjustments).
#pragma once

#include <span>

#include "ipc/sysv/ids.h"
#include "lib/intrusive_list.h"
#include "lib/ref.h"
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
  // A process ends: what it asked for is undone.
  void undo(i32 process) EXCLUDES(lock_);

  i32 number = 0;  // guarded by the table's lock, as the next
  Ownership ownership;
  Atomic<i64> operated_s{0};  // time of the last operation, seconds since 1970
  Atomic<i64> changed_s{0};

 private:
  friend class SemaphoreWait;
  struct Semaphore {
    explicit Semaphore(SpinLock& lock) : increased{lock}, zero{lock} {}
    u32 value = 0;
    i32 last_process = 0;
    u32 increase_waiters = 0, zero_waiters = 0;
    WaitQueue increased, zero;
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
  void changed(Semaphore& semaphore) REQUIRES(lock_);
  void forget_undo(u32 number) REQUIRES(lock_);
  Result<Undo*> undo_of(i32 process) REQUIRES(lock_);
  Errno wait_at(Thread& thread, const SemaphoreOperation& operation, Instant deadline) REQUIRES(lock_);

  const u32 count_;
  SpinLock lock_{Rank::ipc_object, "semaphores"};
  Semaphore* const semaphores_;  // fields guarded by lock_
  IntrusiveList<Undo, &Undo::link> undos_ GUARDED_BY(lock_);
  bool removed_ GUARDED_BY(lock_) = false;
};

namespace semaphores {
[[nodiscard]] IdTable<SemaphoreSet>& table();
// Boot context: processes that end have their wishes undone.
void initialise();
[[nodiscard]] u64 in_all();  // semaphores of all sets
}  // namespace semaphores

}  // namespace corral::ipc

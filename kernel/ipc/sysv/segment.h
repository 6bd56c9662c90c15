// System V shared memory: a segment is the backing of every mapping that attached it. Source: POSIX.1-2017 shmget(), shmat();
// Linux man-pages shmget(2), shmop(2), shmctl(2).
//
// Each area that maps a segment holds a reference to it, whatever made the area (shmat, fork, a cut), and is counted as an
// attachment (vm/area.h). So do the table and who looks at it, which are not. A segment that was removed goes with its last
// area; until then it can be found by its number.
#pragma once

#include "fs/page_index.h"
#include "ipc/sysv/ids.h"
#include "vm/area.h"

namespace corral::ipc {

struct SegmentLimits {  // as Linux's
  static constexpr u64 no_limit = ~u64{0} - (u64{1} << 24);  // of all pages together, too
  static inline constinit Setting segments{4096, 0, 32768}, largest{no_limit, 0, ~u64{0}};
};

class Segment final : public vm::Backing {
 public:
  // `size`: bytes, > 0. enomem, enospc.
  static Result<Ref<Segment>> create(u64 size, bool reserve, i32 process);
  ~Segment() override;
  Result<Frame*> page(u64 index) override EXCLUDES(pages_lock_);
  void pages_at_hand(u64 first, std::span<Frame*> frames) override EXCLUDES(pages_lock_);
  u64 next_filled(u64 index) override EXCLUDES(pages_lock_);
  [[nodiscard]] u64 segment() const override { return serial_; }
  [[nodiscard]] const char* name() const override { return name_; }

  [[nodiscard]] u64 size() const { return size_; }
  [[nodiscard]] u64 page_count() const { return pages_; }
  [[nodiscard]] u64 resident() EXCLUDES(pages_lock_);
  // It has its number and its key now.
  void become_known();

  i32 number = 0;  // guarded by the table's lock, as the next
  Ownership ownership;
  Atomic<bool> removed{false};  // IPC_RMID: the table has no reference any more
  Atomic<bool> locked{false};   // SHM_LOCK: told only, memory is never taken away
  Atomic<i64> attached_s{0}, detached_s{0}, changed_s{0};
  Atomic<i32> creator{0}, last_process{0};

 private:
  Segment(u64 size, i32 process);

  const u64 size_, pages_;
  const u64 serial_;  // never used again
  char name_[32];
  SpinLock pages_lock_{Rank::page_cache, "segment"};
  fs::PageIndex index_ GUARDED_BY(pages_lock_);
  u64 resident_ GUARDED_BY(pages_lock_) = 0;
};

namespace segments {
[[nodiscard]] IdTable<Segment>& table();
// The segment, which is not about to end, with a reference. einval.
[[nodiscard]] Result<Ref<Segment>> find(i32 number);
[[nodiscard]] u64 pages_in_all();
}  // namespace segments

}  // namespace corral::ipc

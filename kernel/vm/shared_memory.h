// Anonymous memory that processes share (MAP_SHARED | MAP_ANONYMOUS): zeroed pages, made when first touched, found by
// index in a tree of pages of pointers. Any thread's step; a lock inside.
#pragma once

#include "sync/spin_lock.h"
#include "vm/area.h"

namespace corral::vm {

class SharedMemory final : public Backing {
 public:
  static Result<Ref<Backing>> create(u64 pages);  // enomem
  ~SharedMemory() override;
  Result<Frame*> page(u64 index) override EXCLUDES(lock_);
  u64 next_filled(u64 index) override EXCLUDES(lock_);
  [[nodiscard]] const char* name() const override { return "/dev/zero (deleted)"; }

 private:
  explicit SharedMemory(u64 pages, u32 levels) : pages_{pages}, levels_{levels} {}

  const u64 pages_;
  const u32 levels_;  // of the tree: a node of the lowest points to memory
  SpinLock lock_{Rank::page_cache, "shared memory"};
  Frame* root_ GUARDED_BY(lock_) = nullptr;
};

}  // namespace corral::vm

// Files of a file system in memory by number, for file handles (name_to_handle_at). Only those that somebody has asked a handle
// of are here, so that all others cost nothing. lock_ guards the tree; a file takes itself out when it ends.
#pragma once

#include "lib/red_black_tree.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "sync/spin_lock.h"

namespace corral::fs {

class Inode;
class RamNode;

class RamHandles {
 public:
  Result<void> add(RamNode& node, u64 number) EXCLUDES(lock_);  // enomem; nothing if it is there
  Result<Ref<Inode>> find(u64 number) EXCLUDES(lock_);  // estale
  void forget(u64 number) EXCLUDES(lock_);  // it is there

 private:
  struct Entry {
    TreeLink link;
    RamNode* node;  // without a reference
    u64 number;
  };
  struct Before {
    bool operator()(const Entry& a, const Entry& b) const { return a.number < b.number; }
  };
  [[nodiscard]] Entry* entry(u64 number) REQUIRES(lock_);

  SpinLock lock_{Rank::file_names, "handles of files"};
  RedBlackTree<Entry, &Entry::link, Before> entries_ GUARDED_BY(lock_);
};

}  // namespace corral::fs

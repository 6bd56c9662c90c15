// A file as its mappings see it, whatever keeps its pages: which file it is, and what it was called when it was mapped.
#pragma once

#include "fs/inode.h"
#include "vm/area.h"

namespace corral::fs {

class InodeBacking : public vm::Backing {
 public:
  [[nodiscard]] const void* file() const override { return inode_.get(); }
  [[nodiscard]] u64 cuts() const override { return inode_->cuts.load(Order::acquire); }
  [[nodiscard]] vm::FileIdentity identity() const override { return identity_; }
  [[nodiscard]] const char* name() const override { return path_; }

 protected:
  // Counted in inode.mappings as long as it lives. No lock held.
  explicit InodeBacking(Inode& inode);
  ~InodeBacking() override { inode_->mappings.fetch_sub(1, Order::relaxed); }
  [[nodiscard]] Inode& inode() const { return *inode_; }

 private:
  const Ref<Inode> inode_;
  vm::FileIdentity identity_;
  char path_[256];
};

}  // namespace corral::fs

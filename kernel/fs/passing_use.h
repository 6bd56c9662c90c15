// A reference to a file that the kernel itself has for a moment: its pages are under way, or it is looked for what of it is to be written.
// Unmounting tells it from those of programs (FileSystem::passing). Any context.
#pragma once

#include "fs/inode.h"
#include "sync/interleave.h"

namespace corral::fs {

class PassingUse {
 public:
  PassingUse() = default;
  static PassingUse share(Inode& inode) {
    PassingUse use{inode};
    inode.retain();
    return use;
  }
  // Takes over a reference while it still counts as its owner's.
  static PassingUse adopt(Inode& inode) { return PassingUse{inode}; }
  PassingUse(PassingUse&& other) noexcept = default;
  PassingUse& operator=(PassingUse&& other) noexcept {
    std::swap(file_system_, other.file_system_);
    std::swap(inode_, other.inode_);
    return *this;
  }
  // No lock held, if it can be the last reference.
  ~PassingUse() {
    if (!inode_) return;
    interleave::point();  // who waited for what was done with the file may look at who uses it
    inode_ = {};
    file_system_->passing.end();
  }

  [[nodiscard]] Inode* get() const { return inode_.get(); }
  Inode& operator*() const { return *inode_; }
  explicit operator bool() const { return static_cast<bool>(inode_); }

 private:
  explicit PassingUse(Inode& inode) : file_system_{Ref<FileSystem>::share(inode.file_system())} {
    file_system_->passing.begin();
    inode_ = Ref<Inode>::adopt(&inode);
  }

  Ref<FileSystem> file_system_;  // for its count of these, behind the file's end
  Ref<Inode> inode_;
};

}  // namespace corral::fs

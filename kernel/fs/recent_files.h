// The files of a file system that were used last: they are kept, with their pages, for the case that they are used again. One for so
// many pages of memory. Guarded by the lock of the file system; what is answered is let go of without it.
#pragma once

#include "fs/inode.h"
#include "lib/intrusive_list.h"
#include "memory/page_allocator.h"

namespace corral::fs {

template <class File, ListLink File::* Link>
class RecentFiles {
 public:
  // The one to forget instead, or null.
  [[nodiscard]] Ref<File> touch(File& file) {
    if ((file.*Link).linked()) {
      files_.remove(file);
      files_.push_back(file);
      return {};
    }
    file.retain();
    files_.push_back(file);
    ++count_;
    return count_ > limit() ? forget_oldest() : Ref<File>{};
  }
  // Null when it is not among them.
  [[nodiscard]] Ref<File> forget(File& file) {
    if (!(file.*Link).linked()) return {};
    files_.remove(file);
    --count_;
    return Ref<File>::adopt(&file);
  }
  // Null when there are none.
  [[nodiscard]] Ref<File> forget_oldest() {
    File* const oldest = files_.front();
    return oldest != nullptr ? forget(*oldest) : Ref<File>{};
  }

 private:
  static u64 limit() {
    constexpr u64 share = 48, fewest = 128, most = 16384;
    return smaller(larger(memory::page_statistics().total / share, fewest), most);
  }

  IntrusiveList<File, Link> files_;  // each with a reference; the oldest first
  u64 count_ = 0;
};

}  // namespace corral::fs

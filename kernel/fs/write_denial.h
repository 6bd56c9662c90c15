// As long as one exists, nobody has its file open for writing: a program that is loaded, or runs. Any thread, no lock held.
#pragma once

#include "fs/inode.h"

namespace corral::fs {

class WriteDenial {
 public:
  WriteDenial() = default;  // of no file
  // etxtbsy: somebody may write to it.
  static Result<WriteDenial> of(Ref<Inode> file) {
    if (!file->begin_executing()) return Errno::etxtbsy;
    return WriteDenial{static_cast<Ref<Inode>&&>(file)};
  }
  WriteDenial(WriteDenial&&) = default;
  WriteDenial& operator=(WriteDenial other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~WriteDenial() {
    if (file_) file_->end_executing();
  }
  // Null: it is of none.
  [[nodiscard]] const Ref<Inode>& file() const { return file_; }

 private:
  explicit WriteDenial(Ref<Inode> file) : file_{static_cast<Ref<Inode>&&>(file)} {}
  Ref<Inode> file_;
};

}  // namespace corral::fs

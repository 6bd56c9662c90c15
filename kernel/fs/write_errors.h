// Errors of writes that nobody waited for. Whoever has the file open is told each of them once, whoever else has been told before;
// who opens the file later is told what nobody has been told yet. So fsync and syncfs do it on Linux.
// Any context.
#pragma once

#include "lib/atomic.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral::fs {

class Inode;

class WriteErrors {
 public:
  // True: what was noted before has been told to somebody.
  bool note(Errno error);
  [[nodiscard]] bool any() const { return state_.load(Order::acquire) != 0; }
  // What somebody who opens the file now counts as having been told.
  [[nodiscard]] u64 sample() const;
  // The last error since; `told` is what was answered here before, or sample().
  Result<void> tell(Atomic<u64>& told);

 private:
  static constexpr u64 error_bits = 16, was_told = 1u << error_bits, one_more = was_told << 1;
  Atomic<u64> state_{0};  // how many there were; whether the last has been told; which it is
};

// What one open file, or mapping, has been told.
class WriteErrorsTold {
 public:
  explicit WriteErrorsTold(Inode& inode);
  // As fsync and syncfs of this file: {} or the error. It counts as told.
  Result<void> of_file(Inode& inode);
  Result<void> of_file_system(Inode& inode);

 private:
  // Of the file's data, of the file system's own blocks, of all data in the file system.
  Atomic<u64> data_{0}, own_{0}, all_data_{0};
};

}  // namespace corral::fs

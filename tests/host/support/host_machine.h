// What stands in for the machine when kernel sources run in a host test: cores are threads with a number, physical
// memory is an arena, a panic is an exception, and the log is kept for the test to read.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "boot/boot_info.h"
#include "lib/types.h"

namespace corral::host {

// Thrown by panic(), and so by a failed KERNEL_ASSERT.
class Panic : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The calling thread is core `index` from now on; before that it is core 0.
void become_core(u32 index);

// Physical memory from `base` on, `size` bytes of it, as the direct map shows it. One at a time.
class Memory {
 public:
  Memory(PhysicalAddress base, u64 size);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

 private:
  u8* arena_;
  u64 size_;
};

// Text of the log so far, from all threads; and forgets it.
std::string take_log();

}  // namespace corral::host

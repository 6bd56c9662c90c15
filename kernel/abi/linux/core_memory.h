// A process's memory as a core file holds it: its areas at the moment of the dump, and how much of each is written down, by the process's filter.
// Usually: private memory that was touched and what the program has changed of files, memory that is shared and belongs to no file; of files that are
// mapped unchanged only the first page, if an ELF header is in it (debuggers find the file by it).
// Source: Linux core(5).
//
// Context: the step of the thread that dumps, no lock held; the process's other threads stand still. Other processes may use the same memory:
// what they change meanwhile is dumped the one way or the other.
#pragma once

#include "lib/ref.h"
#include "lib/result.h"
#include "task/thread.h"
#include "vm/address_space.h"

namespace corral::abi::core {

struct MemorySegment {
  VirtualAddress start, end;
  vm::Protection protection;
  bool shared = false;
  bool of_file = false;  // of the kernel, or of System V, if there is none
  bool left_out = false;
  u64 first_page = 0;  // of backing
  Ref<vm::Backing> backing;
  u64 dumped = 0;  // bytes from the start on

  // Pages of the kernel that programs may look at.
  [[nodiscard]] bool is_kernels() const {
    return of_file && backing && backing->name()[0] != '/' && !has_file() && backing->segment() == 0;
  }
  [[nodiscard]] bool has_file() const { return backing && backing->file() != nullptr; }
};

class MemoryPicture {
 public:
  MemoryPicture() = default;
  MemoryPicture(const MemoryPicture&) = delete;
  MemoryPicture& operator=(const MemoryPicture&) = delete;
  ~MemoryPicture() { clear(); }

  // Notes all areas; then, in as many runs of the step as it takes, what is to be dumped of them. enomem, e2big: too many areas.
  Result<void> take(vm::AddressSpace& space);
  Result<void> decide(Thread& thread);  // blocked
  void clear();
  [[nodiscard]] std::span<MemorySegment> segments() const { return {segments_, count_}; }

  // From `page` on the first that may be there, or how far a short look has got: up to there all bytes are zero.
  static VirtualAddress pass_holes(Thread& thread, const MemorySegment& segment, VirtualAddress page);
  // The page at `page`, of what is to be dumped, into `to`, even if the program has closed it; false: there is none, its bytes are
  // zero. blocked, enomem.
  static Result<bool> read_page(Thread& thread, const MemorySegment& segment, VirtualAddress page, std::span<u8> to);

 private:
  Result<u64> dumped_size(Thread& thread, const MemorySegment& segment);
  Result<bool> has_own_pages(Thread& thread, const MemorySegment& segment);

  MemorySegment* segments_ = nullptr;
  u64 count_ = 0, room_ = 0;
  u64 decided_ = 0;  // of the segments
  VirtualAddress compared_{};  // of the next one: none of the pages below is the process's own
};

}  // namespace corral::abi::core

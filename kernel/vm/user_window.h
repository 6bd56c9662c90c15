// A range of a program's memory of which each page is looked up once, for who reads or writes it in several pieces.
//
// Good for the step that opened it (see vm/address_space.h on why a resolved page stays). Nothing after open() waits or fails.
// Context: a thread's step.
#pragma once

#include "lib/memory_functions.h"
#include "memory/canary.h"
#include "vm/address_space.h"

namespace corral::vm {

class UserWindow {
 public:
  static constexpr u64 most_pages = 8;
  static constexpr u64 largest = (most_pages - 1) * page_size;  // bytes, wherever they begin

  // Faults every page in. efault, enomem, blocked; einval: longer than `largest`.
  Result<void> open(AddressSpace& space, Caller& caller, VirtualAddress start, u64 size, Access access) {
    if (size > largest) return Errno::einval;
    if (start.value >= user_end || size > user_end - start.value) return Errno::efault;
    first_ = start.page();
    u64 i = 0;
    for (VirtualAddress page = first_; page < start + size; page = page + page_size) {
      u8* place = access == Access::execute ? nullptr : space.reach(page, access);
      page_[i++] = place != nullptr ? place : TRY(space.resolve(caller, page, access));
    }
    return {};
  }

  // [to, to + size) lies in the range, which was opened for writing.
  void write(VirtualAddress to, const void* from, u64 size) const {
    memory::check_for_canaries(from, size);
    const auto* bytes = static_cast<const u8*>(from);
    while (size != 0) {
      const u64 now = within_page(to, size);
      memcpy(place_of(to), bytes, now);
      bytes += now;
      to = to + now;
      size -= now;
    }
  }
  void read(void* to, VirtualAddress from, u64 size) const {
    auto* bytes = static_cast<u8*>(to);
    while (size != 0) {
      const u64 now = within_page(from, size);
      memcpy(bytes, place_of(from), now);
      bytes += now;
      from = from + now;
      size -= now;
    }
  }

 private:
  [[nodiscard]] u8* place_of(VirtualAddress at) const { return page_[(at - first_) / page_size] + at.value % page_size; }

  VirtualAddress first_{};
  u8* page_[most_pages];
};

}  // namespace corral::vm

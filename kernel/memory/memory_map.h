// A set of physical address ranges in whole pages: sorted, disjoint, never touching. It puts the firmware's list in order,
// which may be unsorted, overlapping, odd in its ends and contradicting itself. Pure; fixed size; boot context.
#pragma once

#include <span>

#include "lib/types.h"

namespace corral::memory {

struct PageRange {
  u64 first = 0;  // page number
  u64 count = 0;  // pages
  [[nodiscard]] constexpr u64 end() const { return first + count; }
};

class MemoryMap {
 public:
  static constexpr u32 max_ranges = 160;

  constexpr MemoryMap() = default;

  // Adds the whole pages inside base … base+size (a sum past 2^64 is cut). False: no room, the range was left out.
  bool add(PhysicalAddress base, u64 size);
  // Takes out every page that base … base+size touches. When there is no room for a split, the smaller part goes
  // too (so that nothing is ever handed out wrongly).
  void remove(PhysicalAddress base, u64 size);

  [[nodiscard]] std::span<const PageRange> ranges() const { return {ranges_, count_}; }
  [[nodiscard]] u64 pages() const;
  [[nodiscard]] bool contains(u64 page) const;  // O(log n)
  // One past the highest page; 0 when empty.
  [[nodiscard]] u64 end() const { return count_ == 0 ? 0 : ranges_[count_ - 1].end(); }
  // The first page of the lowest place for `count` pages in a row; false when there is none.
  bool find(u64 count, u64& first) const;

 private:
  void insert_at(u32 index, PageRange range);
  void erase_at(u32 index);

  PageRange ranges_[max_ranges] = {};
  u32 count_ = 0;
};

}  // namespace corral::memory

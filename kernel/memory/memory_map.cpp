// Sorted sets of page ranges. Pure. Neighbour: page_allocator.cpp.
#include "memory/memory_map.h"

namespace corral::memory {
namespace {

u64 end_address(PhysicalAddress base, u64 size) {
  u64 end;
  return __builtin_add_overflow(base.value, size, &end) ? ~u64{0} : end;
}

}  // namespace

void MemoryMap::insert_at(u32 index, PageRange range) {
  for (u32 i = count_; i > index; --i) ranges_[i] = ranges_[i - 1];
  ranges_[index] = range;
  ++count_;
}

void MemoryMap::erase_at(u32 index) {
  --count_;
  for (u32 i = index; i < count_; ++i) ranges_[i] = ranges_[i + 1];
}

bool MemoryMap::add(PhysicalAddress base, u64 size) {
  // Rounding by shifts: the end of memory may be the end of the numbers.
  const u64 first = (base.value >> page_shift) + ((base.value & (page_size - 1)) != 0 ? 1 : 0);
  const u64 end = end_address(base, size) >> page_shift;
  if (first >= end) return true;
  PageRange merged{first, end - first};
  u32 at = 0;
  while (at < count_ && ranges_[at].end() < merged.first) ++at;
  while (at < count_ && ranges_[at].first <= merged.end()) {
    const u64 low = ranges_[at].first < merged.first ? ranges_[at].first : merged.first;
    const u64 high = ranges_[at].end() > merged.end() ? ranges_[at].end() : merged.end();
    merged = {low, high - low};
    erase_at(at);
  }
  if (count_ == max_ranges) return false;
  insert_at(at, merged);
  return true;
}

void MemoryMap::remove(PhysicalAddress base, u64 size) {
  if (size == 0) return;
  const u64 first = base.value >> page_shift;
  const u64 last = (end_address(base, size) - 1) >> page_shift;
  for (u32 at = 0; at < count_;) {
    const PageRange range = ranges_[at];
    if (range.end() <= first || range.first > last) {
      ++at;
      continue;
    }
    const PageRange below{range.first, first > range.first ? first - range.first : 0};
    const PageRange above{last + 1, range.end() > last + 1 ? range.end() - (last + 1) : 0};
    erase_at(at);
    const bool room_for_both = count_ + 2 <= max_ranges;
    if (below.count != 0 && (room_for_both || below.count >= above.count)) insert_at(at++, below);
    if (above.count != 0 && (room_for_both || above.count > below.count)) insert_at(at++, above);
  }
}

u64 MemoryMap::pages() const {
  u64 sum = 0;
  for (const PageRange& range : ranges()) sum += range.count;
  return sum;
}

bool MemoryMap::contains(u64 page) const {
  u32 low = 0;
  u32 high = count_;
  while (low < high) {
    const u32 middle = low + (high - low) / 2;
    if (page < ranges_[middle].first) {
      high = middle;
    } else if (page >= ranges_[middle].end()) {
      low = middle + 1;
    } else {
      return true;
    }
  }
  return false;
}

bool MemoryMap::find(u64 count, u64& first) const {
  for (const PageRange& range : ranges()) {
    if (range.count < count) continue;
    first = range.first;
    return true;
  }
  return false;
}

}  // namespace corral::memory

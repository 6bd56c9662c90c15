// See memory_map.h. The list is short (at most max_ranges), so everything here is quadratic and simple.
#include "boot/memory_map.h"

namespace corral::boot {

namespace {

constexpr u64 address_limit = u64{1} << 52;  // no x86-64 processor has more physical address bits
constexpr u64 four_gib = u64{4} << 30;
constexpr u64 largest_table_range = u64{64} << 20;

u64 end_of(const MemoryRange& range) {
  return range.base.value + range.size;
}

void sort(BootInfo& info) {
  for (u32 i = 1; i < info.range_count; ++i) {
    MemoryRange moving = info.ranges[i];
    u32 to = i;
    for (; to > 0 && info.ranges[to - 1].base > moving.base; --to) info.ranges[to] = info.ranges[to - 1];
    info.ranges[to] = moving;
  }
}

// The answer for one address: what all entries that cover it agree on.
struct Claim {
  bool covered = false;
  bool usable = true;
  bool tables = true;
  bool operator==(const Claim&) const = default;
};

Claim claim_at(std::span<const MemoryRange> ranges, u64 address) {
  Claim claim;
  for (const MemoryRange& range : ranges) {
    if (address < range.base.value || address >= end_of(range)) continue;
    claim.covered = true;
    claim.usable = claim.usable && range.usable;
    if (!range.usable) claim.tables = claim.tables && range.tables;
  }
  claim.tables = claim.tables && !claim.usable;
  return claim;
}

// The lowest boundary above `address`, or address_limit.
u64 next_boundary(std::span<const MemoryRange> ranges, u64 address) {
  u64 next = address_limit;
  for (const MemoryRange& range : ranges) {
    if (range.base.value > address && range.base.value < next) next = range.base.value;
    if (end_of(range) > address && end_of(range) < next) next = end_of(range);
  }
  return next;
}

}  // namespace

bool add_range(BootInfo& info, u64 base, u64 size, u32 type) {
  if (base >= address_limit || size == 0) return true;
  if (size > address_limit - base) size = address_limit - base;
  if (info.range_count == BootInfo::max_ranges) return false;
  bool usable = type == e820_usable;
  bool tables = type == e820_acpi_tables || type == e820_acpi_storage;
  info.ranges[info.range_count++] = {{base}, size, usable, tables};
  return true;
}

bool order_ranges(BootInfo& info) {
  static constinit MemoryRange given[BootInfo::max_ranges] = {};
  u32 count = info.range_count;
  for (u32 i = 0; i < count; ++i) given[i] = info.ranges[i];
  std::span<const MemoryRange> old{given, count};

  info.range_count = 0;
  bool complete = true;
  u64 address = 0;
  while (address < address_limit) {
    u64 end = next_boundary(old, address);
    Claim claim = claim_at(old, address);
    MemoryRange* last = info.range_count > 0 ? &info.ranges[info.range_count - 1] : nullptr;
    if (claim.covered && last != nullptr && end_of(*last) == address && last->usable == claim.usable &&
        last->tables == claim.tables) {
      last->size += end - address;
    } else if (claim.covered && info.range_count < BootInfo::max_ranges) {
      info.ranges[info.range_count++] = {{address}, end - address, claim.usable, claim.tables};
    } else if (claim.covered) {
      complete = false;
    }
    address = end;
  }
  sort(info);
  return complete;
}

void mark_table_ranges(BootInfo& info) {
  u64 memory_end = 0;
  for (const MemoryRange& range : info.memory()) {
    if (range.usable && range.base.value < four_gib && end_of(range) > memory_end) memory_end = end_of(range);
  }
  for (u32 i = 0; i < info.range_count; ++i) {
    MemoryRange& range = info.ranges[i];
    if (range.usable || range.base.value >= four_gib || range.size > largest_table_range) continue;
    bool touches =
        i > 0 && end_of(info.ranges[i - 1]) == range.base.value && (info.ranges[i - 1].usable || info.ranges[i - 1].tables);
    if (range.base.value < memory_end || touches) range.tables = true;
  }
}

u64 usable_bytes(const BootInfo& info) {
  u64 bytes = 0;
  for (const MemoryRange& range : info.memory()) {
    if (range.usable) bytes += range.size;
  }
  return bytes;
}

bool is_usable(const BootInfo& info, u64 base, u64 size) {
  for (const MemoryRange& range : info.memory()) {
    if (range.usable && base >= range.base.value && size <= range.size && base - range.base.value <= range.size - size) {
      return true;
    }
  }
  return false;
}

bool is_reachable(const BootInfo& info, u64 base, u64 size) {
  if (size > ~base) return false;
  for (const MemoryRange& range : info.memory()) {  // in order
    const bool holds = base >= range.base.value && base - range.base.value < range.size;
    if (!holds || !(range.usable || range.tables)) continue;
    const u64 here = range.size - (base - range.base.value);
    if (here >= size) return true;
    base += here;
    size -= here;
  }
  return size == 0;
}

}  // namespace corral::boot

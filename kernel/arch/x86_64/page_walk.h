// Going over the used leaves of a range of users' addresses, for the files of this folder. Empty parts of tables are passed over
// eight entries at a time. The callers may change or clear the entry that they are given.
#pragma once

#include "paging.h"

namespace corral::arch {

// The first entry from `i` on that is in use, or `end`. Tables are mostly empty, so that eight are looked at together.
inline u32 next_used(const u64* table, u32 i, u32 end) {
  constexpr u32 together = 8;
  while (i < end) {
    if (i % together == 0) {
      for (; i + together <= end; i += together) {
        u64 any = 0;
        for (u32 k = 0; k < together; ++k) any |= load_entry(&table[i + k]);
        if (any != 0) break;
      }
      if (i == end) return end;
    }
    if (load_entry(&table[i]) != 0) return i;
    ++i;
  }
  return end;
}

// Calls use(table, first, end, base, link) for each leaf table in [from, to) with the part of it that lies in there, and
// large(place, base) for each large page, until one call answers false; base is the address of entry 0, link the entry
// that points at the table.
template <class Use, class Large>
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
bool each_leaf_table(u64* table, u32 level, u64 base, u64 from, u64 to, Use& use, Large& large) {
  const u32 first = base >= from ? 0 : index_of(from, level);
  const u64 size = level_size(level);
  const auto end_in = [&](u64 low, u64 step) {
    return to - low >= step * table_entries ? table_entries : static_cast<u32>((to - low + step - 1) / step);
  };
  const u32 end = end_in(base, size);
  for (u32 i = next_used(table, first, end); i < end; i = next_used(table, i + 1, end)) {
    const u64 entry = load_entry(&table[i]);
    const u64 low = base + u64{i} * size;
    bool on = true;
    if (level != large_level) {
      on = each_leaf_table(table_of(entry), level - 1, low, from, to, use, large);
    } else if (is_large(entry)) {
      on = large(&table[i], low);
    } else {
      on = use(table_of(entry), low >= from ? 0 : index_of(from, leaf_level), end_in(low, page_size), low, &table[i]);
    }
    if (!on) return false;
  }
  return true;
}

// The same for each used leaf: use(entry's place, address, whether it is large); and done(table's link, first address) after
// each table that all lies in [from, to).
template <class Use, class Done>
void each_leaf(PhysicalAddress root, VirtualAddress from, VirtualAddress to, Use use, Done done) {
  const u64 last = to.value < user_space_end ? to.value : user_space_end;
  if (from.value >= last) return;
  auto in_table = [&](u64* table, u32 first, u32 end, u64 base, u64* link) {
    for (u32 i = next_used(table, first, end); i < end; i = next_used(table, i + 1, end)) {
      if (!use(&table[i], VirtualAddress{base + u64{i} * page_size}, false)) return false;
    }
    return first != 0 || end != table_entries || done(link, VirtualAddress{base});
  };
  auto large = [&](u64* place, u64 base) { return use(place, VirtualAddress{base}, true); };
  (void)each_leaf_table(table_at(root), root_level, 0, from.value, last, in_table, large);
}

inline bool go_on(u64*, VirtualAddress) {
  return true;
}

}  // namespace corral::arch

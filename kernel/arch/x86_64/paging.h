// Entries of the translation tables, for the files of this folder. Each entry is one word: written with one store, read
// with one load, so that a walk needs no lock. Source: SDM vol. 3, 4.5 (4-level paging), tables 4-15 to 4-20.
#pragma once

#include "arch/page_table.h"
#include "lib/types.h"

namespace corral::arch {

inline constexpr u64 entry_present = 1 << 0;
inline constexpr u64 entry_write = 1 << 1;
inline constexpr u64 entry_user = 1 << 2;
inline constexpr u64 entry_uncached = (1 << 4) | (1 << 3);  // PCD and PWT: UC whatever the PAT says at reset
inline constexpr u64 entry_write_combining = 1 << 3;  // PWT alone: entry 1 of the PAT as set_memory_types() writes it
inline constexpr u64 entry_accessed = 1 << 5;
inline constexpr u64 entry_dirty = 1 << 6;
inline constexpr u64 entry_large = 1 << 7;
inline constexpr u64 entry_global = 1 << 8;
inline constexpr u64 entry_no_execute = u64{1} << 63;
inline constexpr u64 entry_address = 0x000f'ffff'ffff'f000;

inline constexpr u32 table_entries = 512;
inline constexpr u32 leaf_level = 0;   // 4 KiB
inline constexpr u32 large_level = 1;  // 2 MiB
inline constexpr u32 root_level = 3;
inline constexpr u32 kernel_half = 256;  // first entry of the root that is the kernel's

constexpr u64 level_shift(u32 level) {
  return page_shift + u64{9} * level;
}
constexpr u64 level_size(u32 level) {
  return u64{1} << level_shift(level);
}
constexpr u32 index_of(u64 address, u32 level) {
  return static_cast<u32>(address >> level_shift(level)) % table_entries;
}
constexpr bool is_leaf(u64 entry, u32 level) {
  return level == leaf_level || (entry & entry_large) != 0;
}
// The lowest address that entry `index` of a table covers, given the table's own lowest.
constexpr u64 address_at(u64 base, u32 index, u32 level) {
  u64 address = base + (u64{index} << level_shift(level));
  if (level == root_level && index >= kernel_half) address |= 0xffff'0000'0000'0000;
  return address;
}

inline u64* table_at(PhysicalAddress table) {
  return direct<u64>(table);
}
inline u64* table_of(u64 entry) {
  return table_at({entry & entry_address});
}
inline u64 load_entry(const u64* place) {
  return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}
// While processors may set the bit.
inline void clear_accessed(u64* place) {
  __atomic_fetch_and(place, ~entry_accessed, __ATOMIC_RELAXED);
}
inline void store_entry(u64* place, u64 entry) {
  __atomic_store_n(place, entry, __ATOMIC_RELEASE);
}

// The bits of a leaf with these rights. Accessed and dirty are set at once, so that the processor need not write the entry later:
// who maps a page does so because it is touched.
[[nodiscard]] u64 leaf_bits(const Rights& rights);
[[nodiscard]] Rights rights_of(u64 leaf);

// An entry of a user's table at large_level.
constexpr bool is_large(u64 entry) {
  return (entry & (entry_present | entry_large)) == (entry_present | entry_large);
}
// Where a large leaf points.
constexpr u64 large_frame(u64 entry) {
  return entry & entry_address & ~(level_size(large_level) - 1);  // bit 12 is PAT, not address
}

// The place of the 4 KiB leaf of `address`, or null: no table there. A larger page in the way gives null.
[[nodiscard]] u64* leaf_place(PhysicalAddress root, u64 address);
// The same, making tables as needed; enomem. `link` is what entries that point at tables get besides the address.
[[nodiscard]] Result<u64*> make_leaf_place(PhysicalAddress root, u64 address, u64 link);

// What maps `address`, of any page size; level tells the size. 0: nothing.
[[nodiscard]] u64 find_leaf(PhysicalAddress root, u64 address, u32& level);

[[nodiscard]] PhysicalAddress kernel_root();

}  // namespace corral::arch

// See arch/page_table.h.
#include "arch/page_table.h"

#include "arch/processor.h"
#include "lib/memory_functions.h"
#include "memory/large_page.h"
#include "memory/page_allocator.h"
#include "page_walk.h"
#include "paging.h"

namespace corral::arch {

namespace {

constexpr u64 user_link = entry_present | entry_write | entry_user | entry_accessed;

Result<PhysicalAddress> fresh_table() {
  Frame* frame = TRY(memory::allocate_page(memory::Zero::yes));
  return memory::address_of(*frame);
}

// The place of what maps a user's address: a leaf, or a large one; null: no table there.
u64* place_of(PhysicalAddress root, u64 address, bool& large) {
  large = false;
  if (address >= user_space_end) return nullptr;
  u64* table = table_at(root);
  for (u32 level = root_level; level > leaf_level; --level) {
    u64* place = &table[index_of(address, level)];
    const u64 entry = load_entry(place);
    if ((entry & entry_present) == 0) return nullptr;
    large = level == large_level && is_large(entry);
    if (large) return place;
    table = table_of(entry);
  }
  return &table[index_of(address, leaf_level)];
}

// Gives up every table below `table`, itself not.
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
void release_below(u64* table, u32 level, u32 end, void (*release)(void*, PhysicalAddress), void* context) {
  for (u32 i = next_used(table, 0, end); i < end; i = next_used(table, i + 1, end)) {
    u64 entry = load_entry(&table[i]);
    store_entry(&table[i], 0);
    if (level == large_level && is_large(entry)) continue;
    if (level > leaf_level + 1) release_below(table_of(entry), level - 1, table_entries, release, context);
    release(context, {entry & entry_address});
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
u64 tables_below(const u64* table, u32 level, u32 end) {
  u64 count = 0;
  for (u32 i = next_used(table, 0, end); i < end; i = next_used(table, i + 1, end)) {
    u64 entry = load_entry(&table[i]);
    if (level == large_level && is_large(entry)) continue;
    ++count;
    if (level > leaf_level + 1) count += tables_below(table_of(entry), level - 1, table_entries);
  }
  return count;
}

}  // namespace

u64 leaf_bits(const Rights& rights) {
  u64 bits = entry_present | entry_accessed;
  if (rights.write) bits |= entry_write | entry_dirty;
  if (rights.user) bits |= entry_user;
  if (rights.device) bits |= entry_uncached;
  if (rights.picture) bits |= features().pat ? entry_write_combining : entry_uncached;
  if (!rights.execute && features().nx) bits |= entry_no_execute;
  return bits;
}

Rights rights_of(u64 leaf) {
  return {.write = (leaf & entry_write) != 0,
          .execute = (leaf & entry_no_execute) == 0,
          .user = (leaf & entry_user) != 0,
          .device = (leaf & entry_uncached) == entry_uncached,
          .picture = (leaf & entry_uncached) == entry_write_combining};
}

u64* leaf_place(PhysicalAddress root, u64 address) {
  u64* table = table_at(root);
  for (u32 level = root_level; level > leaf_level; --level) {
    u64 entry = load_entry(&table[index_of(address, level)]);
    if ((entry & entry_present) == 0 || is_leaf(entry, level)) return nullptr;
    table = table_of(entry);
  }
  return &table[index_of(address, leaf_level)];
}

Result<u64*> make_leaf_place(PhysicalAddress root, u64 address, u64 link) {
  u64* table = table_at(root);
  for (u32 level = root_level; level > leaf_level; --level) {
    u64* place = &table[index_of(address, level)];
    u64 entry = load_entry(place);
    if ((entry & entry_present) == 0) {
      PhysicalAddress fresh = TRY(fresh_table());
      entry = fresh.value | link;
      store_entry(place, entry);
    }
    table = table_of(entry);
  }
  return &table[index_of(address, leaf_level)];
}

u64 find_leaf(PhysicalAddress root, u64 address, u32& level) {
  const u64* table = table_at(root);
  for (level = root_level;; --level) {
    u64 entry = load_entry(&table[index_of(address, level)]);
    if ((entry & entry_present) == 0) return 0;
    if (is_leaf(entry, level)) return entry;
    table = table_of(entry);
  }
}

Result<PageTable> PageTable::create() {
  PhysicalAddress root = TRY(fresh_table());
  memcpy(table_at(root) + kernel_half, table_at(kernel_root()) + kernel_half, kernel_half * sizeof(u64));
  return PageTable{root};
}

Result<PhysicalAddress> PageTable::new_table() {
  if (kept_.value == 0) return fresh_table();
  const PhysicalAddress table = kept_;
  kept_ = {table_at(table)[0]};
  store_entry(table_at(table), 0);
  return table;
}

void PageTable::keep_table(PhysicalAddress table) {
  store_entry(table_at(table), kept_.value);  // to the processor, nothing that is present
  kept_ = table;
}

// The place of the entry at `level` for `page`, with the tables above it. einval: a large page is in the way.
Result<u64*> PageTable::make_place(VirtualAddress page, u32 level) {
  u64* table = table_at(root_);
  for (u32 at = root_level; at > level; --at) {
    u64* place = &table[index_of(page.value, at)];
    u64 entry = load_entry(place);
    if ((entry & entry_present) == 0) {
      const PhysicalAddress fresh = TRY(new_table());
      entry = fresh.value | user_link;
      store_entry(place, entry);
    }
    if (is_leaf(entry, at)) return Errno::einval;
    table = table_of(entry);
  }
  return &table[index_of(page.value, level)];
}

Result<void> PageTable::map(VirtualAddress page, PhysicalAddress frame, Rights rights) {
  if (page.value >= user_space_end || page.value % page_size != 0) return Errno::einval;
  u64* place = TRY(make_place(page, leaf_level));
  store_entry(place, frame.value | leaf_bits(rights));
  return {};
}

Result<void> PageTable::map_large(VirtualAddress start, PhysicalAddress frame, Rights rights) {
  if (start.value >= user_space_end || start.value % large_page != 0 || frame.value % large_page != 0) return Errno::einval;
  u64* place = TRY(make_place(start, large_level));
  if (load_entry(place) != 0) return Errno::eexist;
  store_entry(place, frame.value | leaf_bits(rights) | entry_large);
  return {};
}

bool PageTable::room_for_large(VirtualAddress start) const {
  const u64* table = table_at(root_);
  for (u32 level = root_level;; --level) {
    const u64 entry = load_entry(&table[index_of(start.value, level)]);
    if (entry == 0) return true;
    if (level == large_level) return false;
    table = table_of(entry);
  }
}

Result<void> PageTable::split(VirtualAddress page) {
  bool large = false;
  u64* place = place_of(root_, page.value, large);
  if (!large) return {};
  const PhysicalAddress table = TRY(new_table());
  const u64 entry = load_entry(place);
  const u64 frame = large_frame(entry);
  const u64 bits = entry & ~(entry_address | entry_large);
  u64* leaves = table_at(table);
  for (u32 i = 0; i < table_entries; ++i) store_entry(&leaves[i], (frame + u64{i} * page_size) | bits);
  memory::split_large_page(memory::frame_of({frame}));
  // Same frames, same rights: an entry that a processor still has of the large page is right until a part of it changes,
  // and to invalidate one address is to invalidate that entry (SDM vol. 3, 4.10.4.1).
  store_entry(place, table.value | user_link);
  return {};
}

bool PageTable::unmap(VirtualAddress page, Translation& was) {
  bool large = false;
  u64* place = place_of(root_, page.value, large);
  if (place == nullptr) return false;
  const u64 entry = load_entry(place);
  if ((entry & entry_present) == 0) return false;
  store_entry(place, 0);
  was = {{large ? large_frame(entry) : entry & entry_address}, rights_of(entry), large};
  return true;
}

bool PageTable::protect(VirtualAddress page, Rights rights) {
  bool large = false;
  u64* place = place_of(root_, page.value, large);
  if (place == nullptr) return false;
  const u64 entry = load_entry(place);
  if ((entry & entry_present) == 0) return false;
  store_entry(place,
              large ? large_frame(entry) | leaf_bits(rights) | entry_large : (entry & entry_address) | leaf_bits(rights));
  return true;
}

bool PageTable::lookup(VirtualAddress page, Translation& found) const {
  u32 level = root_level;
  u64 entry = find_leaf(root_, page.value, level);
  if (entry == 0) return false;
  u64 within = page.value & (level_size(level) - 1) & ~(page_size - 1);
  u64 base = entry & entry_address & ~(level_size(level) - 1);  // a large page's bit 12 is PAT, not address
  found = {{base + within}, rights_of(entry), level == large_level};
  return true;
}

u8* PageTable::reach(VirtualAddress address, bool write) const {
  if (address.value >= user_space_end) return nullptr;  // above, an entry may be of 1 GiB
  const u64* table = table_at(root_);
  const u64 needed = entry_present | entry_user | (write ? entry_write : 0);
  for (u32 level = root_level; level > large_level; --level) {
    const u64 entry = load_entry(&table[index_of(address.value, level)]);
    if ((entry & entry_present) == 0) return nullptr;
    table = table_of(entry);
  }
  const u64 entry = load_entry(&table[index_of(address.value, large_level)]);
  if ((entry & needed) != needed) return nullptr;  // a table's entry has all of them
  if ((entry & entry_large) != 0) return direct({large_frame(entry)}) + (address.value & (large_page - 1));
  const u64 leaf = load_entry(&table_of(entry)[index_of(address.value, leaf_level)]);
  if ((leaf & needed) != needed) return nullptr;
  return direct({leaf & entry_address}) + (address.value & (page_size - 1));
}

void PageTable::destroy(void (*release)(void* context, PhysicalAddress table), void* context) {
  release_below(table_at(root_), root_level, kernel_half, release, context);
  while (kept_.value != 0) {
    const PhysicalAddress table = kept_;
    kept_ = {table_at(table)[0]};
    release(context, table);
  }
  release(context, root_);
  root_ = {};
}

u64 PageTable::table_pages() const {
  u64 kept = 0;
  for (PhysicalAddress table = kept_; table.value != 0; table = {table_at(table)[0]}) ++kept;
  return tables_below(table_at(root_), root_level, kernel_half) + kept;
}

}  // namespace corral::arch

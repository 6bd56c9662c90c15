// See arch/page_table.h.
#include "arch/page_table.h"

#include "arch/processor.h"
#include "lib/memory_functions.h"
#include "memory/page_allocator.h"
#include "paging.h"

namespace corral::arch {

namespace {

constexpr u64 user_link = entry_present | entry_write | entry_user | entry_accessed;

Result<PhysicalAddress> new_table() {
  Frame* frame = TRY(memory::allocate_page(memory::Zero::yes));
  return memory::address_of(*frame);
}

// Visits the mapped pages of one table within [from, to).
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
void visit_table(const u64* table, u32 level, u64 base, u64 from, u64 to, PageTable::Visitor visit, void* context) {
  u32 first = base >= from ? 0 : index_of(from, level);
  for (u32 i = first; i < table_entries; ++i) {
    u64 address = base + (u64{i} << level_shift(level));
    if (address >= to) return;
    u64 entry = load_entry(&table[i]);
    if ((entry & entry_present) == 0) continue;
    if (level == leaf_level) {
      visit(context, {address}, {{entry & entry_address}, rights_of(entry)});
    } else {
      visit_table(table_of(entry), level - 1, address, from, to, visit, context);
    }
  }
}

// Gives up every table below `table`, itself not.
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
void release_below(u64* table, u32 level, u32 end, void (*release)(void*, PhysicalAddress), void* context) {
  for (u32 i = 0; i < end; ++i) {
    u64 entry = load_entry(&table[i]);
    if ((entry & entry_present) == 0) continue;
    store_entry(&table[i], 0);
    if (level > leaf_level + 1) release_below(table_of(entry), level - 1, table_entries, release, context);
    release(context, {entry & entry_address});
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
u64 tables_below(const u64* table, u32 level, u32 end) {
  u64 count = 0;
  for (u32 i = 0; i < end; ++i) {
    u64 entry = load_entry(&table[i]);
    if ((entry & entry_present) == 0) continue;
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
      PhysicalAddress fresh = TRY(new_table());
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
  PhysicalAddress root = TRY(new_table());
  memcpy(table_at(root) + kernel_half, table_at(kernel_root()) + kernel_half, kernel_half * sizeof(u64));
  return PageTable{root};
}

Result<void> PageTable::map(VirtualAddress page, PhysicalAddress frame, Rights rights) {
  if (page.value >= user_space_end || page.value % page_size != 0) return Errno::einval;
  u64* place = TRY(make_leaf_place(root_, page.value, user_link));
  store_entry(place, frame.value | leaf_bits(rights));
  return {};
}

bool PageTable::unmap(VirtualAddress page, Translation& was) {
  u64* place = leaf_place(root_, page.value);
  if (place == nullptr) return false;
  u64 entry = load_entry(place);
  if ((entry & entry_present) == 0) return false;
  store_entry(place, 0);
  was = {{entry & entry_address}, rights_of(entry)};
  return true;
}

bool PageTable::protect(VirtualAddress page, Rights rights) {
  u64* place = leaf_place(root_, page.value);
  if (place == nullptr) return false;
  u64 entry = load_entry(place);
  if ((entry & entry_present) == 0) return false;
  store_entry(place, (entry & entry_address) | leaf_bits(rights));
  return true;
}

bool PageTable::lookup(VirtualAddress page, Translation& found) const {
  u32 level = root_level;
  u64 entry = find_leaf(root_, page.value, level);
  if (entry == 0) return false;
  u64 within = page.value & (level_size(level) - 1) & ~(page_size - 1);
  u64 base = entry & entry_address & ~(level_size(level) - 1);  // a large page's bit 12 is PAT, not address
  found = {{base + within}, rights_of(entry)};
  return true;
}

void PageTable::for_each(VirtualAddress from, VirtualAddress to, Visitor visit, void* context) const {
  u64 end = to.value < user_space_end ? to.value : user_space_end;
  if (from.value >= end) return;
  visit_table(table_at(root_), root_level, 0, from.value, end, visit, context);
}

void PageTable::destroy(void (*release)(void* context, PhysicalAddress table), void* context) {
  release_below(table_at(root_), root_level, kernel_half, release, context);
  release(context, root_);
  root_ = {};
}

u64 PageTable::table_pages() const {
  return tables_below(table_at(root_), root_level, kernel_half);
}

}  // namespace corral::arch

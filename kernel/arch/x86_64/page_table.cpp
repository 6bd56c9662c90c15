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

// The first entry from `i` on that is in use, or `end`. Tables are mostly empty, so that eight are looked at together.
u32 next_used(const u64* table, u32 i, u32 end) {
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

// Calls use(table, first, end, base) for each leaf table in [from, to) with the part of it that lies in there, until one
// call answers false; base is the address of entry 0.
template <class Use>
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
bool each_leaf_table(u64* table, u32 level, u64 base, u64 from, u64 to, Use& use) {
  const u32 first = base >= from ? 0 : index_of(from, level);
  const u64 size = level_size(level);
  const u32 end =
      to - base >= size * table_entries ? table_entries : static_cast<u32>((to - base + size - 1) >> level_shift(level));
  if (level == leaf_level) return use(table, first, end, base);
  for (u32 i = next_used(table, first, end); i < end; i = next_used(table, i + 1, end)) {
    if (!each_leaf_table(table_of(load_entry(&table[i])), level - 1, base + u64{i} * size, from, to, use)) return false;
  }
  return true;
}

// The same for each used leaf: use(entry's place, address).
template <class Use>
void each_leaf(PhysicalAddress root, VirtualAddress from, VirtualAddress to, Use use) {
  const u64 last = to.value < user_space_end ? to.value : user_space_end;
  if (from.value >= last) return;
  auto in_table = [&](u64* table, u32 first, u32 end, u64 base) {
    for (u32 i = next_used(table, first, end); i < end; i = next_used(table, i + 1, end)) {
      if (!use(&table[i], VirtualAddress{base + u64{i} * page_size})) return false;
    }
    return true;
  };
  (void)each_leaf_table(table_at(root), root_level, 0, from.value, last, in_table);
}

// Gives up every table below `table`, itself not.
// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
void release_below(u64* table, u32 level, u32 end, void (*release)(void*, PhysicalAddress), void* context) {
  for (u32 i = next_used(table, 0, end); i < end; i = next_used(table, i + 1, end)) {
    u64 entry = load_entry(&table[i]);
    store_entry(&table[i], 0);
    if (level > leaf_level + 1) release_below(table_of(entry), level - 1, table_entries, release, context);
    release(context, {entry & entry_address});
  }
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
u64 tables_below(const u64* table, u32 level, u32 end) {
  u64 count = 0;
  for (u32 i = next_used(table, 0, end); i < end; i = next_used(table, i + 1, end)) {
    u64 entry = load_entry(&table[i]);
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

u8* PageTable::reach(VirtualAddress address, bool write) const {
  if (address.value >= user_space_end) return nullptr;  // above, an entry may be a large page
  const u64* table = table_at(root_);
  for (u32 level = root_level; level > leaf_level; --level) {
    const u64 entry = load_entry(&table[index_of(address.value, level)]);
    if ((entry & entry_present) == 0) return nullptr;
    table = table_of(entry);
  }
  const u64 leaf = load_entry(&table[index_of(address.value, leaf_level)]);
  const u64 needed = entry_present | entry_user | (write ? entry_write : 0);
  if ((leaf & needed) != needed) return nullptr;
  return direct({leaf & entry_address}) + (address.value & (page_size - 1));
}

void PageTable::for_each(VirtualAddress from, VirtualAddress to, Visitor visit, void* context) const {
  each_leaf(root_, from, to, [&](u64* place, VirtualAddress page) {
    const u64 entry = load_entry(place);
    visit(context, page, {{entry & entry_address}, rights_of(entry)});
    return true;
  });
}

VirtualAddress PageTable::take_out(VirtualAddress from, VirtualAddress to, Taker take, void* context) {
  VirtualAddress stopped = to;
  each_leaf(root_, from, to, [&](u64* place, VirtualAddress page) {
    if (!take(context, page, {load_entry(place) & entry_address})) {
      stopped = page;
      return false;
    }
    store_entry(place, 0);
    return true;
  });
  return stopped;
}

Result<void> PageTable::copy_for_reading(PageTable& child, VirtualAddress from, VirtualAddress to, Copied& copied) {
  Result<void> outcome;
  auto in_table = [&](u64* table, u32 first, u32 end, u64 base) {
    u32 i = next_used(table, first, end);
    if (i == end) return true;  // no table for nothing
    const Result<u64*> copies = make_leaf_place(child.root_, base, user_link);
    if (!copies.ok()) {
      outcome = copies.error();
      return false;
    }
    for (; i < end; i = next_used(table, i + 1, end)) {
      const u64 entry = load_entry(&table[i]);
      const u64 for_reading = entry & ~(entry_write | entry_dirty);
      store_entry(&copies.value()[i], for_reading);
      memory::share_page(memory::frame_of({entry & entry_address}));
      ++copied.pages;
      if (entry == for_reading) continue;
      store_entry(&table[i], for_reading);
      const VirtualAddress page{base + u64{i} * page_size};
      if (copied.end_lost.value == 0) copied.first_lost = page;
      copied.end_lost = page + page_size;
    }
    return true;
  };
  if (from < to) (void)each_leaf_table(table_at(root_), root_level, 0, from.value, to.value, in_table);
  return outcome;
}

void PageTable::release_pages() {
  each_leaf(root_, {0}, {user_space_end}, [](u64* place, VirtualAddress) {
    memory::release_page(memory::frame_of({load_entry(place) & entry_address}));
    return true;
  });
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

// What is done with many pages of a table at once. See arch/page_table.h.
#include "arch/page_table.h"
#include "memory/large_page.h"
#include "memory/page_allocator.h"
#include "page_walk.h"
#include "paging.h"

namespace corral::arch {

void PageTable::for_each(VirtualAddress from, VirtualAddress to, Visitor visit, void* context) const {
  each_leaf(
      root_, from, to,
      [&](u64* place, VirtualAddress page, bool large) {
        const u64 entry = load_entry(place);
        visit(context, page, {{large ? large_frame(entry) : entry & entry_address}, rights_of(entry), large});
        return true;
      },
      go_on);
}

PageTable::Sought PageTable::find_page(VirtualAddress from, VirtualAddress to, u32 most_tables) const {
  const u64 end = to.value < user_space_end ? to.value : user_space_end;
  u64 at = from.value;
  for (u32 steps = 0; at < end; ++steps) {
    if (steps == most_tables) return {{at}, false};
    const u64* table = table_at(root_);
    u32 level = root_level;
    for (;; --level) {  // down to the lowest table that has anything for this address
      const u64 entry = load_entry(&table[index_of(at, level)]);
      if ((entry & entry_present) == 0) break;
      if (is_leaf(entry, level)) return {{at}, true};
      table = table_of(entry);
    }
    const u32 next = next_used(table, index_of(at, level) + 1, table_entries);
    at = round_down(at, level_size(level + 1)) + next * level_size(level);
  }
  return {to, false};
}

VirtualAddress PageTable::take_out(VirtualAddress from, VirtualAddress to, Taker take, void* context) {
  VirtualAddress stopped = to;
  each_leaf(
      root_, from, to,
      [&](u64* place, VirtualAddress page, bool large) {
        const u64 entry = load_entry(place);
        const bool taken = large ? take(context, page, {large_frame(entry)}, Held::large_page)
                                 : take(context, page, {entry & entry_address}, Held::page);
        if (!taken) {
          stopped = page;
          return false;
        }
        store_entry(place, 0);
        return true;
      },
      [&](u64* link, VirtualAddress base) {
        const u64 entry = load_entry(link);
        store_entry(link, 0);
        if (take(context, base, {entry & entry_address}, Held::table)) return true;
        store_entry(link, entry);
        return true;
      });
  return stopped;
}

Result<void> PageTable::copy_for_reading(PageTable& child, VirtualAddress from, VirtualAddress to, Copied& copied) {
  Result<void> outcome;
  // Both entries for reading; notes where writing is over.
  const auto copy = [&](u64* place, u64* copy_place, VirtualAddress page, u64 size) {
    const u64 entry = load_entry(place);
    const u64 for_reading = entry & ~(entry_write | entry_dirty);
    store_entry(copy_place, for_reading);
    copied.pages += size / page_size;
    if (entry == for_reading) return;
    store_entry(place, for_reading);
    if (copied.end_lost.value == 0) copied.first_lost = page;
    copied.end_lost = page + size;
  };
  auto in_table = [&](u64* table, u32 first, u32 end, u64 base, u64*) {
    u32 i = next_used(table, first, end);
    if (i == end) return true;  // no table for nothing
    const Result<u64*> copies = child.make_place(VirtualAddress{base}, leaf_level);
    if (!copies.ok()) {
      outcome = copies.error();
      return false;
    }
    for (; i < end; i = next_used(table, i + 1, end)) {
      memory::share_page(memory::frame_of({load_entry(&table[i]) & entry_address}));
      copy(&table[i], &copies.value()[i], VirtualAddress{base + u64{i} * page_size}, page_size);
    }
    return true;
  };
  auto large = [&](u64* place, u64 base) {
    const Result<u64*> copy_place = child.make_place(VirtualAddress{base}, large_level);
    if (!copy_place.ok()) {
      outcome = copy_place.error();
      return false;
    }
    memory::share_large_page(memory::frame_of({large_frame(load_entry(place))}));
    copy(place, copy_place.value(), VirtualAddress{base}, large_page);
    return true;
  };
  if (from < to) (void)each_leaf_table(table_at(root_), root_level, 0, from.value, to.value, in_table, large);
  return outcome;
}

PageTable::Cleared PageTable::clear_touched(VirtualAddress from, VirtualAddress to, u32 most) {
  Cleared cleared{to, 0};
  each_leaf(
      root_, from, to,
      [&](u64* place, VirtualAddress page, bool) {
        if (cleared.entries == most) {
          cleared.next = page;
          return false;
        }
        clear_accessed(place);
        ++cleared.entries;
        return true;
      },
      go_on);
  return cleared;
}

PageTable::Touched PageTable::count_touched(VirtualAddress from, VirtualAddress to) const {
  Touched count;
  each_leaf(
      root_, from, to,
      [&](const u64* place, VirtualAddress, bool large) {
        const u64 pages = large ? large_page / page_size : 1;
        count.pages += pages;
        if ((load_entry(place) & entry_accessed) != 0) count.touched += pages;
        return true;
      },
      go_on);
  return count;
}

void PageTable::release_pages() {
  each_leaf(
      root_, {0}, {user_space_end},
      [](u64* place, VirtualAddress, bool large) {
        const u64 entry = load_entry(place);
        if (large) {
          memory::release_large_page(memory::frame_of({large_frame(entry)}));
        } else {
          memory::release_page(memory::frame_of({entry & entry_address}));
        }
        return true;
      },
      go_on);
}

}  // namespace corral::arch

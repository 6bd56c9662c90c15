// See page_index.h.
#include "fs/page_index.h"

#include "arch/page_table.h"
#include "lib/atomic.h"
#include "memory/page_allocator.h"

namespace corral::fs {

namespace {

constinit Atomic<u64> tables{0};

}  // namespace

u64 PageIndex::tables_in_use() {
  return tables.load(Order::relaxed);
}

Result<PageIndex::Table*> PageIndex::make_table() {
  Frame* frame = TRY(memory::allocate_page(memory::Zero::yes));
  tables.fetch_add(1, Order::relaxed);
  return reinterpret_cast<Table*>(memory::contents(*frame));
}

void PageIndex::release_table(Table* table) {
  memory::release_page(memory::frame_of(arch::physical_of_direct(table)));
  tables.fetch_sub(1, Order::relaxed);
}

Frame* PageIndex::find(u64 index) const {
  if (root_ == nullptr || index >= span_of(levels_)) return nullptr;
  const Table* table = root_;
  for (u32 level = levels_ - 1; level > 0; --level) {
    table = static_cast<const Table*>(table->entry[index / span_of(level) % fan_out]);
    if (table == nullptr) return nullptr;
  }
  return static_cast<Frame*>(table->entry[index % fan_out]);
}

Result<void> PageIndex::insert(u64 index, Frame& frame) {
  if (root_ == nullptr) {
    root_ = TRY(make_table());
    levels_ = 1;
  }
  while (index >= span_of(levels_)) {
    Table* above = TRY(make_table());
    above->entry[0] = root_;
    root_ = above;
    ++levels_;
  }
  Table* table = root_;
  for (u32 level = levels_ - 1; level > 0; --level) {
    void*& below = table->entry[index / span_of(level) % fan_out];
    if (below == nullptr) below = TRY(make_table());
    table = static_cast<Table*>(below);
  }
  table->entry[index % fan_out] = &frame;
  return {};
}

bool PageIndex::remove(u64 index) {
  Frame* frame = find(index);
  if (frame == nullptr) return false;
  Table* table = root_;
  for (u32 level = levels_ - 1; level > 0; --level) {
    table = static_cast<Table*>(table->entry[index / span_of(level) % fan_out]);
  }
  table->entry[index % fan_out] = nullptr;
  memory::release_page(*frame);
  return true;
}

u64 PageIndex::next_used(u64 from) const {
  while (root_ != nullptr && from < span_of(levels_)) {
    const Table* table = root_;
    u32 level = levels_ - 1;
    while (level > 0 && table->entry[from / span_of(level) % fan_out] != nullptr) {
      table = static_cast<const Table*>(table->entry[from / span_of(level) % fan_out]);
      --level;
    }
    if (level == 0 && table->entry[from % fan_out] != nullptr) return from;
    from = round_down(from, span_of(level)) + span_of(level);  // nothing below this entry
  }
  return max_pages;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as there are levels
u64 PageIndex::prune(Table& table, u32 level, u64 base, u64 first, bool& empty) {
  u64 removed = 0;
  empty = true;
  for (u64 i = 0; i < fan_out; ++i) {
    void*& entry = table.entry[i];
    if (entry == nullptr) continue;
    const u64 start = base + i * span_of(level);
    if (start + span_of(level) <= first) {
      empty = false;
      continue;
    }
    if (level == 0) {
      memory::release_page(*static_cast<Frame*>(entry));
      ++removed;
      entry = nullptr;
      continue;
    }
    bool below_empty = false;
    removed += prune(*static_cast<Table*>(entry), level - 1, start, first, below_empty);
    if (below_empty) {
      release_table(static_cast<Table*>(entry));
      entry = nullptr;
    } else {
      empty = false;
    }
  }
  return removed;
}

u64 PageIndex::remove_from(u64 first) {
  if (root_ == nullptr) return 0;
  bool empty = false;
  const u64 removed = prune(*root_, levels_ - 1, 0, first, empty);
  if (empty) {
    release_table(root_);
    root_ = nullptr;
    levels_ = 0;
  }
  return removed;
}

}  // namespace corral::fs

// Which page of memory holds page n of a file: a tree of tables with 512 entries each, as deep as the file is long.
// Files with holes cost only what they hold. Not synchronised: its file's lock protects it. Any context.
#pragma once

#include "lib/result.h"
#include "memory/frame.h"

namespace corral::fs {

class PageIndex {
 public:
  static constexpr u64 max_pages = u64{1} << 36;  // four levels

  PageIndex() = default;
  PageIndex(const PageIndex&) = delete;
  PageIndex& operator=(const PageIndex&) = delete;
  ~PageIndex() { remove_from(0); }

  // Null: there is none.
  [[nodiscard]] Frame* find(u64 index) const;
  // `index` < max_pages and not in use; takes over the caller's reference. enomem.
  Result<void> insert(u64 index, Frame& frame);
  // Drops one page; false: there is none.
  bool remove(u64 index);
  // The lowest index in use that is at least `from`; max_pages: none.
  [[nodiscard]] u64 next_used(u64 from) const;
  // Drops the pages from `first` on. Answers how many there were.
  u64 remove_from(u64 first);

  // Pages that the tables of all indexes take. Any context.
  [[nodiscard]] static u64 tables_in_use();

 private:
  static constexpr u64 fan_out = 512;
  struct Table {
    void* entry[fan_out];  // Table* above the lowest level, Frame* in it
  };
  static_assert(sizeof(Table) == page_size);
  static Result<Table*> make_table();
  static void release_table(Table* table);
  static u64 prune(Table& table, u32 level, u64 base, u64 first, bool& empty);
  [[nodiscard]] static u64 span_of(u32 level) { return u64{1} << (9 * level); }  // pages below one entry

  Table* root_ = nullptr;
  u32 levels_ = 0;
};

}  // namespace corral::fs

// Files in memory: allocating and giving back parts of them, where their holes are, and seals. See ram_file.h.
// Source: Linux man-pages fallocate(2), lseek(2), fcntl(2); seals: fs/seals.h.
#include "fs/allocation.h"
#include "fs/ram/ram_file.h"
#include "fs/seals.h"
#include "fs/step_memory.h"
#include "fs/transfer.h"
#include "lib/memory_functions.h"
#include "memory/page_allocator.h"
#include "task/thread.h"

namespace corral::fs {

// ---- holes -----------------------------------------------------------------------------------------------------------------

bool RamFile::is_hole(u64 page) {
  return pages_.find(page) == nullptr && page * page_size >= origin_.size();
}

Result<u64> RamFile::seek_data(u64 offset, bool hole) {
  LockGuard guard{data_};
  if (offset >= size_) return Errno::enxio;
  u64 page = offset / page_size;
  if (hole) {
    while (page * page_size < size_ && !is_hole(page)) ++page;
  } else if (is_hole(page)) {
    page = pages_.next_used(page);
    if (page * page_size >= size_) return Errno::enxio;
  }
  return smaller(larger(offset, page * page_size), size_);
}

// Makes [from, to) of that page zero. Answers how many counted pages it has given back for that.
u64 RamFile::clear_page(u64 index, u64 from, u64 to) {
  Frame* frame = pages_.find(index);
  if (frame == nullptr) return 0;
  // Who has the page mapped must see the zeros, and what it writes afterwards belongs to the file: such a page stays.
  if (to - from < page_size || frame->references.load(Order::acquire) > 1 || index * page_size < origin_.size()) {
    memset(memory::contents(*frame) + from, 0, to - from);
    return 0;
  }
  (void)pages_.remove(index);
  --page_count_;
  if (index >= uncounted_) return 1;
  ram().forget_copies(1);
  return 0;
}

Result<void> RamFile::punch(u64 from, u64 to) {
  u64 freed = 0;
  {
    LockGuard guard{data_};
    if ((seals_.load(Order::relaxed) & seals_against_writing) != 0) return Errno::eperm;
    // What still is in the archive becomes pages, which can be cleared.
    for (u64 page = from / page_size; page * page_size < smaller(to, origin_.size()); ++page) (void)TRY(obtain(page));
    for (u64 page = pages_.next_used(from / page_size); page < PageIndex::max_pages && page * page_size < to;
         page = pages_.next_used(page + 1)) {
      const u64 start = page * page_size;
      freed += clear_page(page, from > start ? from - start : 0, smaller(to - start, page_size));
    }
  }
  ram().discharge(freed);
  touch_modified();
  return {};
}

// ---- allocating --------------------------------------------------------------------------------------------------------------

// So that a request for more than there is fails before it has taken anything.
Result<void> RamFile::check_room(u64 first, u64 end) {
  const FileSystemStatistics limits = ram().statistics();
  const memory::PageStatistics memory = memory::page_statistics();
  const u64 free = smaller(limits.blocks_free, memory.free_global + memory.free_local);
  u64 present = 0;
  LockGuard guard{data_};
  for (u64 page = pages_.next_used(first); page < end; page = pages_.next_used(page + 1)) ++present;
  if (end - first - present > free) return Errno::enospc;
  return {};
}

Result<void> RamFile::allocate(u32 mode, u64 offset, u64 length, u64& progress) {
  if ((mode & ~(allocate_keep_size | allocate_punch_hole)) != 0) return Errno::eopnotsupp;
  const u64 to = offset + length;
  if ((mode & allocate_punch_hole) != 0) return punch(offset, to);
  const u64 first = offset / page_size;
  const u64 end = round_up(to, page_size) / page_size;
  if (to > max_size) return Errno::efbig;
  if (progress == 0) {
    if ((seals_.load(Order::relaxed) & seal_grow) != 0 && to > size_now()) return Errno::eperm;
    TRY(check_room(first, end));
  }
  constexpr u64 pages_without_pause = bytes_without_pause / page_size;
  for (u64 made = 0; first + progress < end; ++progress, ++made) {
    if (made == pages_without_pause) return pause_step(stepping_thread());
    LockGuard guard{data_};
    const Result<Frame*> page = obtain(first + progress);
    if (!page.ok()) return page.error();
  }
  if ((mode & allocate_keep_size) == 0) {
    LockGuard ending{end_};
    LockGuard guard{data_};
    size_ = larger(size_, to);
  }
  touch_modified();
  return {};
}

// ---- seals -----------------------------------------------------------------------------------------------------------------

Result<u32> RamFile::seals() {
  return seals_.load(Order::relaxed);
}

Result<void> RamFile::add_seals(u32 seals) {
  LockGuard guard{data_};
  const u32 before = seals_.load(Order::relaxed);
  if ((before & seal_seal) != 0) return Errno::eperm;
  if ((seals & seal_write) != 0 && (before & seal_write) == 0 && writable_mappings_ > 0) return Errno::ebusy;
  seals_.store(before | seals, Order::relaxed);
  return {};
}

Result<void> RamFile::begin_writable_mapping() {
  LockGuard guard{data_};
  if ((seals_.load(Order::relaxed) & seals_against_writing) != 0) return Errno::eperm;
  ++writable_mappings_;
  return {};
}

void RamFile::end_writable_mapping() {
  LockGuard guard{data_};
  --writable_mappings_;
}

}  // namespace corral::fs

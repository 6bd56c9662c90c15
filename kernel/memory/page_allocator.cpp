// The machine's pages: one frame array, one buddy allocator behind a lock, one list of pages for each core.
//
// Invariants: the frame array covers every page of `managed` and lies in the direct map; lists[c] is touched by core c
// only. initialise_pages in boot context; everything else on any core, interrupts off.
// Neighbours: memory_map (order in the firmware's ranges), buddy_allocator and page_list (pure), arch/page_table.h
// (where physical memory is seen).
#include "memory/page_allocator.h"

#include <new>

#include "arch/page_table.h"
#include "arch/processor.h"
#include "lib/memory_functions.h"
#include "memory/buddy_allocator.h"
#include "memory/canary.h"
#include "memory/failure.h"
#include "memory/large_page.h"
#include "memory/memory_map.h"
#include "memory/page_list.h"
#include "sync/spin_lock.h"
#include "trace/log.h"
#include "trace/panic.h"

namespace corral::memory {
namespace {

static_assert(max_order == BuddyAllocator::max_order);

constexpr u64 low_end_page = 256;                            // the first megabyte
constexpr u64 highest_address = u64{64} << 40;               // the direct map's room: 64 TiB
constexpr u64 least_pages = 512;                             // 2 MiB: less cannot run anything
constexpr u64 array_share = 8;                               // the frame array takes at most one page in 8

struct Pages {
  SpinLock lock{Rank::pages, "pages"};
  BuddyAllocator buddy GUARDED_BY(lock);
  u64 low_free[low_end_page / 64] GUARDED_BY(lock) = {};  // bit: a page of the first megabyte that is free
  u64 reserved GUARDED_BY(lock) = 0;
  // Written at start-up, read-only afterwards.
  MemoryMap managed;
  Frame* frames = nullptr;
  u64 frame_count = 0;
  u64 total = 0;
};

constinit Pages pages;
constinit MemoryMap usable;  // boot context: what is left to hand out
constinit PageList lists[max_cores];
constinit FailurePlan failure_plan;
constinit Reclaimer reclaimer = nullptr;  // boot

PageList& own_list() {
  return lists[arch::core_index()];
}

void sort_out(const BootInfo& boot, MemoryMap& map) {
  for (const MemoryRange& range : boot.memory()) {
    if (range.usable && !map.add(range.base, range.size))
      log::warning("memory: more than {} ranges; {x} of {} KiB left out", MemoryMap::max_ranges, range.base, range.size / 1024);
  }
  for (const MemoryRange& range : boot.memory()) {
    if (!range.usable) map.remove(range.base, range.size);  // contradictions: better too little than too much
  }
  map.remove({highest_address}, ~highest_address);
}

void note_low_pages() {
  LockGuard guard{pages.lock};
  for (u64 page = 1; page < low_end_page; ++page) {
    if (usable.contains(page)) pages.low_free[page / 64] |= u64{1} << (page % 64);
  }
}

u64 array_pages(u64 frame_count) {
  return round_up(frame_count * sizeof(Frame), page_size) >> page_shift;
}

// Far memory can cost more frames than it brings pages: leaves the highest ranges out until the array is small enough.
void leave_out_far_memory() {
  while (array_pages(pages.managed.end()) * array_share > pages.managed.pages()) {
    const std::span<const PageRange> ranges = pages.managed.ranges();
    if (ranges.size() <= 1) return;
    const PageRange last = ranges.back();
    log::warning("memory: {} KiB at {x} left out: too far from the rest", last.count << (page_shift - 10),
                 last.first << page_shift);
    pages.managed.remove({last.first << page_shift}, last.count << page_shift);
    usable.remove({last.first << page_shift}, last.count << page_shift);
  }
}

void place_frame_array() {
  pages.frame_count = pages.managed.end();
  const u64 size = array_pages(pages.frame_count);
  u64 first = 0;
  if (size == 0 || !usable.find(size, first) || usable.pages() < size + least_pages)
    panic("memory: too little for a start; give the machine at least 16 MiB");
  const PhysicalAddress place{first << page_shift};
  usable.remove(place, size << page_shift);
  pages.frames = arch::direct<Frame>(place);
  static_assert(static_cast<int>(FrameState::inside) == 0);
  memset(static_cast<void*>(pages.frames), 0, size << page_shift);  // a Frame of zeros is an `inside` page
}

u64 number_of(const Frame& frame) {
  return static_cast<u64>(&frame - pages.frames);
}

// Refills the calling core's list; false: the buddy allocator is empty.
bool refill(PageList& list) {
  FrameList batch;
  u32 count;
  {
    LockGuard guard{pages.lock};
    count = pages.buddy.allocate_pages(batch, PageList::batch);
  }
  list.fill(batch);
  return count != 0;
}

void give_back(PageList& list, u32 count) {
  FrameList batch;
  list.drain(batch, count);
  LockGuard guard{pages.lock};
  while (Frame* frame = batch.pop_front()) pages.buddy.release(*frame, 0);
}

}  // namespace

void initialise_pages(const BootInfo& boot, std::span<const MemoryRange> reserved) {
  KERNEL_ASSERT(pages.frames == nullptr);
  sort_out(boot, usable);
  sort_out(boot, pages.managed);
  for (const MemoryRange& range : reserved) usable.remove(range.base, range.size);
  note_low_pages();
  usable.remove({0}, low_end_page << page_shift);
  pages.managed.remove({0}, low_end_page << page_shift);
  leave_out_far_memory();
  place_frame_array();
  LockGuard guard{pages.lock};
  pages.buddy.set_frames({pages.frames, pages.frame_count});
  for (const PageRange& range : usable.ranges()) pages.buddy.add(range.first, range.count);
  pages.total = pages.managed.pages();
  pages.reserved = pages.total - usable.pages();
}

Result<Frame*> allocate_page(Zero zero) {
  if (failure_plan.strikes()) [[unlikely]]
    return Errno::enomem;
  PageList& list = own_list();
  if (zero == Zero::yes) {
    if (Frame* zeroed = list.take_zeroed()) {
      zeroed->references.store(1, Order::relaxed);
      return zeroed;
    }
  }
  Frame* frame = list.pop();
  if (frame == nullptr) [[unlikely]] {
    frame = refill(list) ? list.pop() : list.take_zeroed();
    if (frame == nullptr && give_up_preparation() != 0 && refill(list)) frame = list.pop();
    // What is reclaimed lies on this core's list, or has gone to the buddy allocator already.
    if (frame == nullptr && reclaimer != nullptr && reclaimer(PageList::batch) != 0) {
      frame = list.pop();
      if (frame == nullptr && refill(list)) frame = list.pop();
    }
    if (frame == nullptr) return Errno::enomem;
  }
  frame->references.store(1, Order::relaxed);
  if (zero == Zero::yes) {
    memset(contents(*frame), 0, page_size);
  } else {
    lay_canaries(contents(*frame), page_size);
  }
  return frame;
}

void zero_page_in_advance() {
  PageList& list = own_list();
  if (list.has_zeroed()) return;
  Frame* frame = list.pop();
  if (frame == nullptr) [[unlikely]] {
    if (!refill(list)) return;
    frame = list.pop();
  }
  memset(contents(*frame), 0, page_size);
  list.keep_zeroed(*frame);
}

void release_page(Frame& frame) {
  // Looked at while the reference is still held: without it, another core may free the page at once.
  KERNEL_ASSERT(frame.given_out() && frame.order == 0);
  const u32 before = frame.references.fetch_sub(1, Order::acq_rel);
  KERNEL_ASSERT(before != 0);
  if (before != 1) return;
  KERNEL_ASSERT(!frame.link.linked());
  lay_canaries(contents(frame), page_size);
  PageList& list = own_list();
  list.push(frame);
  if (list.size() >= PageList::limit) [[unlikely]]
    give_back(list, PageList::batch);
}

void set_reclaimer(Reclaimer function) {
  reclaimer = function;
}

Result<Frame*> allocate_block(u32 order) {
  if (order > max_order || failure_plan.strikes()) return Errno::enomem;
  for (bool again = false;; again = true) {
    {
      LockGuard guard{pages.lock};
      Frame* block = pages.buddy.allocate(order);
      if (block != nullptr) {
        block->references.store(1, Order::relaxed);
        lay_canaries(contents(*block), page_size << order);
        return block;
      }
    }
    if (again) return Errno::enomem;
    (void)give_up_preparation();
    give_back(own_list(), ~u32{0});  // perhaps what is missing lies on this core's own list
  }
}

Frame* allocate_spare_block(u32 order, u64 kept_free) {
  if (failure_plan.strikes()) return nullptr;
  LockGuard guard{pages.lock};
  if (pages.buddy.free_pages() < (u64{1} << order) + pages.total / kept_free) return nullptr;
  Frame* block = pages.buddy.allocate(order);
  if (block == nullptr) return nullptr;
  block->references.store(1, Order::relaxed);
  return block;
}

void release_block(Frame& first, u32 order) {
  first.references.store(0, Order::relaxed);
  LockGuard guard{pages.lock};
  pages.buddy.release(first, order);
}

void release_reserved(PhysicalAddress base, u64 size) {
  if (size > ~u64{0} - base.value) return;
  const u64 end = (base.value + size) >> page_shift;
  LockGuard guard{pages.lock};
  for (u64 page = round_up(base.value, page_size) >> page_shift; page < end; ++page) {
    if (!pages.managed.contains(page)) continue;
    pages.buddy.add(page, 1);
    --pages.reserved;
  }
}

Result<PhysicalAddress> allocate_low() {
  LockGuard guard{pages.lock};
  for (u64 i = 0; i < low_end_page / 64; ++i) {
    if (pages.low_free[i] == 0) continue;
    const u64 bit = static_cast<u64>(__builtin_ctzll(pages.low_free[i]));
    pages.low_free[i] &= ~(u64{1} << bit);
    return PhysicalAddress{(i * 64 + bit) << page_shift};
  }
  return Errno::enomem;
}

Frame& frame_of(PhysicalAddress address) {
  const u64 page = address.value >> page_shift;
  KERNEL_ASSERT(page < pages.frame_count);
  return pages.frames[page];
}

bool is_managed(PhysicalAddress address) {
  return pages.managed.contains(address.value >> page_shift);
}

PhysicalAddress address_of(const Frame& frame) {
  return {number_of(frame) << page_shift};
}

u8* contents(const Frame& frame) {
  return arch::direct<u8>(address_of(frame));
}

u64 total_pages() {
  return pages.total;
}

PageStatistics page_statistics() {
  PageStatistics statistics{};
  for (const PageList& list : lists) statistics.free_local += list.size();
  statistics.free_local += pages_in_preparation();
  LockGuard guard{pages.lock};
  statistics.total = pages.total;
  statistics.free_global = pages.buddy.free_pages();
  statistics.reserved = pages.reserved;
  return statistics;
}

void fail_allocation(u64 nth, u64 every) {
  failure_plan.set(nth, every);
}

u64 allocations_until_failure() {
  return failure_plan.left();
}

bool allocation_must_fail() {
  return failure_plan.strikes();
}

}  // namespace corral::memory

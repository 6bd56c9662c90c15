// Physical memory in pages: per-core lists over one buddy allocator (paper 004, section 4.3).
//
// allocate() and release() of single pages work on the calling core's list without any lock; an empty list is
// refilled in one batch from the buddy allocator, a full one returns a batch. When both are empty the answer is
// enomem, never a panic. Pages are not zeroed unless asked. Releasing what is not in use panics: it is a bug.
// A frame goes back empty: its link in no list. "Any context" here means any core with interrupts off.
#pragma once

#include <span>

#include "boot/boot_info.h"
#include "lib/result.h"
#include "memory/frame.h"

namespace corral::memory {

// Boot context: builds the frame array and frees every usable page except the ranges in `reserved` (and page 0 … the
// first megabyte is never handed out except by allocate_low). Halts with a message when there is too little memory.
void initialise_pages(const BootInfo& boot, std::span<const MemoryRange> reserved);

enum class Zero : bool { no, yes };

// One page; any context; enomem. The frame's references is 1.
[[nodiscard]] Result<Frame*> allocate_page(Zero zero);
// Zeroes a page of the calling core's list in advance, if it has none yet: what allocate_page(Zero::yes) then gives at
// once. For those who allocate under a lock that others want. The page counts as free.
void zero_page_in_advance();
// 2^order contiguous pages, naturally aligned; takes the buddy lock. order <= max_order.
inline constexpr u32 max_order = 10;
[[nodiscard]] Result<Frame*> allocate_block(u32 order);
// The same, or null, without trying hard: one page in `kept_free` of all stays free, and what stands in lists stays there.
[[nodiscard]] Frame* allocate_spare_block(u32 order, u64 kept_free);
void release_block(Frame& first, u32 order);
// Gives pages away that initialise_pages was told to reserve (an initramfs that was unpacked, say): the whole pages
// inside the range, as far as they are memory. Once for each page.
void release_reserved(PhysicalAddress base, u64 size);
// Somebody who keeps pages that can be had again: asked when none is left. Gives back pages, answers how many; takes
// locks by try_lock alone and touches no heap object, for who asks may hold any lock. Boot context, once.
using Reclaimer = u64 (*)(u64 wanted);
void set_reclaimer(Reclaimer reclaimer);
// Drops one reference; frees the page with the last one. Any context.
void release_page(Frame& frame);
inline void share_page(Frame& frame) {
  frame.references.fetch_add(1, Order::relaxed);
}

// A page below 1 MiB for real-mode start-up code; never given out otherwise. enomem.
[[nodiscard]] Result<PhysicalAddress> allocate_low();

[[nodiscard]] Frame& frame_of(PhysicalAddress address);  // address must be managed memory
[[nodiscard]] bool is_managed(PhysicalAddress address);  // memory above the first megabyte, reserved or not
[[nodiscard]] PhysicalAddress address_of(const Frame& frame);
[[nodiscard]] u8* contents(const Frame& frame);  // through the direct map

struct PageStatistics {
  u64 total;        // pages under management
  u64 free_global;  // in the buddy allocator
  u64 free_local;   // in per-core lists
  u64 reserved;     // frame array, kernel image, initramfs …
};
[[nodiscard]] PageStatistics page_statistics();  // looks at every core
[[nodiscard]] u64 total_pages();                 // PageStatistics::total alone, at once

// Makes the n-th allocation from now fail, then every `every`-th (0: only that one); nth 0 ends that. Counts pages,
// blocks and heap objects on all cores; for tests of the out-of-memory paths.
void fail_allocation(u64 nth, u64 every);
// How many allocations are left until one fails; 0: none will. So a plan for a distant failure counts allocations.
[[nodiscard]] u64 allocations_until_failure();

}  // namespace corral::memory

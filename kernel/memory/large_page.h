// Large pages: 2 MiB of memory that one translation maps, as blocks of the buddy allocator.
//
// While a large page is whole, its first frame stands for it (FrameState::used, order large_order) and counts the
// translations that share it. Somebody may *split* it, because he needs a reference to one page of it: then it is 512 pages,
// each with as many references as the large page had, and whoever still has the large translation owns one reference to
// each of them. A large translation over split pages is legal: nobody else has to be told. The last holder may join
// the pages again. The changes exclude one another by one lock.
//
// They are zeroed in parts: each core has at most one that it prepares, and goes on with it at the next request. It counts
// as free, and goes back when memory is short. Any context with interrupts off; the caller holds a large reference to
// what he names.
#pragma once

#include "lib/types.h"
#include "memory/frame.h"

namespace corral::memory {

inline constexpr u32 large_order = 9;
inline constexpr u64 large_pages = u64{1} << large_order;  // small pages in one
inline constexpr u64 large_page_size = page_size << large_order;

enum class LargePages : bool { no, yes };
void use_large_pages(LargePages use);  // boot context; yes until then

enum class Preparation : u8 {
  ready,       // take_large_page() has one
  under_way,   // a part was zeroed: ask again, so that other things may be done between
  impossible,  // no block is free that could be spared
};
// Zeroes the next part of the calling core's large page, at most 256 KiB.
[[nodiscard]] Preparation prepare_large_page();
// The one that this core has prepared, zeroed, with one reference; null: none is ready.
[[nodiscard]] Frame* take_large_page();
// Gives back what this core has prepared; how many pages.
u64 give_up_preparation();
// Pages in preparation on all cores: they count as free.
[[nodiscard]] u64 pages_in_preparation();
// Large pages in programs that are whole.
[[nodiscard]] u64 large_pages_in_use();

// One more large reference.
void share_large_page(Frame& first);
// One less; the memory goes with the last one.
void release_large_page(Frame& first);
// The caller's large reference becomes one reference to each of the pages.
void split_large_page(Frame& first);
// Nobody else has a reference to any part: then the large page is whole again, and the answer true.
[[nodiscard]] bool claim_large_page(Frame& first);

}  // namespace corral::memory

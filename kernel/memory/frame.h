// A physical page and what is known of it. One Frame for each page of memory, in an array indexed by page number.
#pragma once

#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "lib/types.h"

namespace corral {

struct Frame {
  ListLink link;              // in a free list (owner: that list's lock or core), or in its user's list
  Atomic<u32> references{0};  // mappings and caches that share this page; 0: free or owned by one kernel user
  u8 order = 0;               // buddy allocator: size of the block that starts here (log2 of pages)
  u8 state = 0;               // buddy allocator: see memory/page_allocator.h
  u16 slab_index = 0;         // slab allocator: which cache owns this page
};
static_assert(sizeof(Frame) == 24);

}  // namespace corral

// A physical page and what is known of it. One Frame for each page of memory, in an array indexed by page number.
#pragma once

#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "lib/types.h"

namespace corral {

// Whose a page is. A page that heads a block (of 2^order pages) speaks for the block; the others in it are `inside`.
enum class FrameState : u8 {
  inside = 0,  // in a block whose first page says more; or never given out (reserved, not memory)
  free,        // first of a free block of the buddy allocator
  local,       // on a core's page list
  used,        // given out
  copied,      // given out, and a program's own copy of a page of a file
};

struct Frame {
  ListLink link;              // in a free list (owner: that list's lock or core), or in its user's list
  Atomic<u32> references{0};  // mappings and caches that share this page; slab pages: memory/slab_cache.h
  u8 order = 0;               // size of the block that starts here (log2 of pages)
  // Its holder writes it; the buddy allocator looks at neighbours' states, where only `free` matters to it, which is
  // written with its lock held. So relaxed is enough.
  Atomic<FrameState> current_state{FrameState::inside};
  u16 slab_index = 0;         // the heap: 1 + number of the slab cache that owns this page; 0: none

  [[nodiscard]] bool given_out() const { return state() == FrameState::used || state() == FrameState::copied; }
  [[nodiscard]] FrameState state() const { return current_state.load(Order::relaxed); }
  void set_state(FrameState state) { current_state.store(state, Order::relaxed); }
};
static_assert(sizeof(Frame) == 24);

}  // namespace corral

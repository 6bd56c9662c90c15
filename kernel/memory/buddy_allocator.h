// A buddy allocator over an array of Frames: blocks of 2^order pages, naturally aligned by page number.
//
// Invariants: every free block's first frame says FrameState::free and its order, and stands in that order's list; no two
// free buddies of one order stand side by side (they were joined). Pure: knows page numbers, not addresses, and no
// lock (its user's). Neighbours: page_allocator.cpp owns the one of the machine.
// Source: Knowlton, "A fast storage allocator", CACM 8 (1965).
#pragma once

#include <span>

#include "lib/types.h"
#include "memory/frame.h"

namespace corral::memory {

using FrameList = IntrusiveList<Frame, &Frame::link>;

class BuddyAllocator {
 public:
  static constexpr u32 max_order = 10;

  constexpr BuddyAllocator() = default;

  // `frames`[n] describes page n; all `inside`. Once, before everything else.
  void set_frames(std::span<Frame> frames) { frames_ = frames; }
  // Frees pages that were never given out. Panics when one is free or in use already, or lies outside the array.
  void add(u64 first, u64 count);

  // 2^order pages, or null. The first frame is then `used` with that order. order <= max_order.
  [[nodiscard]] Frame* allocate(u32 order);
  // Up to `count` single pages onto `list`, each `used`; returns how many. Takes them from one block where possible.
  u32 allocate_pages(FrameList& list, u32 count);
  // Panics when it is not the first frame of a used block of that order (a double release, say).
  void release(Frame& first, u32 order);

  [[nodiscard]] u64 free_pages() const { return free_pages_; }
  // Checks the invariants by going over all frames; for tests.
  [[nodiscard]] bool valid();

 private:
  [[nodiscard]] u64 number_of(const Frame& frame) const { return static_cast<u64>(&frame - frames_.data()); }
  void put(Frame& frame, u32 order);
  void take_out(Frame& frame);
  void join_and_put(u64 number, u32 order);
  Frame* take_block(u32 order);

  std::span<Frame> frames_;
  FrameList free_[max_order + 1];
  u64 free_pages_ = 0;
};

}  // namespace corral::memory

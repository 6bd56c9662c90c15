// The buddy allocator: splitting on the way out, joining on the way in. Pure; its user holds the lock.
#include "memory/buddy_allocator.h"

#include "trace/panic.h"

namespace corral::memory {

void BuddyAllocator::put(Frame& frame, u32 order) {
  frame.set_state(FrameState::free);
  frame.order = static_cast<u8>(order);
  free_[order].push_front(frame);
  free_pages_ += u64{1} << order;
}

void BuddyAllocator::take_out(Frame& frame) {
  FrameList::remove(frame);
  frame.set_state(FrameState::inside);
  free_pages_ -= u64{1} << frame.order;
}

// Puts the block at `number`, whose frames are all `inside`, into the lists, joined with its free buddies.
void BuddyAllocator::join_and_put(u64 number, u32 order) {
  while (order < max_order) {
    const u64 buddy = number ^ (u64{1} << order);
    if (buddy >= frames_.size()) break;
    Frame& other = frames_[buddy];
    if (other.state() != FrameState::free || other.order != order) break;
    take_out(other);
    number &= ~(u64{1} << order);
    ++order;
  }
  put(frames_[number], order);
}

void BuddyAllocator::add(u64 first, u64 count) {
  KERNEL_ASSERT(first <= frames_.size() && count <= frames_.size() - first);
  for (u64 page = first; page < first + count; ++page) KERNEL_ASSERT(frames_[page].state() == FrameState::inside);
  while (count != 0) {
    u32 order = 0;  // the largest that is aligned here and fits
    while (order < max_order && (first & (u64{1} << order)) == 0 && (u64{2} << order) <= count) ++order;
    join_and_put(first, order);
    first += u64{1} << order;
    count -= u64{1} << order;
  }
}

Frame* BuddyAllocator::take_block(u32 order) {
  u32 found = order;
  while (found <= max_order && free_[found].empty()) ++found;
  if (found > max_order) return nullptr;
  Frame* block = free_[found].front();
  take_out(*block);
  const u64 number = number_of(*block);
  while (found > order) {  // the upper half goes back, again and again
    --found;
    put(frames_[number + (u64{1} << found)], found);
  }
  return block;
}

Frame* BuddyAllocator::allocate(u32 order) {
  KERNEL_ASSERT(order <= max_order);
  Frame* block = take_block(order);
  if (block == nullptr) return nullptr;
  block->set_state(FrameState::used);
  block->order = static_cast<u8>(order);
  return block;
}

u32 BuddyAllocator::allocate_pages(FrameList& list, u32 count) {
  u32 given = 0;
  while (given < count) {
    u32 order = 0;
    while (order < max_order && (u32{2} << order) <= count - given) ++order;
    Frame* block = take_block(order);
    while (block == nullptr && order > 0) block = take_block(--order);
    if (block == nullptr) break;
    for (u64 i = 0; i < (u64{1} << order); ++i) {
      Frame& page = block[i];
      page.set_state(FrameState::used);
      page.order = 0;
      list.push_back(page);
    }
    given += u32{1} << order;
  }
  return given;
}

void BuddyAllocator::release(Frame& first, u32 order) {
  KERNEL_ASSERT(&first >= frames_.data() && number_of(first) < frames_.size());
  KERNEL_ASSERT(first.state() == FrameState::used && first.order == order);
  KERNEL_ASSERT(!first.link.linked());
  const u64 number = number_of(first);
  KERNEL_ASSERT((number & ((u64{1} << order) - 1)) == 0);
  first.set_state(FrameState::inside);
  join_and_put(number, order);
}

bool BuddyAllocator::valid() {
  u64 in_lists = 0;
  bool good = true;
  for (u32 order = 0; order <= max_order; ++order) {
    free_[order].for_each([&](Frame& frame) {
      in_lists += u64{1} << order;
      const u64 number = number_of(frame);
      good = good && frame.state() == FrameState::free && frame.order == order;
      good = good && (number & ((u64{1} << order) - 1)) == 0 && number + (u64{1} << order) <= frames_.size();
      for (u64 i = 1; good && i < (u64{1} << order); ++i) good = frames_[number + i].state() == FrameState::inside;
      const u64 buddy = number ^ (u64{1} << order);
      if (order < max_order && buddy < frames_.size())
        good = good && !(frames_[buddy].state() == FrameState::free && frames_[buddy].order == order);
    });
  }
  u64 by_frames = 0;
  for (const Frame& frame : frames_) by_frames += frame.state() == FrameState::free ? u64{1} << frame.order : 0;
  return good && in_lists == free_pages_ && by_frames == free_pages_;
}

}  // namespace corral::memory

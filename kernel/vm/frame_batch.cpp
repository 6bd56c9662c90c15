// Pages to be released later. See frame_batch.h.
#include "vm/frame_batch.h"

#include "memory/large_page.h"
#include "memory/page_allocator.h"

namespace corral::vm {

namespace {

constexpr u64 large_bit = 1;

u64* notes_in(const Frame& page) {
  return reinterpret_cast<u64*>(memory::contents(page));
}

}  // namespace

bool FrameBatch::add(Frame& frame) {
  if (frame.references.load(Order::acquire) == 1) {
    own_.push_back(frame);
    return true;
  }
  return add_note(reinterpret_cast<u64>(&frame));
}

bool FrameBatch::add_large(Frame& first) {
  return add_note(reinterpret_cast<u64>(&first) | large_bit);
}

bool FrameBatch::add_note(u64 note) {
  if (inline_count_ < inline_capacity) {
    inline_[inline_count_++] = note;
    return true;
  }
  Frame* page = notes_.back();
  if (page == nullptr || last_count_ == page_capacity) {
    Result<Frame*> fresh = memory::allocate_page(memory::Zero::no);
    if (!fresh.ok()) return false;
    page = fresh.value();
    notes_.push_back(*page);
    last_count_ = 0;
  }
  notes_in(*page)[last_count_++] = note;
  return true;
}

void FrameBatch::release(u64 note) {
  Frame& frame = *reinterpret_cast<Frame*>(note & ~large_bit);
  if ((note & large_bit) != 0) {
    memory::release_large_page(frame);
  } else {
    memory::release_page(frame);
  }
}

void FrameBatch::release_all() {
  while (Frame* frame = own_.pop_front()) memory::release_page(*frame);
  for (u32 i = 0; i < inline_count_; ++i) release(inline_[i]);
  inline_count_ = 0;
  while (Frame* page = notes_.pop_front()) {
    const u64 count = notes_.empty() ? last_count_ : page_capacity;
    for (u64 i = 0; i < count; ++i) release(notes_in(*page)[i]);
    memory::release_page(*page);
  }
  last_count_ = 0;
}

}  // namespace corral::vm

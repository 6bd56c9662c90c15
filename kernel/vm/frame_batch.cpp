// Pages to be released later. See frame_batch.h.
#include "vm/frame_batch.h"

#include "memory/page_allocator.h"

namespace corral::vm {

namespace {

Frame** notes_in(const Frame& page) {
  return reinterpret_cast<Frame**>(memory::contents(page));
}

}  // namespace

bool FrameBatch::add(Frame& frame) {
  if (frame.references.load(Order::acquire) == 1) {
    own_.push_back(frame);
    return true;
  }
  if (inline_count_ < inline_capacity) {
    inline_[inline_count_++] = &frame;
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
  notes_in(*page)[last_count_++] = &frame;
  return true;
}

void FrameBatch::release_all() {
  while (Frame* frame = own_.pop_front()) memory::release_page(*frame);
  for (u32 i = 0; i < inline_count_; ++i) memory::release_page(*inline_[i]);
  inline_count_ = 0;
  while (Frame* page = notes_.pop_front()) {
    const u64 count = notes_.empty() ? last_count_ : page_capacity;
    for (u64 i = 0; i < count; ++i) memory::release_page(*notes_in(*page)[i]);
    memory::release_page(*page);
  }
  last_count_ = 0;
}

}  // namespace corral::vm

// One core's free pages. Touched by that core alone, without a lock; only size() may be asked by anyone. The pages come
// and go in batches, so that the buddy allocator's lock is taken once in `batch` pages. Pure.
#pragma once

#include "lib/atomic.h"
#include "memory/buddy_allocator.h"

namespace corral::memory {

class alignas(cache_line) PageList {
 public:
  static constexpr u32 batch = 32;      // pages moved at once
  static constexpr u32 limit = 2 * batch;  // with that many, a batch goes back

  constexpr PageList() = default;

  [[nodiscard]] Frame* pop() {
    Frame* frame = pages_.pop_front();  // the one that was used last: it may still be in the cache
    if (frame == nullptr) return nullptr;
    frame->set_state(FrameState::used);
    set_size(size() - 1);
    return frame;
  }
  void push(Frame& frame) {
    frame.set_state(FrameState::local);
    pages_.push_front(frame);
    set_size(size() + 1);
  }
  // Takes over `count` pages that are `used` from `batch_list`.
  void fill(FrameList& batch_list) {
    while (Frame* frame = batch_list.pop_front()) push(*frame);
  }
  // Takes out up to `count` pages, the longest unused ones, as `used`.
  void drain(FrameList& to, u32 count) {
    for (; count != 0; --count) {
      Frame* frame = pages_.pop_back();
      if (frame == nullptr) return;
      frame->set_state(FrameState::used);
      set_size(size() - 1);
      to.push_back(*frame);
    }
  }
  // One page that has been zeroed in advance stands apart, but counts.
  [[nodiscard]] bool has_zeroed() const { return zeroed_ != nullptr; }
  void keep_zeroed(Frame& frame) {  // there is none yet
    frame.set_state(FrameState::local);
    zeroed_ = &frame;
    set_size(size() + 1);
  }
  [[nodiscard]] Frame* take_zeroed() {
    Frame* frame = zeroed_;
    if (frame == nullptr) return nullptr;
    zeroed_ = nullptr;
    frame->set_state(FrameState::used);
    set_size(size() - 1);
    return frame;
  }
  [[nodiscard]] u32 size() const { return size_.load(Order::relaxed); }

 private:
  void set_size(u32 size) { size_.store(size, Order::relaxed); }  // one writer

  FrameList pages_;
  Frame* zeroed_ = nullptr;
  Atomic<u32> size_{0};
};

}  // namespace corral::memory

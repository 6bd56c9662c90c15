// References to pages that have been taken out of a page table and must not be released before every core has forgotten
// them. Own core (the thread that changes the address space); nothing here waits or fails for lack of memory: add()
// says when it is full, and the owner lets the cores forget what it has before it goes on.
//
// A page with one reference belongs to this batch alone, so its own link can be used. A page with more is possibly in
// another such batch at the same time (copy-on-write, page cache): it is noted in an array.
#pragma once

#include "lib/intrusive_list.h"
#include "memory/frame.h"

namespace corral::vm {

class FrameBatch {
 public:
  FrameBatch() = default;
  ~FrameBatch() { release_all(); }
  FrameBatch(const FrameBatch&) = delete;
  FrameBatch& operator=(const FrameBatch&) = delete;

  [[nodiscard]] bool empty() { return own_.empty() && inline_count_ == 0 && notes_.empty(); }
  // Takes over one reference; false: no room, nothing taken.
  [[nodiscard]] bool add(Frame& frame);
  [[nodiscard]] bool add_large(Frame& first);  // a large reference (memory/large_page.h)
  // Drops every reference.
  void release_all();

 private:
  static constexpr u32 inline_capacity = 14;
  static constexpr u64 page_capacity = page_size / sizeof(u64);

  // A note is the address of a Frame; the lowest bit says that the reference is a large one.
  [[nodiscard]] bool add_note(u64 note);
  static void release(u64 note);

  IntrusiveList<Frame, &Frame::link> own_;
  IntrusiveList<Frame, &Frame::link> notes_;  // pages full of notes, the newest last
  u64 last_count_ = 0;                        // notes in the newest of them
  u32 inline_count_ = 0;
  u64 inline_[inline_capacity] = {};
};

}  // namespace corral::vm

// Objects of one size, cut from single pages ("slabs"). Nothing is stored beside the objects: what is known of a slab is
// in its Frame, and a free object holds the link to the next free one and a mark that finds double releases.
//
// Invariants: a slab with free objects and objects in use stands in partial_; a full one stands nowhere; at most
// `spare` empty ones are kept in partial_. Pure: pages come from a SlabPages; its user holds the lock.
// Source: Bonwick, "The slab allocator", USENIX Summer 1994. Neighbours: heap.cpp.
#pragma once

#include "lib/types.h"
#include "memory/buddy_allocator.h"

namespace corral::memory {

// Where slabs come from.
class SlabPages {
 public:
  [[nodiscard]] virtual Frame* take() = 0;  // null when memory is short
  virtual void give_back(Frame& frame) = 0;
  [[nodiscard]] virtual u8* contents(const Frame& frame) const = 0;

 protected:
  ~SlabPages() = default;
};

// A free object, wherever it is kept. Its first 16 bytes are the heap's, the rest is poison in a checking build.
struct FreeObject {
  FreeObject* next;
  u64 mark;

  // Makes memory of `size` bytes a free object. Panics when it carries the mark already: a double release.
  static FreeObject& make(void* memory, u64 size);
  // Takes the mark away: the object is going to be used. Panics when somebody wrote to it meanwhile.
  static void* open(FreeObject& object, u64 size);
  [[nodiscard]] static bool is_free(const void* memory);
};

class SlabCache {
 public:
  static constexpr u32 spare = 1;

  // size: a multiple of 16, 16 … 4096. `index` (not 0) is written into the frames of its slabs.
  constexpr SlabCache(u32 size, u16 index) : size_{size}, index_{index} {}

  [[nodiscard]] u32 object_size() const { return size_; }
  [[nodiscard]] u32 objects_in_slab() const { return static_cast<u32>(page_size) / size_; }

  // A free object (see FreeObject::open), or null when memory is short.
  [[nodiscard]] FreeObject* allocate(SlabPages& pages);
  // `object` (made free already) lies in the page that `frame` describes, a slab of this cache.
  void release(FreeObject& object, Frame& frame, SlabPages& pages);
  // True when `memory` is where an object of the slab `frame` begins.
  [[nodiscard]] bool begins_object(const void* memory) const {
    return (reinterpret_cast<u64>(memory) & (page_size - 1)) % size_ == 0 &&
           (reinterpret_cast<u64>(memory) & (page_size - 1)) / size_ < objects_in_slab();
  }

  [[nodiscard]] u64 objects() const { return objects_; }  // handed out
  [[nodiscard]] u64 slabs() const { return slabs_; }      // pages

 private:
  // Frame::references of a slab: objects handed out (low half), number of the first free object (high half).
  static constexpr u32 none = 0xffff;
  struct SlabWord {
    u16 in_use;
    u16 first_free;
  };
  static SlabWord read(const Frame& frame);
  static void write(Frame& frame, SlabWord word);
  Frame* new_slab(SlabPages& pages);

  u32 size_;
  u16 index_;
  FrameList partial_;
  u32 empty_ = 0;  // slabs in partial_ without an object in use
  u64 objects_ = 0;
  u64 slabs_ = 0;
};

}  // namespace corral::memory

// Cutting pages into objects of one size. Pure; its user holds the lock.
#include "memory/slab_cache.h"

#include "lib/random.h"
#include "trace/panic.h"

namespace corral::memory {
namespace {

#if defined(CORRAL_POISON_OBJECTS)
constexpr bool poisoning = true;
#else
constexpr bool poisoning = false;
#endif

constexpr u64 poison = 0xdead'f4ee'dead'f4ee;

// Depends on the address, so that copying a free object does not make another one look free.
u64 mark_of(const void* memory) {
  return mix(reinterpret_cast<u64>(memory));
}

[[maybe_unused]] u64* words_of(void* memory) {
  return static_cast<u64*>(memory);
}

}  // namespace

bool FreeObject::is_free(const void* memory) {
  return static_cast<const FreeObject*>(memory)->mark == mark_of(memory);
}

FreeObject& FreeObject::make(void* memory, u64 size) {
  if (is_free(memory)) [[unlikely]]
    panic("memory: an object was released twice");
  if constexpr (poisoning) {
    for (u64 i = sizeof(FreeObject) / 8; i < size / 8; ++i) words_of(memory)[i] = poison;
  }
  auto* object = static_cast<FreeObject*>(memory);
  object->next = nullptr;
  object->mark = mark_of(memory);
  return *object;
}

void* FreeObject::open(FreeObject& object, u64 size) {
  if (!is_free(&object)) [[unlikely]]
    panic("memory: an object was written to after its release");
  if constexpr (poisoning) {
    for (u64 i = sizeof(FreeObject) / 8; i < size / 8; ++i) KERNEL_ASSERT(words_of(&object)[i] == poison);
  }
  object.next = nullptr;
  object.mark = 0;
  return &object;
}

SlabCache::SlabWord SlabCache::read(const Frame& frame) {
  const u32 word = frame.references.load(Order::relaxed);
  return {static_cast<u16>(word & 0xffff), static_cast<u16>(word >> 16)};
}

void SlabCache::write(Frame& frame, SlabWord word) {
  frame.references.store((u32{word.first_free} << 16) | word.in_use, Order::relaxed);
}

Frame* SlabCache::new_slab(SlabPages& pages) {
  Frame* frame = pages.take();
  if (frame == nullptr) return nullptr;
  u8* memory = pages.contents(*frame);
  FreeObject* previous = nullptr;
  for (u32 i = objects_in_slab(); i > 0; --i) {
    u8* place = memory + u64{i - 1} * size_;
    reinterpret_cast<FreeObject*>(place)->mark = 0;  // whatever the page held before
    FreeObject& object = FreeObject::make(place, size_);
    object.next = previous;
    previous = &object;
  }
  frame->slab_index = index_;
  write(*frame, {0, 0});
  partial_.push_front(*frame);
  ++empty_;
  ++slabs_;
  return frame;
}

FreeObject* SlabCache::allocate(SlabPages& pages) {
  Frame* frame = partial_.front();
  if (frame == nullptr) frame = new_slab(pages);
  if (frame == nullptr) return nullptr;
  SlabWord word = read(*frame);
  u8* memory = pages.contents(*frame);
  auto* object = reinterpret_cast<FreeObject*>(memory + u64{word.first_free} * size_);
  if (!FreeObject::is_free(object)) [[unlikely]]
    panic("memory: an object was written to after its release");
  if (word.in_use == 0) --empty_;
  ++word.in_use;
  word.first_free = object->next == nullptr
                        ? static_cast<u16>(none)
                        : static_cast<u16>(static_cast<u64>(reinterpret_cast<u8*>(object->next) - memory) / size_);
  write(*frame, word);
  if (word.first_free == none) FrameList::remove(*frame);
  object->next = nullptr;
  ++objects_;
  return object;
}

void SlabCache::release(FreeObject& object, Frame& frame, SlabPages& pages) {
  KERNEL_ASSERT(frame.slab_index == index_ && begins_object(&object) && FreeObject::is_free(&object));
  SlabWord word = read(frame);
  KERNEL_ASSERT(word.in_use != 0);
  u8* memory = pages.contents(frame);
  const bool was_full = word.first_free == none;
  object.next = was_full ? nullptr : reinterpret_cast<FreeObject*>(memory + u64{word.first_free} * size_);
  word.first_free = static_cast<u16>(static_cast<u64>(reinterpret_cast<u8*>(&object) - memory) / size_);
  --word.in_use;
  --objects_;
  write(frame, word);
  if (was_full) partial_.push_front(frame);
  if (word.in_use != 0) return;
  if (empty_ < spare) {
    ++empty_;
    FrameList::remove(frame);  // to the end: slabs in use are to be filled first
    partial_.push_back(frame);
    return;
  }
  FrameList::remove(frame);
  frame.slab_index = 0;
  --slabs_;
  frame.references.store(1, Order::relaxed);  // as it came
  pages.give_back(frame);
}

}  // namespace corral::memory

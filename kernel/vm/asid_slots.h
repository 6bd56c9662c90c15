// Which address spaces a core's TLB still knows, by the processor's address-space ids (x86-64: PCID; Intel SDM vol. 3,
// 4.10.1). Each core has its own: own core only, no lock. Pure; the processor is told by the caller.
//
// An address space is named by a number that is never used again, so a slot of one that has ended harms nobody: its
// entries cannot be reached without loading its id, and a slot is flushed when it is given to another. Its generation
// counts the times that translations of it were taken away: entries of an older generation are not used.
//
// The number alone says which slot: to look for the oldest one would cost every switch between processes more than the few
// flushes of two whose numbers meet. Processes that work together have numbers near each other, which do not.
#pragma once

#include "lib/types.h"

namespace corral::vm {

class AsidSlots {
 public:
  static constexpr u32 capacity = 32;

  struct Choice {
    u16 asid;   // 1 … ; 0: there are no ids, every load flushes
    bool keep;  // the entries of that id are still right
  };

  // `ids`: how many ids the processor has, id 0 included (it stays with the kernel's own table).
  constexpr void set_ids(u32 ids) { count_ = ids <= 1 ? 0 : ids - 1 < capacity ? ids - 1 : capacity; }

  // The id under which to load `space` (not 0), whose generation is now `generation`.
  Choice choose(u64 space, u64 generation) {
    if (count_ == 0) return {0, false};
    const u32 index = index_of(space);
    Slot& slot = slots_[index];
    const bool keep = slot.space == space && slot.generation == generation;
    slot = {space, generation};
    return {static_cast<u16>(index + 1), keep};
  }

  // While `space` was loaded its entries were brought up to `generation`.
  void note(u64 space, u64 generation) {
    if (count_ == 0) return;
    Slot& slot = slots_[index_of(space)];
    if (slot.space == space) slot.generation = generation;
  }

 private:
  struct Slot {
    u64 space = 0;  // 0: free
    u64 generation = 0;
  };
  [[nodiscard]] u32 index_of(u64 space) const { return static_cast<u32>(space) % count_; }

  Slot slots_[capacity];
  u32 count_ = 0;
};

}  // namespace corral::vm

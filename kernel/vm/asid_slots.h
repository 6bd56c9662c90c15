// Which address spaces a core's TLB still knows, by the processor's address-space ids (x86-64: PCID; Intel SDM vol. 3,
// 4.10.1). Each core has its own: own core only, no lock. Pure; the processor is told by the caller.
//
// An address space is named by a number that is never used again, so a slot of one that has ended harms nobody: its
// entries cannot be reached without loading its id, and a slot is flushed when it is given to another. Its generation
// counts the times that translations of it were taken away: entries of an older generation are not used.
#pragma once

#include "lib/types.h"

namespace corral::vm {

class AsidSlots {
 public:
  static constexpr u32 capacity = 8;

  struct Choice {
    u16 asid;   // 1 … ; 0: there are no ids, every load flushes
    bool keep;  // the entries of that id are still right
  };

  // `ids`: how many ids the processor has, id 0 included (it stays with the kernel's own table).
  constexpr void set_ids(u32 ids) { count_ = ids <= 1 ? 0 : ids - 1 < capacity ? ids - 1 : capacity; }

  // The id under which to load `space` (not 0), whose generation is now `generation`. The one that was not loaded for
  // the longest time makes room.
  Choice choose(u64 space, u64 generation) {
    if (count_ == 0) return {0, false};
    u32 oldest = 0;
    for (u32 i = 0; i < count_; ++i) {
      if (slots_[i].space == space) {
        const bool keep = slots_[i].generation == generation;
        slots_[i].generation = generation;
        slots_[i].loaded_at = ++loads_;
        return {id_of(i), keep};
      }
      if (slots_[i].loaded_at < slots_[oldest].loaded_at) oldest = i;
    }
    slots_[oldest] = {space, generation, ++loads_};
    return {id_of(oldest), false};
  }

  // While `space` was loaded its entries were brought up to `generation`.
  void note(u64 space, u64 generation) {
    for (u32 i = 0; i < count_; ++i) {
      if (slots_[i].space == space) slots_[i].generation = generation;
    }
  }

 private:
  struct Slot {
    u64 space = 0;  // 0: free
    u64 generation = 0;
    u64 loaded_at = 0;  // 0: free
  };
  static constexpr u16 id_of(u32 index) { return static_cast<u16>(index + 1); }

  Slot slots_[capacity];
  u64 loads_ = 0;
  u32 count_ = 0;
};

}  // namespace corral::vm

// One of the candidates by number: what the placements that ignore the load have in common.
#pragma once

#include "sched/placement_policy.h"

namespace corral::sched {

// The candidate number `any` modulo how many there are (at least one), the lowest being 0.
inline CoreId nth_candidate(const CoreSet& candidates, u64 any) {
  u64 count = 0;
  for (u32 word = 0; word < CoreSet::words; ++word) {
    if (candidates.word(word) != 0) count += static_cast<u64>(__builtin_popcountll(candidates.word(word)));
  }
  u64 before = any % count;
  for (u32 word = 0;; ++word) {
    for (u64 bits = candidates.word(word); bits != 0; bits &= bits - 1) {
      if (before-- == 0) return CoreId{word * 64 + static_cast<u32>(__builtin_ctzll(bits))};
    }
  }
}

}  // namespace corral::sched

// What a placement makes of the cores that it chooses from: for the trace, so that people see why a core was chosen. Pure.
#pragma once

#include "lib/types.h"

namespace corral::sched {

// What a score counts; whatever that is, less is better. Read by lab/trace/records.py as well.
enum class ScoreUnit : u8 {
  none,      // the choice goes by no score
  threads,   // there or on the way
  weight,    // of those threads, as SchedulingEntity::weight
  pages,     // of 4 KiB, to be fetched into a cache
  points,    // the policy's own, which its file explains
  priority,  // the highest of the real-time class there, deadline_priority with a deadline, 0: none
};
inline constexpr u32 score_units = 6;

struct CoreScore {
  u64 value = 0;
  ScoreUnit unit = ScoreUnit::none;
};

// Of one decision. Of many candidates the first ones are listed, and in any case the one that was chosen.
struct PlacementScores {
  static constexpr u32 most = 11;
  struct Candidate {
    CoreId core;
    u64 score;
  };

  u32 candidates = 0;  // all of them
  u32 listed = 0;
  ScoreUnit unit = ScoreUnit::none;  // none: in place of scores stand numbers of threads, those on the way included
  Candidate candidate[most];
};

}  // namespace corral::sched

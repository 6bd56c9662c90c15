// What a scheduling policy sees of a thread. A pure value with links: no thread, no hardware behind it, so the same
// policies run in the kernel, in host tests and in the simulator.
//
// Owner of every field: the entity's home core (the one whose run queue it is in), except where it says otherwise.
#pragma once

#include "lib/core_set.h"
#include "lib/intrusive_list.h"
#include "lib/red_black_tree.h"
#include "lib/types.h"

namespace corral::sched {

struct SchedulingEntity {
  // ---- given to the policies -----------------------------------------------------------------------------------
  CoreSet allowed = CoreSet::all();  // affinity mask
  i32 nice = 0;                      // -20 … 19
  u32 weight = 1024;                 // from nice; see weight_of()
  Duration run_time{};               // total time on a core
  Instant last_ran{};                // when it last left a core
  CoreId last_core{};                // where

  // ---- kept by the timeline of the home core ---------------------------------------------------------------------
  ListLink queue_link;
  TreeLink tree_link;
  i64 virtual_runtime = 0;  // CFS: weighted ns; relative to the queue's minimum while not queued
  Duration slice_left{};    // round-robin: what remains of its quantum

  // ---- kept by the engine: exactly one queue at a time ------------------------------------------------------------
  enum class Place : u8 { nowhere, queued, running } place = Place::nowhere;
};

// Load weight of a nice value: 1024 at 0, each step about 1.25 ×.
[[nodiscard]] u32 weight_of(i32 nice);

}  // namespace corral::sched

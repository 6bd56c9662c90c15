// One simulated thread: where it is in its program, and how it fared.
#pragma once

#include <type_traits>

#include "program.h"
#include "sched/scheduling_entity.h"

namespace corral::sim {

// The entity comes first and alone, so that a thread is found from its entity by a cast.
struct EntityHolder {
  sched::SchedulingEntity entity;
};
static_assert(std::is_standard_layout_v<EntityHolder>);

struct Thread : EntityHolder {
  enum class State : u8 { unborn, ready, running, sleeping, waiting, suspended, ended };

  const Task* task = nullptr;
  u32 number = 0;  // in Machine::threads()
  State state = State::unborn;

  // ---- its program: the next action ----
  i64 task_loops = 0, phase_loops = 0;  // that are done
  u32 phase = 0, action = 0;
  Instant began{};
  Instant period_begin{};  // of the period that is under way

  // ---- the work under way ----
  Duration work{};           // left, in time on a core of full capacity
  Duration overhead{};       // switching and filling caches, left; before the work
  bool by_time = false;      // `work` is time on whatever core it is (Action::run_for)
  Instant progress_until{};  // both are up to date as of this
  bool has_place = false;    // it has run
  CoreId place_before{};     // where
  Instant left{};            // when it left that core

  // ---- what it fetched into caches (machine_cache.cpp) ----
  u64 fetched = 0;           // pages, when it began to run
  u64 fetched_in_all = 0;
  Instant counted_from{};

  // ---- how it fared ----
  Instant ready_since{};
  bool pulled = false;       // on the way to a core that asked for it
  bool waking = false;       // ready since a wake-up, has not run yet
  Duration waited{};         // ready, not running
  Duration slowest_wake{};
  Duration wake_sum{};
  u64 wakes = 0;
  u64 moves = 0;             // ran on another core than before
  Instant ended{};

  static Thread& of(sched::SchedulingEntity& entity) { return static_cast<Thread&>(reinterpret_cast<EntityHolder&>(entity)); }
};

}  // namespace corral::sim

// What a scheduling policy sees of a thread. A pure value with links: no thread, no hardware behind it, so the same
// policies run in the kernel, in host tests and in the simulator.
//
// Owner of every field: the entity's home core (the one whose run queue it is in), except where it says otherwise.
#pragma once

#include "lib/atomic.h"
#include "lib/core_set.h"
#include "lib/intrusive_list.h"
#include "lib/red_black_tree.h"
#include "lib/types.h"
#include "sched/counters.h"
#include "sched/deadline/server.h"
#include "sched/timeline_state.h"

namespace corral::sched {

// Linux's numbers. other, batch and idle share the timeline; fifo and round_robin are the real-time class above it, with
// deadline at its top.
enum class SchedulingPolicy : u8 { other = 0, fifo = 1, round_robin = 2, batch = 3, idle = 5, deadline = 6 };

inline constexpr u32 real_time_highest = 99;                 // priorities 1 … 99, the highest number first
inline constexpr u32 deadline_priority = 100;                // of SCHED_DEADLINE, among each other the earliest first
inline constexpr Duration real_time_quantum = milliseconds(100);  // of SCHED_RR, as Linux's default

struct SchedulingEntity {
  // ---- given to the policies -----------------------------------------------------------------------------------
  CoreSet allowed = CoreSet::all();  // affinity mask, cut down to the entity's group of cores (engine/core_groups.h)
  i32 nice = 0;                      // -20 … 19
  u32 weight = 1024;                 // from nice and policy; once enqueued, changed by the engine's change() only
  Duration run_time{};               // total time on a core
  // Until when run_time counts, while it runs; zero: it does not run; never: both are being changed. Other cores read it.
  Instant charged{};
  Instant last_ran{};                // when it last left a core
  CoreId last_core{};                // where
  SchedulingPolicy policy = SchedulingPolicy::other;
  bool woken_by_interrupt = false;   // of one that comes as woken: a timer of its own or a device did it, not another thread
  u8 real_time = 0;  // above 0: in the real-time class with this priority, its own or an inherited one
  DeadlineServer server{};  // while real_time is deadline_priority
  Atomic<ResourceUse> resources{ResourceUse{}};  // decayed; unknown while nobody counts. Other cores read it

  // ---- kept by the core groups (engine/core_groups.h) ---------------------------------------------------------------
  CoreSet asked = CoreSet::all();  // affinity mask as the thread asked for it
  u64 groups = 0;                  // for which groups `allowed` was made; 0: there never were any

  // ---- kept by the timeline of the home core ---------------------------------------------------------------------
  ListLink queue_link;
  TreeLink tree_link;
  TimelineState timeline;  // whatever else the algorithm keeps

  // ---- kept by the real-time class (real_time/queue.h); queue_link too, while real_time is above 0 ----------------
  bool behind_equals = false;  // raised while it ran: when it is preempted it goes behind those of its priority
  Duration quantum_left{};     // SCHED_RR
  // tree_link: in a DeadlineQueue or RestingPlace

  // ---- kept by the engine's checks (engine/run_queue_checks.cpp) ---------------------------------------------------
  Instant spent_until{};  // of the deadline server, the period
  Duration spent{};       // for which it has run so long

  // ---- kept by the engine: exactly one place at a time ------------------------------------------------------------
  i32 number = 0;         // the thread's, to be told
  u32 recording = 0;      // the last in which it was seen (engine/recorded_timeline.h)
  Duration waits_since{};  // on the clock of the home's timeline (engine/starvation.h), while it waits there
  // on_the_way: a core has been chosen (home), the entity has not arrived there yet; it belongs to who carries it.
  // resting: it would wait at home, but has used up its reservation. global: it waits in the global queue, and has no home.
  enum class Place : u8 { nowhere, on_the_way, queued, running, resting, global } place = Place::nowhere;
  CoreId home{};         // whose run queue it is in, or on the way to, or was in last
  ListLink engine_link;  // in the home's list of all that wait there, whatever the algorithm does
  // engine/turns.h: time that it waited; while it waits, that less the instant when it began, so negative. Other cores read it.
  i64 waited_ns = 0;
  Instant queued_at{};  // when its present wait began

  // ---- kept by the global queue (engine/global_queue.h); the owner is who has it in hand ---------------------------
  Atomic<u8> global_list{0};  // 0: it does not wait there; else 1 + its list. Any core may read it
  // On the queue's clock, since when it waits there; for checks. Written under its list's lock; any core may read it
  Atomic<Duration> global_since{Duration{}};
  u64 turn_round = 0;  // the round in which its turn is
  Duration turn_end{};  // the run_time at which its turn is over

  [[nodiscard]] bool has_run() const { return last_ran != Instant{}; }
  [[nodiscard]] bool has_deadline() const { return real_time == deadline_priority; }
  // The order of the real-time class in one number, the highest first: 0 for the timeline, the priority, above all those
  // who is due, the sooner the higher.
  [[nodiscard]] u64 urgency() const { return has_deadline() ? ~static_cast<u64>(server.due().ns) : real_time; }
};

// Nice values, as for Linux's setpriority().
inline constexpr i32 nice_lowest = -20;
inline constexpr i32 nice_highest = 19;
inline constexpr u32 weight_of_nice_0 = 1024;
inline constexpr u32 weight_of_idle = 3;  // SCHED_IDLE, whatever its nice value

// Load weight of a nice value: 1024 at 0, each step a factor of 1.25 (a tenth of a core between two equal competitors).
// Values outside -20 … 19 count as the nearest of them.
[[nodiscard]] u32 weight_of(i32 nice);
[[nodiscard]] inline u32 weight_of(i32 nice, SchedulingPolicy policy) {
  return policy == SchedulingPolicy::idle ? weight_of_idle : weight_of(nice);
}

}  // namespace corral::sched

// What a record of the trace tells of a call into a policy (trace/record.h: Event::timeline_called and those after it): what the
// policy was told, and what it answered. So that the simulator can ask the same policy the same again (docs/replay.md).
//
// All are at most 48 bytes and plain: the kernel writes them, sim/replay.cpp reads them.
#pragma once

#include "sched/core_statistics.h"
#include "sched/policy.h"
#include "sched/scheduling_entity.h"

namespace corral::sched {

enum class PolicyKind : u8 { timeline, placement };

// Record::detail: PolicyKind. What follows, on this core (of a placement: on all), is of a new object of this policy.
struct PolicyMade {
  char name[24];
  i64 tick_ns;
  u32 session;  // of a timeline: entities come into it without anything that an earlier one has noted in them
  u32 tunables;  // so many PolicyValue follow
  u64 number;  // of a placement: that of its first decision
};
struct PolicyValue {
  u64 index;
  i64 value;  // as the policy gets it
};

// Record::detail: the call in the lowest bits, and above them the EnqueueReason.
enum class TimelineCall : u8 { enqueue, dequeue, pick, charge, depart, review, last_waiting };
inline constexpr u32 timeline_call_bits = 4;

// What policies read of an entity.
struct EntitySeen {
  i64 run_time_ns, last_ran_ns;
  u32 weight;
  u16 last_core;
  u8 nice;  // above the lowest
  u8 policy;

  static EntitySeen of(const SchedulingEntity& entity) {
    return {entity.run_time.ns,
            entity.last_ran.ns,
            entity.weight,
            static_cast<u16>(entity.last_core.value),
            static_cast<u8>(entity.nice - nice_lowest),
            static_cast<u8>(entity.policy)};
  }
  void show(SchedulingEntity& entity) const {
    entity.run_time = Duration{run_time_ns};
    entity.last_ran = Instant{last_ran_ns};
    entity.weight = weight;
    entity.last_core = CoreId{last_core};
    entity.nice = nice_lowest + nice;
    entity.policy = static_cast<SchedulingPolicy>(policy);
  }
};

// Record::thread: the entity that the call is about; of pick and last_waiting the answer, 0 for none.
struct TimelineCalled {
  i64 now_ns;
  i64 value_ns;  // charge: used; pick and review: until when
  EntitySeen entity;
};

// What a placement sees of a core (Record::thread is its number), before PlacementAsked.
struct CoreSeen {
  CoreStatistics::Words words;
};
// Record::detail: PlacementReason; Record::thread: the entity.
struct PlacementAsked {
  static constexpr u32 words = 4;
  i64 now_ns;
  u64 candidates[words];
  u16 here;
  u16 cores;  // so many CoreSeen stand before it
};
// Record::thread: the entity.
struct PlacementAnswered {
  EntitySeen entity;
  u64 draw;  // the last random number that the policy drew
  u16 draws;
  u16 chosen;
  u64 number;  // of the decision, over all cores
};

static_assert(sizeof(PolicyMade) <= 48 && sizeof(TimelineCalled) <= 48 && sizeof(CoreSeen) <= 48 &&
              sizeof(PlacementAsked) <= 48 && sizeof(PlacementAnswered) <= 48);

}  // namespace corral::sched

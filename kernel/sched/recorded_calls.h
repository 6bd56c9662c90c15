// What a record of the trace tells of a call into a policy (trace/record.h: Event::timeline_called and those after it): what the
// policy was told, and what it answered. So that the simulator can ask the same policy the same again (docs/replay.md).
//
// All are at most 48 bytes and plain: the kernel writes them, sim/replay.cpp reads them.
#pragma once

#include "sched/core_statistics.h"
#include "sched/migration_policy.h"
#include "sched/placement_policy.h"
#include "sched/scheduling_entity.h"

namespace corral::sched {

enum class PolicyKind : u8 { timeline, placement, migration };

// Record::detail: PolicyKind. What follows, on this core (of a policy of the machine: on all), is of a new object of this policy.
struct PolicyMade {
  char name[24];
  i64 tick_ns;
  u32 session;  // of a timeline: entities come into it without anything that an earlier one has noted in them
  u32 tunables;  // so many PolicyValue follow
  u64 number;  // of a policy of the machine: that of its first decision
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
  u8 policy : 7;
  u8 woken_by_interrupt : 1;

  static EntitySeen of(const SchedulingEntity& entity) {
    return {entity.run_time.ns,
            entity.last_ran.ns,
            entity.weight,
            static_cast<u16>(entity.last_core.value),
            static_cast<u8>(entity.nice - nice_lowest),
            static_cast<u8>(static_cast<u32>(entity.policy) & 0x7fu),
            entity.woken_by_interrupt};
  }
  void show(SchedulingEntity& entity) const {
    entity.run_time = Duration{run_time_ns};
    entity.last_ran = Instant{last_ran_ns};
    entity.weight = weight;
    entity.last_core = CoreId{last_core};
    entity.nice = nice_lowest + nice;
    entity.policy = static_cast<SchedulingPolicy>(policy);
    entity.woken_by_interrupt = woken_by_interrupt != 0;
  }
};

// Record::thread: the entity that the call is about; of pick and last_waiting the answer, 0 for none.
struct TimelineCalled {
  i64 now_ns;
  i64 value_ns;  // charge: used; pick and review: until when
  EntitySeen entity;
};

// ---- a decision of a policy of the machine: all these records, one after the other on the core that asked ------------------
// Record::detail of all of them: DecisionKind.
enum class DecisionKind : u8 { place_created, place_woken, push, ask, leaves_at };
[[nodiscard]] constexpr PolicyKind policy_of(DecisionKind kind) {
  return kind <= DecisionKind::place_woken ? PolicyKind::placement : PolicyKind::migration;
}

// What the policy sees of a core (Record::thread is its number).
struct CoreSeen {
  CoreStatistics::Words words;
};
// Record::thread: the entity that the decision is about; 0: none (ask).
struct DecisionAsked {
  static constexpr u32 words = 4;
  i64 now_ns;
  u64 candidates[words];
  u16 here;
  u16 cores;  // so many CoreSeen stand before it
  u32 spare;  // leaves_at
};
struct DecisionAbout {
  EntitySeen entity;
  i64 last_asked_ns;  // ask
  u32 resources;  // the entity's: ResourceUse::word()
};
struct DecisionAnswered {
  static constexpr u16 nobody = 0xffff;  // no_core, which is another number where there may be more cores
  i64 at_ns;  // ask and leaves_at
  u64 draw;  // the last random number that the policy drew
  u64 number;  // of the decision, over all cores, of this kind of policy
  u16 draws;
  u16 chosen;  // all but leaves_at

  // What a policy answered, in these words.
  static DecisionAnswered of(const PullAnswer& answer) {
    const u16 chosen = answer.from == no_core ? nobody : static_cast<u16>(answer.from.value);
    return {answer.at.ns, 0, 0, 0, chosen};
  }
  static DecisionAnswered of(CoreId chosen) { return of(PullAnswer{chosen, {}}); }
  static DecisionAnswered of(Instant at) { return of(PullAnswer{no_core, at}); }
};

static_assert(sizeof(PolicyMade) <= 48 && sizeof(TimelineCalled) <= 48 && sizeof(CoreSeen) <= 48 &&
              sizeof(DecisionAsked) <= 48 && sizeof(DecisionAbout) <= 48 && sizeof(DecisionAnswered) <= 48);

}  // namespace corral::sched

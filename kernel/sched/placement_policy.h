// PlacementPolicy: which core a new or woken thread goes to. Blind to timelines and partitions.
//
// A new policy is one new file in sched/placement/. Contract: select() is called by the core that creates or wakes,
// possibly by several cores at once; the object's own state must therefore be atomics. No locks, no waiting, no
// allocation. The answer must be in `candidates` (never empty); the engine checks. A policy that answers
// another core, faults, or does not come back is replaced for the machine (docs/safety.md).
#pragma once

#include "sched/placement_scores.h"
#include "sched/registry.h"
#include "sched/scheduling_entity.h"
#include "sched/system_view.h"

namespace corral::sched {

// created: the asking core runs the creator. woken: the entity's last core asks, or one that acts for it.
enum class PlacementReason : u8 { created, woken };

struct PlacementRequest {
  const SchedulingEntity& entity;
  PlacementReason reason;
  const CoreSet& candidates;  // online and allowed: never empty
  u32 words;  // of the candidates; there are none in later ones, and perhaps none in the last of these
  CoreId here;         // the core that asks
  Instant now;
};

class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  virtual CoreId select(const PlacementRequest& request, const SystemView& system) = 0;
  // What `core`, one of the candidates, counts in that decision: select() answers one with the least. Asked only while placements
  // are traced, after select() and with the same request. It goes by request, view and tunables alone, draws no random number, and
  // has no effect. A policy that does not compare cores has no scores.
  [[nodiscard]] virtual CoreScore score(const PlacementRequest& request [[maybe_unused]],
                                        const SystemView& system [[maybe_unused]], CoreId core [[maybe_unused]]) const {
    return {};
  }
};

// sched.placement=NAME
struct PlacementDescriptor : PolicyDescription {
  size_t size;
  PlacementPolicy* (*make)(void* storage);
  bool goes_by_resources = false;  // it reads ResourceUse: while it is in force, somebody counts (sched/counters.h)
  // Which of its tunables says for how long a thread that has run is left on its core by those that pull (engine/migrator.h).
  size_t pulled_after = at_once;
  static constexpr size_t at_once = ~size_t{0};
};
// A policy that goes by them, or has such a tunable, has a constant of that name.
template <class Policy>
inline constexpr bool has_resources = requires { Policy::goes_by_resources; };
template <class Policy>
consteval size_t pulled_after_of() {
  if constexpr (requires { Policy::pulled_after; }) {
    return Policy::pulled_after;
  } else {
    return PlacementDescriptor::at_once;
  }
}

[[nodiscard]] std::span<const PlacementDescriptor* const> placements();
[[nodiscard]] const PlacementDescriptor* find_placement(std::string_view name);
inline constexpr const char* default_placement = "least-loaded";

// After the description may stand the name of a table of tunables that is a constant of the class.
#define CORRAL_PLACEMENT_POLICY(Class, name, description, ...)                                                           \
  namespace {                                                                                                            \
  ::corral::sched::PlacementPolicy* make_it(void* storage) {                                                             \
    return ::new (storage) Class();                                                                                      \
  }                                                                                                                      \
  constinit const ::corral::sched::PlacementDescriptor descriptor{{name, description __VA_OPT__(, Class::) __VA_ARGS__}, \
                                                                  sizeof(Class),                                         \
                                                                  make_it,                                               \
                                                                  ::corral::sched::has_resources<Class>,                 \
                                                                  ::corral::sched::pulled_after_of<Class>()};            \
  __VA_OPT__(static_assert(::corral::sched::are_right(Class::__VA_ARGS__));)                                             \
  CORRAL_REGISTER(corral_placements, ::corral::sched::PlacementDescriptor, descriptor);                                  \
  }

}  // namespace corral::sched

// GroupingMethod: how it is brought about that real-time threads run on the real-time group's cores and all others on the
// others (paper 003, chapter 2). Which cores those are is another matter (groups/layout.h), the same for every method.
//
// A new method is one new file in sched/groups/. Methods have no state: several cores ask at once. No locks, no waiting, no
// allocation. The engine checks what a method answers; one that does wrong is replaced for the machine (docs/safety.md).
//
// Whatever the method, the engine (engine/core_groups.h) takes a thread off a core that is not its group's any more: it changed
// its class, or the groups changed. The methods differ in how a new or woken thread is kept from the wrong core.
#pragma once

#include "lib/core_set.h"
#include "sched/policy.h"
#include "sched/registry.h"

namespace corral::sched {

// Where the placement policy would have an entity go, if it could go to any of a set of cores, which is not empty.
class Proposals {
 public:
  virtual CoreId among(const CoreSet& candidates) = 0;

 protected:
  ~Proposals() = default;
};

// The cores of `group` that a mask asks for; all of them when it asks for none of them, as for Linux's cpusets.
[[nodiscard]] constexpr CoreSet within(const CoreSet& asked, const CoreSet& group) {
  const CoreSet both = asked & group;
  return both.empty() ? group : both;
}

// About a new or woken entity; all cores are online.
struct GroupingRequest {
  CoreSet left;  // those of its own mask to which no move of it has been blocked; all cores, if its mask has none
  CoreSet group;  // those of its group; not empty
  CoreSet own;  // those of its group that its mask asks for, or the whole group; not empty
  u32 blocked = 0;  // moves of it so far
};

class GroupingMethod {
 public:
  // A method may have a constant of the same name that is true:
  // The cores of the group are made an entity's mask: then no other question is asked until its class, its own mask or the
  // groups change.
  static constexpr bool sets_masks = false;
  // A core's run queue asks of everybody who wants to enter whether the core is of its group, and turns others away. Without this
  // the engine blocks a move to such a core, and asks the method again.
  static constexpr bool guards_entry = false;

  // The cores of which the placement policy is to choose one for the entity, put into `candidates`, which are none: at least one,
  // each of `left` or of `own`. Not called when masks are set.
  virtual void choose(const GroupingRequest& request, CoreSet& candidates) const = 0;

 protected:
  ~GroupingMethod() = default;
};

// sched.groups=NAME; method null: no groups.
struct GroupingDescriptor : PolicyDescription {
  const GroupingMethod* method;
  bool sets_masks = false, guards_entry = false;
};

[[nodiscard]] std::span<const GroupingDescriptor* const> groupings();
inline constexpr const char* default_grouping = "none";

// What every method can be told.
struct GroupTunables {
  static constexpr const char* layouts[] = {"grouped", "alternate", "double-alternate"};
  static constexpr const char* off_on[] = {"off", "on"};
  static constexpr Tunable all[] = {
      {"layout", Unit::choice, 0, 2, 0, "how the cores of the two groups follow each other", layouts},
      {"ratio", Unit::ratio, 1, max_cores, packed_ratio(1, 1), "real-time cores to normal ones, rounded to whole cores"},
      {"dynamic", Unit::choice, 0, 1, 0, "on: the ratio follows the load, and `ratio` is the first one", off_on},
      {"interval", Unit::microseconds, 1'000, 60'000'000, 100'000, "how often a dynamic ratio is computed"},
      {"hysteresis", Unit::number, 0, 10'000, 60,
       "by how much, in hundredths of a core, a dynamic ratio must be wrong to be changed"},
  };
  enum : size_t { layout, ratio, dynamic, interval, hysteresis };
  static_assert(are_right(all));
};

#define CORRAL_GROUPING_METHOD(Class, name, description)                                                              \
  namespace {                                                                                                         \
  constinit const Class the_method;                                                                                   \
  constinit const ::corral::sched::GroupingDescriptor descriptor{                                                     \
      {name, description, ::corral::sched::GroupTunables::all}, &the_method, Class::sets_masks, Class::guards_entry}; \
  CORRAL_REGISTER(corral_groupings, ::corral::sched::GroupingDescriptor, descriptor);                                 \
  }

}  // namespace corral::sched

// GroupingMethod: how it is brought about that real-time threads run on the real-time group's cores and all others on the
// others (paper 003, chapter 2). Which cores those are is another matter (groups/layout.h), the same for every method.
//
// A new method is one new file in sched/groups/. Methods have no state: several cores ask at once. No locks, no waiting, no
// allocation.
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

class GroupingMethod {
 public:
  // The cores of the group are made an entity's mask: then no other question is asked until its class, its own mask or the
  // groups change.
  [[nodiscard]] virtual bool sets_masks() const { return false; }
  // A core's run queue asks of everybody who wants to enter whether the core is of its group, and turns others away.
  [[nodiscard]] virtual bool guards_entry() const { return false; }
  // The core that a new or woken entity is sent to, of those online. `asked`: its own mask, `online` the cores that there are,
  // `group` those of its group; neither of them empty. Not called when masks are set. `blocked`: add what was refused.
  [[nodiscard]] virtual CoreId place(Proposals& policy, const CoreSet& asked, const CoreSet& online, const CoreSet& group,
                                     u64& blocked) const = 0;

 protected:
  ~GroupingMethod() = default;
};

// sched.groups=NAME; method null: no groups.
struct GroupingDescriptor : PolicyDescription {
  const GroupingMethod* method;
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

#define CORRAL_GROUPING_METHOD(Class, name, description)                                                                   \
  namespace {                                                                                                              \
  constinit const Class the_method;                                                                                        \
  constinit const ::corral::sched::GroupingDescriptor descriptor{{name, description, ::corral::sched::GroupTunables::all}, \
                                                                 &the_method};                                             \
  CORRAL_REGISTER(corral_groupings, ::corral::sched::GroupingDescriptor, descriptor);                                      \
  }

}  // namespace corral::sched

// How people name a policy: `mlfq`, or with values for some of its tunables, the others having their defaults:
// `mlfq:levels=3,quantum=200`. The same text on the command line and in /proc/sched. Pure, any context.
#pragma once

#include "sched/grouping_method.h"
#include "sched/migration_policy.h"
#include "sched/placement_policy.h"
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

// Why a text was refused: one sentence that says what would be right.
struct Refusal {
  char text[320];
  size_t length = 0;
  [[nodiscard]] std::string_view view() const { return {text, length}; }
};

// The policy that `text` names, its values in `values`. Null: refused for `why`, `values` unchanged.
[[nodiscard]] const AlgorithmDescriptor* choose_algorithm(std::string_view text, Duration tick, TunableValues& values,
                                                          Refusal& why);
[[nodiscard]] const PlacementDescriptor* choose_placement(std::string_view text, Duration tick, TunableValues& values,
                                                          Refusal& why);
[[nodiscard]] const MigrationDescriptor* choose_migration(std::string_view text, Duration tick, TunableValues& values,
                                                          Refusal& why);
[[nodiscard]] const GroupingDescriptor* choose_grouping(std::string_view text, Duration tick, TunableValues& values,
                                                        Refusal& why);

// Where threads wait, as sched.queues= says: "per-core" or "global", which `global` tells. False: refused for `why`.
[[nodiscard]] bool choose_queues(std::string_view text, bool& global, Refusal& why);
[[nodiscard]] bool choose_wakes(std::string_view text, bool& waker, Refusal& why);

// A value of a tunable, in its unit, as people write it: a number, one of its names, "1:3". A prefix of `to`.
[[nodiscard]] std::string_view write_value(const Tunable& tunable, i64 value, std::span<char> to);

// A tunable as a line for people: "levels=4, 1 to 16: how many levels there are", its default first. A prefix of `to`.
[[nodiscard]] std::string_view write_tunable(const Tunable& tunable, std::span<char> to);

// "4000 µs" and the like: how a table shows a unit; "" for mere numbers.
[[nodiscard]] std::string_view name_of(Unit unit);

}  // namespace corral::sched

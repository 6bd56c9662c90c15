// What is told of a change of policy: in the trace, and in /proc/sched. For the SchedulingManager.
#pragma once

#include <string_view>

#include "lib/atomic.h"
#include "lib/text.h"
#include "sched/policy_choice.h"
#include "trace/trace.h"

namespace corral {

// The policy of kind `what` is `name` from now on: one more of `changes`, and a record in the trace.
inline void note_change(Atomic<u64>& changes, std::string_view what, std::string_view name) {
  changes.fetch_add(1, Order::relaxed);
  if (!trace::wants(trace::Event::policy_changed)) return;
  trace::PolicyChange change{};
  copy_text(change.what, sizeof change.what, what);
  copy_text(change.name, sizeof change.name, name);
  trace::write(trace::Event::policy_changed, 0, 0, change);
}

// What a policy's tunables are now: line(format, arguments ...) for each.
template <class Line>
void describe_tunables(const sched::PolicyDescription& policy, const sched::TunableValues& values, Duration tick, Line&& line) {
  for (size_t i = 0; i < policy.tunables.size(); ++i) {
    const sched::Tunable& tunable = policy.tunables[i];
    char room[64];
    line("{}.{} {} {}: {}\n", policy.name, tunable.name, write_value(tunable, tunable.as_shown(values.number(i), tick), room),
         name_of(tunable.unit), tunable.description);
  }
}

}  // namespace corral

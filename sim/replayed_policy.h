// An object of a policy of the whole machine that is asked what a recording has (sched/recorded_calls.h).
#pragma once

#include <memory>
#include <string>

#include "sched/recorded_calls.h"

namespace corral::sim {

// What a policy was asked, out of the records of one decision.
struct RecordedQuestion {
  sched::DecisionKind kind{};
  sched::EntitySeen entity{};
  sched::ResourceUse resources{};
  CoreSet candidates;
  CoreId here{};
  Instant now{}, last_asked{};
  u32 spare = 0;
};

class ReplayedPolicy {
 public:
  virtual ~ReplayedPolicy() = default;
  virtual sched::DecisionAnswered ask(const RecordedQuestion& question, const sched::SystemView& view) = 0;
};

// std::invalid_argument: there is no such policy.
[[nodiscard]] std::unique_ptr<ReplayedPolicy> make_replayed(sched::PolicyKind kind, const std::string& name);

[[nodiscard]] std::string name_of(sched::PolicyKind kind);

}  // namespace corral::sim

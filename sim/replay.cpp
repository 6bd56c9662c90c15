// See replay.h.
#include "replay.h"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "replay_decisions.h"
#include "replay_timelines.h"

namespace corral::sim {

namespace {

// Who makes the decisions of each kind again.
struct Replay {
  ReplayedTimelines timelines;
  ReplayedDecisions placements{sched::PolicyKind::placement};
  ReplayedDecisions migrations{sched::PolicyKind::migration};

  ReplayedDecisions& of(sched::PolicyKind kind) { return kind == sched::PolicyKind::placement ? placements : migrations; }
  // Calls visit(object) with whoever has the policies that the record, of policy_made or policy_value, is of.
  template <class Visitor>
  void of_policy(const trace::Record& record, Visitor&& visit) {
    const auto kind = static_cast<sched::PolicyKind>(record.detail);
    kind == sched::PolicyKind::timeline ? visit(timelines) : visit(of(kind));
  }
  ReplayedDecisions& of_decision(const trace::Record& record) {
    return of(policy_of(static_cast<sched::DecisionKind>(record.detail)));
  }
};

}  // namespace

std::vector<Compared> replay(std::span<const trace::Record> records) {
  // What passes between cores takes time: who left one core did so before it came to the other.
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t place) { return std::pair{records[place].time, place}; });
  Replay replay;
  for (const size_t place : order) {
    const trace::Record& record = records[place];
    switch (record.event) {
      case trace::Event::policy_made: replay.of_policy(record, [&](auto& policies) { policies.made(record); }); break;
      case trace::Event::policy_value: replay.of_policy(record, [&](auto& policies) { policies.value(record); }); break;
      case trace::Event::timeline_called: replay.timelines.called(record); break;
      case trace::Event::core_seen: replay.of_decision(record).seen(record); break;
      case trace::Event::decision_asked: replay.of_decision(record).asked(record); break;
      case trace::Event::decision_about: replay.of_decision(record).about(record); break;
      case trace::Event::decision_answered: replay.of_decision(record).answered(record); break;
      case trace::Event::lost:
        throw std::invalid_argument{std::to_string(record.data[0]) + " records of core " + std::to_string(record.core) +
                                    " were lost: record a shorter run, or one with more memory"};
      default: break;
    }
  }
  std::vector<Compared> all = replay.timelines.results();
  for (ReplayedDecisions* decisions : {&replay.placements, &replay.migrations}) {
    for (Compared& compared : decisions->results()) all.push_back(std::move(compared));
  }
  return all;
}

void write_replay(std::ostream& to, std::span<const Compared> compared) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Compared& policy : compared) {
    list.push_back({{"kind", policy.kind},
                    {"name", policy.name},
                    {"cores", policy.cores},
                    {"calls", policy.calls},
                    {"decisions", policy.decisions},
                    {"different", policy.different},
                    {"first_difference", policy.first_difference}});
  }
  to << list.dump(1) << '\n';
}

}  // namespace corral::sim

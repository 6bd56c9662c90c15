// See replay.h.
#include "replay.h"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "replay_placements.h"
#include "replay_timelines.h"

namespace corral::sim {

namespace {

bool is_of_placement(const trace::Record& record) {
  return static_cast<sched::PolicyKind>(record.detail) == sched::PolicyKind::placement;
}

}  // namespace

std::vector<Compared> replay(std::span<const trace::Record> records) {
  // What passes between cores takes time: who left one core did so before it came to the other.
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t place) { return std::pair{records[place].time, place}; });
  ReplayedTimelines timelines;
  ReplayedPlacements placements;
  for (const size_t place : order) {
    const trace::Record& record = records[place];
    switch (record.event) {
      case trace::Event::policy_made: is_of_placement(record) ? placements.made(record) : timelines.made(record); break;
      case trace::Event::policy_value: is_of_placement(record) ? placements.value(record) : timelines.value(record); break;
      case trace::Event::timeline_called: timelines.called(record); break;
      case trace::Event::core_seen: placements.seen(record); break;
      case trace::Event::placement_asked: placements.asked(record); break;
      case trace::Event::placement_answered: placements.answered(record); break;
      case trace::Event::lost:
        throw std::invalid_argument{std::to_string(record.data[0]) + " records of core " + std::to_string(record.core) +
                                    " were lost: record a shorter run, or one with more memory"};
      default: break;
    }
  }
  std::vector<Compared> all = timelines.results();
  for (Compared& compared : placements.results()) all.push_back(std::move(compared));
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

// The placements' part of a replay (replay.h): one object of the recorded policy, asked again in the recorded order.
#pragma once

#include <map>
#include <memory>

#include "policies.h"
#include "replay.h"
#include "sched/recorded_calls.h"

namespace corral::sim {

class ReplayedPlacements {
 public:
  // The next record of a core; the records of one decision follow each other on a core.
  void made(const trace::Record& record);
  void value(const trace::Record& record);
  void seen(const trace::Record& record);
  void asked(const trace::Record& record);
  void answered(const trace::Record& record);
  // When all records have been given: decides. std::invalid_argument: some are missing.
  [[nodiscard]] std::vector<Compared> results();

 private:
  struct Question {
    std::map<u32, sched::CoreStatistics::Words> cores;
    sched::PlacementAsked asked{};
    sched::PlacementAnswered answered{};
    sched::PlacementReason reason{};
  };
  struct Session {
    const sched::PlacementDescriptor* descriptor = nullptr;
    sched::TunableValues values;
  };
  CoreId decide(sched::PlacementPolicy& policy, const Session& session, const Question& question);

  std::map<u16, Question> open_;  // of each core
  std::map<u16, Session*> last_made_;
  std::map<u64, Session> sessions_;  // by the number of their first decision
  std::map<u64, Question> questions_;  // by number
  std::vector<sched::CoreStatistics> cores_ = std::vector<sched::CoreStatistics>(max_cores);
};

}  // namespace corral::sim

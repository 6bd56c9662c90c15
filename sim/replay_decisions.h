// The part of a replay (replay.h) for policies of the whole machine, placements or migrations: one object of the recorded policy,
// asked again in the recorded order.
#pragma once

#include <map>
#include <memory>

#include "policies.h"
#include "replay.h"
#include "replayed_policy.h"
#include "sched/recorded_calls.h"

namespace corral::sim {

class ReplayedDecisions {
 public:
  explicit ReplayedDecisions(sched::PolicyKind kind) : kind_{kind} {}
  // The next record of a core; the records of one decision follow each other on a core.
  void made(const trace::Record& record);
  void value(const trace::Record& record);
  void seen(const trace::Record& record);
  void asked(const trace::Record& record);
  void about(const trace::Record& record);
  void answered(const trace::Record& record);
  // When all records have been given: decides. std::invalid_argument: some are missing.
  [[nodiscard]] std::vector<Compared> results();

 private:
  struct Question {
    std::map<u32, sched::CoreStatistics::Words> cores;
    RecordedQuestion asked;
    sched::DecisionAnswered answered{};
    bool is_asked = false, is_about = false;
  };
  struct Session {
    std::string name;
    sched::TunableValues values;
  };
  sched::DecisionAnswered decide(ReplayedPolicy& policy, const Session& session, const Question& question);
  void compare(Compared& compared, u64 number, const Question& question, const sched::DecisionAnswered& here) const;

  const sched::PolicyKind kind_;
  std::map<u16, Question> open_;  // of each core
  std::map<u16, Session*> last_made_;
  std::map<u64, Session> sessions_;  // by the number of their first decision
  std::map<u64, Question> questions_;  // by number
  std::vector<sched::CoreStatistics> cores_ = std::vector<sched::CoreStatistics>(max_cores);
};

}  // namespace corral::sim

// See core_migration.h.
#include "sched/engine/core_migration.h"

#include "sync/interleave.h"

namespace corral::sched {

PullAnswer CoreMigration::look_for_work(Migrator& migrator, const CoreSet& group, Instant now) {
  if (!hungry_) begin_anew();
  hungry_ = true;
  migrator.begin_hunger(here_);
  interleave::point();
  if (awaiting_) return {};
  CoreSet candidates = group.without(refused_);
  candidates.remove(here_);
  const PullAnswer answer = migrator.whom_to_ask({candidates, here_, now, last_asked_});
  if (answer.from == no_core || answer.at > now) return answer;
  last_asked_ = now;
  awaiting_ = true;
  asked_ = true;
  CoreStatistics::count(migrator.counts(here_).asked);
  return answer;
}

void CoreMigration::stop_looking(Migrator& migrator) {
  hungry_ = false;
  migrator.end_hunger(here_);
}

}  // namespace corral::sched

// Threads between cores, as the migration policy says: what kernel/task/migration.cpp does, with its messages as events. See machine.h.
#include <utility>

#include "machine.h"

namespace corral::sim {

using sched::SchedulingEntity;

// The running thread has to go. False: it stays here.
bool Machine::push_elsewhere(CoreState& core, Thread& thread) {
  const CoreId here = core.queue.core();
  CoreSet candidates = groups_.usable(thread.entity, online_);
  candidates.remove(here);
  const CoreId target = migrator_.push_target({thread.entity, candidates, here, now_});
  if (target == sched::no_core) return false;
  sched::CoreStatistics::count(migrator_.counts(here).pushed);
  leave(core, thread, sched::LeaveReason::migrating, State::ready);
  send(thread, target, here, sched::EnqueueReason::migrated);
  return true;
}

void Machine::look_for_work(CoreState& core) {
  if (!migrator_.pulls()) return;
  const CoreId here = core.queue.core();
  const CoreSet group = group_of(false);
  if (!group.contains(here)) {  // nobody of the timeline may come: others are not to look for any
    if (core.migration.hungry()) stop_looking_for_work(core);
    return;
  }
  const sched::PullAnswer answer = core.migration.look_for_work(migrator_, group, now_);
  ++core.ask_generation;
  if (answer.from == sched::no_core) return;
  if (answer.at > now_) return events_.add(answer.at, Event::Kind::ask_again, here.value, core.ask_generation);
  events_.add(now_ + hardware_.message, Event::Kind::request, answer.from.value, here.value);
}

void Machine::stop_looking_for_work(CoreState& core) {
  core.migration.stop_looking(migrator_);
  ++core.ask_generation;
}

void Machine::on_request(CoreState& core, CoreId asker) {
  sched::Migrator::Counts& counts = migrator_.counts(core.queue.core());
  if (give(core, CoreSet::of(asker), true)) return sched::CoreStatistics::count(counts.given);
  sched::CoreStatistics::count(counts.refused);
  events_.add(now_ + hardware_.message, Event::Kind::refusal, asker.value, core.queue.core().value);
}

void Machine::on_refusal(CoreState& core, CoreId from) {
  core.migration.note_refusal(from);
  if (core.queue.running() == nullptr) look_for_work(core);
}

void Machine::offer_spare(CoreState& core) {
  if (!migrator_.somebody_hungry()) return;
  CoreSet hungry = migrator_.hungry();
  hungry.remove(core.queue.core());
  while (!hungry.empty() && give(core, hungry, false))
    sched::CoreStatistics::count(migrator_.counts(core.queue.core()).offered);
}

bool Machine::give(CoreState& core, const CoreSet& targets, bool pulled) {
  const CoreId here = core.queue.core();
  const auto may_go_to = [&](const SchedulingEntity& waiting) { return groups_.usable(waiting, online_); };
  const auto gift = core.migration.choose_gift(migrator_, core.queue, targets, now_, may_go_to);
  if (gift.entity == nullptr) {
    ++core.cool_generation;
    if (gift.cools != never) events_.add(gift.cools, Event::Kind::cooled_down, here.value, core.cool_generation);
    return false;
  }
  take_out(core, *gift.entity);
  Thread::of(*gift.entity).pulled = pulled;
  send(Thread::of(*gift.entity), gift.target, here, sched::EnqueueReason::migrated);
  return true;
}

}  // namespace corral::sim

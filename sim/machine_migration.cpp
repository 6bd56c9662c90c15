// Threads between cores, as the migration policy says: what kernel/task/migration.cpp does, with its messages as events. See machine.h.
#include <algorithm>
#include <utility>

#include "machine.h"

namespace corral::sim {

using sched::SchedulingEntity;

namespace {

constexpr u32 longest_look = 32;  // as in the kernel

CoreId next_after(const CoreSet& set, CoreId core) {
  const CoreId next = set.next(core.value + 1);
  return next.value < max_cores ? next : set.lowest();
}

}  // namespace

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
  if (!core.hungry) core.begin_anew();
  core.hungry = true;
  migrator_.begin_hunger(here);
  if (core.awaiting) return;
  CoreSet candidates = online_.without(core.refused);
  candidates.remove(here);
  const sched::PullAnswer answer = migrator_.whom_to_ask({candidates, here, now_, core.last_asked});
  ++core.ask_generation;
  if (answer.from == sched::no_core) return;
  if (answer.at > now_) return events_.add(answer.at, Event::Kind::ask_again, here.value, core.ask_generation);
  core.last_asked = now_;
  core.awaiting = true;
  core.asked = true;
  sched::CoreStatistics::count(migrator_.counts(here).asked);
  events_.add(now_ + hardware_.message, Event::Kind::request, answer.from.value, here.value);
}

void Machine::stop_looking_for_work(CoreState& core) {
  core.hungry = false;
  migrator_.end_hunger(core.queue.core());
  ++core.ask_generation;
}

void Machine::on_request(CoreState& core, CoreId asker) {
  sched::Migrator::Counts& counts = migrator_.counts(core.queue.core());
  if (give(core, CoreSet::of(asker), true)) return sched::CoreStatistics::count(counts.given);
  sched::CoreStatistics::count(counts.refused);
  events_.add(now_ + hardware_.message, Event::Kind::refusal, asker.value, core.queue.core().value);
}

void Machine::on_refusal(CoreState& core, CoreId from) {
  core.awaiting = false;
  if (core.asked) core.refused.add(from);
  if (core.queue.running() == nullptr) look_for_work(core);
}

void Machine::note_arrival(CoreState& core, Thread& thread) {
  if (std::exchange(thread.pulled, false)) core.awaiting = false;
  if (core.hungry) core.begin_anew();
}

void Machine::offer_spare(CoreState& core) {
  if (!migrator_.somebody_hungry()) return;
  CoreSet hungry = migrator_.hungry();
  hungry.remove(core.queue.core());
  while (!hungry.empty() && give(core, hungry, false))
    sched::CoreStatistics::count(migrator_.counts(core.queue.core()).offered);
}

bool Machine::give(CoreState& core, CoreSet targets, bool pulled) {
  const CoreId here = core.queue.core();
  while (!targets.empty()) {
    const u32 waiting = core.queue.waiting();
    const u32 spare = core.queue.running() == nullptr && waiting != 0 ? waiting - 1 : waiting;
    Instant first_to_cool = never;
    CoreSet possible;
    SchedulingEntity* entity = core.queue.find_from_tail(longest_look, [&](SchedulingEntity& candidate) {
      possible = groups_.usable(candidate, online_) & targets;
      if (possible.empty()) return false;
      const Instant leaves = migrator_.leaves_at({candidate, possible, here, spare, now_});
      if (leaves > now_) first_to_cool = std::min(first_to_cool, leaves);
      return leaves <= now_;
    });
    if (entity == nullptr) {
      ++core.cool_generation;
      if (first_to_cool != never) events_.add(first_to_cool, Event::Kind::cooled_down, here.value, core.cool_generation);
      return false;
    }
    const CoreId target = next_after(possible, here);
    if (statistics(target.value).load() != 0 || !migrator_.claim(target)) {
      targets.remove(target);
      continue;
    }
    core.queue.remove(*entity, now_);
    --waiting_threads_;
    Thread::of(*entity).pulled = pulled;
    send(Thread::of(*entity), target, here, sched::EnqueueReason::migrated);
    return true;
  }
  return false;
}

}  // namespace corral::sim

// Threads of the timeline between cores, as the migration policy says (sched/migration_policy.h). See executive.h. On the way
// out of the kernel or between two threads, interrupts off; not under a lock.
//
// A core that has nothing to run says that it is hungry, and asks the core that its policy names. That one gives it a
// thread (an `arrive` message) or refuses; then the next one is asked. After that the core sleeps, however long: its request
// stands, and a core that comes to have somebody to spare, or whose somebody may go at last, takes it up. So nobody ticks.
#include "task/migration.h"

#include "device/clock.h"
#include "lib/planted.h"
#include "sched/engine/manager.h"
#include "sync/interleave.h"
#include "task/executive.h"

namespace corral {

using sched::MigrationReason;
using sched::SchedulingEntity;

namespace {

// Threads that are looked at, at most, in one go. Those behind them are asked about when something has changed.
constexpr u32 longest_look = 32;

// The member of `set`, which is not empty, that follows `core`, round from the highest to the lowest.
CoreId next_after(const CoreSet& set, CoreId core) {
  const CoreId next = set.next(core.value + 1);
  return next.value < max_cores ? next : set.lowest();
}

}  // namespace

void Migrations::look(TimerEvent&) {
  this_core().attention = true;
}

// ---- push -------------------------------------------------------------------------------------------------------------------

bool Executive::push_elsewhere(Thread& thread) {
  const CoreId here = core_.id();
  CoreSet candidates = scheduling().cores_for(thread.entity);
  if (planted(Plant::mask_ignored_by_push)) candidates = scheduling().usable();
  candidates.remove(here);
  const CoreId target = scheduling().migrator().push_target({thread.entity, candidates, here, clock::now()});
  if (target == sched::no_core) return false;
  sched::CoreStatistics::count(scheduling().migrator().counts(here).pushed);
  core_.scheduler->leave(thread.entity, sched::LeaveReason::migrating);
  scheduling().send(thread.entity, target);
  send_to(thread, target, sched::EnqueueReason::migrated, MigrationReason::pushed);
  return true;
}

// ---- a core that has nothing to run ---------------------------------------------------------------------------------------------

void Executive::look_for_work() {
  sched::Migrator& migrator = scheduling().migrator();
  if (!core_.scheduler->may_be_given() || planted(Plant::group_imbalance)) return;
  const CoreId here = core_.id();
  if (!scheduling().group_of(false).contains(here)) {  // nobody of the timeline may come: others are not to look for any
    if (migrations_.hungry) stop_looking_for_work();
    return;
  }
  if (!migrations_.hungry) migrations_.begin_anew();
  migrations_.hungry = true;
  migrator.begin_hunger(here);
  interleave::point();
  if (migrations_.awaiting) return;
  const Instant now = clock::now();
  CoreSet candidates = scheduling().usable().without(migrations_.refused);
  candidates.remove(here);
  const sched::PullAnswer answer = migrator.whom_to_ask({candidates, here, now, migrations_.last_asked});
  core_.timers().cancel(migrations_.ask_again);
  if (answer.from == sched::no_core) return;
  if (answer.at > now) {
    core_.timers().add(migrations_.ask_again, answer.at);  // Core::sleep() sets the hardware
    return;
  }
  migrations_.last_asked = now;
  migrations_.awaiting = true;
  migrations_.asked = true;
  sched::CoreStatistics::count(migrator.counts(here).asked);
  migrations_.request.message = {MessageType::pull_request, {here.value, 0, 0}};
  core_.outbox().send_to(cores::get(answer.from), migrations_.request);
}

void Executive::stop_looking_for_work() {
  migrations_.hungry = false;
  scheduling().migrator().end_hunger(core_.id());
  core_.timers().cancel(migrations_.ask_again);
}

void Executive::on_pull_refused(Core& core, const Message& message) {
  core.executive->migrations_.note_refusal(CoreId{static_cast<u32>(message.word[0])});
}

// ---- a core that others look at ----------------------------------------------------------------------------------------------

void Executive::on_pull_request(Core& core, const Message& message) {
  const CoreId asker{static_cast<u32>(message.word[0])};
  Executive& executive = *core.executive;
  sched::Migrator::Counts& counts = scheduling().migrator().counts(core.id());
  if (executive.give(CoreSet::of(asker), MigrationReason::pulled)) {
    sched::CoreStatistics::count(counts.given);
    return;
  }
  sched::CoreStatistics::count(counts.refused);
  Circular& refusal = executive.migrations_.refusal;
  core.outbox().send_also(refusal, {MessageType::pull_refused, {core.id().value, 0, 0}}, CoreSet::of(asker));
}

void Executive::offer_spare() {
  interleave::point();
  if (!scheduling().migrator().somebody_hungry() || planted(Plant::overload_on_wake_up)) return;
  CoreSet hungry = scheduling().migrator().hungry();
  hungry.remove(core_.id());
  while (!hungry.empty() && give(hungry, MigrationReason::offered)) {
    sched::CoreStatistics::count(scheduling().migrator().counts(core_.id()).offered);
  }
}

bool Executive::give(CoreSet targets, MigrationReason why) {
  SchedulingManager& manager = scheduling();
  Scheduler& own = *core_.scheduler;
  const CoreId here = core_.id();
  while (!targets.empty()) {
    const Instant now = clock::now();
    const u32 spare = own.spare();
    Instant first_to_cool = never;
    CoreSet possible;
    SchedulingEntity* entity = own.find_from_tail(longest_look, [&](SchedulingEntity& waiting) {
      possible = manager.cores_for(waiting) & targets;
      if (planted(Plant::mask_ignored_by_pull)) possible = targets;
      if (planted(Plant::groups_ignored_by_pull)) possible = waiting.asked & targets;
      if (planted(Plant::group_construction)) possible = possible & CoreSet::first(here.value + 1);
      if (planted(Plant::overload_on_wake_up)) possible = {};
      if (possible.empty()) return false;
      const Instant leaves = manager.migrator().leaves_at({waiting, possible, here, spare, now});
      if (leaves > now && leaves < first_to_cool) first_to_cool = leaves;
      return leaves <= now;
    });
    if (entity == nullptr) {
      if (first_to_cool != never) look_when_cooled_down(first_to_cool);
      return false;
    }
    const CoreId target = next_after(possible, here);
    // Only one core gives to each that asks, and only while nothing has come to it otherwise.
    if (manager.statistics(target).load() != 0 || !manager.migrator().claim(target)) {
      targets.remove(target);
      continue;
    }
    (void)own.remove(*entity);
    manager.send(*entity, target);
    send_to(Thread::of(*entity), target, sched::EnqueueReason::migrated, why);
    return true;
  }
  return false;
}

void Executive::look_when_cooled_down(Instant when) {
  core_.timers().cancel(migrations_.cooled_down);
  core_.timers().add(migrations_.cooled_down, when);
  core_.rearm_timer();
}

}  // namespace corral

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

// Where a thread that waits here may go.
CoreSet cores_for(const SchedulingEntity& waiting, CoreId here) {
  if (planted(Plant::mask_ignored_by_pull)) return CoreSet::all();
  if (planted(Plant::groups_ignored_by_pull)) return waiting.asked;
  if (planted(Plant::group_construction)) return scheduling().cores_for(waiting) & CoreSet::first(here.value + 1);
  if (planted(Plant::overload_on_wake_up)) return {};
  return scheduling().cores_for(waiting);
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
  if (!core_.scheduler->may_be_given() || planted(Plant::group_imbalance)) return;
  const CoreSet group = planted(Plant::groups_ignored_by_pull) ? scheduling().usable() : scheduling().group_of(false);
  if (!group.contains(core_.id())) {  // nobody of the timeline may come: others are not to look for any
    if (migrations_.hungry()) stop_looking_for_work();
    return;
  }
  const Instant now = clock::now();
  const sched::PullAnswer answer = migrations_.look_for_work(scheduling().migrator(), group, now);
  core_.timers().cancel(migrations_.ask_again);
  if (answer.from == sched::no_core) return;
  if (answer.at > now) {
    core_.timers().add(migrations_.ask_again, answer.at);  // Core::sleep() sets the hardware
    return;
  }
  migrations_.request.message = {MessageType::pull_request, {core_.id().value, 0, 0}};
  core_.outbox().send_to(cores::get(answer.from), migrations_.request);
}

void Executive::stop_looking_for_work() {
  migrations_.stop_looking(scheduling().migrator());
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

bool Executive::give(const CoreSet& targets, MigrationReason why) {
  SchedulingManager& manager = scheduling();
  const auto may_go_to = [&](const SchedulingEntity& waiting) { return cores_for(waiting, core_.id()); };
  const auto gift = migrations_.choose_gift(manager.migrator(), *core_.scheduler, targets, clock::now(), may_go_to);
  if (gift.entity == nullptr) {
    if (gift.cools != never) look_when_cooled_down(gift.cools);
    return false;
  }
  (void)core_.scheduler->remove(*gift.entity);
  manager.send(*gift.entity, gift.target);
  send_to(Thread::of(*gift.entity), gift.target, sched::EnqueueReason::migrated, why);
  return true;
}

void Executive::look_when_cooled_down(Instant when) {
  core_.timers().cancel(migrations_.cooled_down);
  core_.timers().add(migrations_.cooled_down, when);
  core_.rearm_timer();
}

}  // namespace corral

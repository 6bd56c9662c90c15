// What a core does when the groups of cores have changed (sched/engine/core_groups.h): everybody who is here gets a new mask, and
// whoever may not stay goes. A message of the core that made the change, between two steps, interrupts off.
#include "task/executive.h"

namespace corral {

void Executive::take_core_groups() {
  Scheduler& own = *core_.scheduler;
  own.for_each_here([&](sched::SchedulingEntity& entity) {
    scheduling().renew_mask(entity);
    if (entity.allowed.contains(core_.id())) return;
    scheduling().count_moved_by_groups();
    send_away_unless_allowed(Thread::of(entity));
  });
  if (current_ != nullptr) {  // it goes when its step is over
    scheduling().renew_mask(current_->entity);
    if (!current_->entity.allowed.contains(core_.id())) scheduling().count_moved_by_groups();
  }
  core_.attention = true;
  // There may be room elsewhere for who waits here, and who could not give this core anything may now.
  own.look_at_real_time();
  migrations_.begin_anew();
  if (own.may_have_to_spare()) offer_spare();
  scheduling().groups_taken();
}

void Executive::on_core_groups(Core& core, const Message&) {
  core.executive->take_core_groups();
}

}  // namespace corral

// Core groups: who may be where, and groups that change while threads run, as kernel/task/core_groups.cpp and
// kernel/sched/engine/manager_groups.cpp do it. See machine.h.
#include "machine.h"

namespace corral::sim {

using sched::SchedulingEntity;

CoreId Machine::place_in_group(Thread& thread, sched::PlacementReason reason, CoreId asker) {
  struct AskedPolicy final : sched::Proposals {
    AskedPolicy(Machine& its, Thread& whose, sched::PlacementReason why, CoreId who)
        : machine{its}, thread{whose}, reason{why}, asker{who} {}
    CoreId among(const CoreSet& candidates) override {
      return machine.placer_.choose(thread.entity, reason, candidates, asker, machine.now_);
    }
    Machine& machine;
    Thread& thread;
    const sched::PlacementReason reason;
    const CoreId asker;
  };
  AskedPolicy policy{*this, thread, reason, asker};
  if (!groups_.settled(thread.entity)) groups_.renew(thread.entity, online_);
  if (groups_.settled(thread.entity)) return policy.among(thread.entity.allowed & online_);
  return groups_.place(thread.entity, policy, online_, asker, now_);
}

bool Machine::turn_away(Thread& thread, CoreId from, sched::EnqueueReason reason) {
  if (groups_.settled(thread.entity)) return false;
  const CoreSet elsewhere = groups_.turn_away(thread.entity, from, online_);
  if (elsewhere.empty()) return false;
  send(thread, placer_.choose(thread.entity, sched::PlacementReason::woken, elsewhere, from, now_), from, reason);
  return true;
}

void Machine::send_where_it_may_be(Thread& thread, CoreId from) {
  const CoreId to = place_in_group(thread, sched::PlacementReason::woken, from);
  send(thread, to, from, sched::EnqueueReason::migrated);
}

// The core has read that the groups have changed.
void Machine::take_groups(CoreState& core) {
  const CoreId here = core.queue.core();
  std::vector<SchedulingEntity*> leaving;
  core.queue.for_each_here([&](SchedulingEntity& entity) {
    groups_.renew(entity, online_);
    if (!entity.allowed.contains(here)) leaving.push_back(&entity);
  });
  for (SchedulingEntity* entity : leaving) {
    groups_.count_moved();
    take_out(core, *entity);
    send_where_it_may_be(Thread::of(*entity), here);
  }
  if (SchedulingEntity* const running = core.queue.running(); running != nullptr) {
    groups_.renew(*running, online_);
    if (!running->allowed.contains(here)) groups_.count_moved();
    progress(core);
  }
  core.queue.look_at_real_time();
  core.migration.begin_anew();
  groups_.taken(here);
  settle(core);
  balance_real_time(core);
}

// An interval of a dynamic ratio has passed. The message to the cores is core 0's.
void Machine::adapt_groups() {
  const auto loads = [&] { return groups_.loads(placer_.all_statistics(), online_, global_.waiting(), now_); };
  if (!demand_begun_) {
    demand_.begin(loads(), now_);
    demand_begun_ = true;
  } else if (const u32 share = groups_.next_share(demand_, loads(), online_, 0, now_); share != 0) {
    groups_.resize(online_, share);
    demand_.regroup(loads());
    online_.for_each([&](CoreId core) {
      events_.add(now_ + (core.value == 0 ? Duration{} : hardware_.message), Event::Kind::groups, core.value);
    });
  }
  if (!events_.empty()) watch_demand();  // else nothing will ever happen again
}

void Machine::watch_demand() {
  events_.add(now_ + groups_.configuration().values.time(sched::GroupTunables::interval), Event::Kind::adapt, 0);
}

}  // namespace corral::sim

// Threads and the global queue, while there is one: what kernel/task/global_queue.cpp does. See machine.h.
#include <algorithm>

#include "machine.h"

namespace corral::sim {

using sched::EnqueueReason;
using sched::GlobalQueue;
using sched::SchedulingEntity;

bool Machine::waits_globally(Thread& thread) const {
  return global_.in_use() && thread.entity.real_time == 0 && groups_.may_use_whole_group(thread.entity, online_);
}

bool Machine::takes_from_global(CoreId core) const {
  return group_of(false).contains(core);
}

// The core takes the lock of this list, after those who came before it and after what it does already.
void Machine::hold_list(CoreState& core, u32 number) {
  List& list = lists_[number];
  const Instant begin = std::max(now_, core.has_locks_until);
  const Instant taken = std::max(begin, list.free);
  ++list.taken;
  if (taken > begin) ++list.found_taken;
  list.waited = list.waited + (taken - begin);
  core.has_locks_until = list.free = taken + hardware_.queue_lock;
}

// The time that the core has with locks is the running thread's, whose step it is; between two threads it is the core's own.
void Machine::charge_locks(CoreState& core) {
  const Instant from = std::max(now_, core.locks_charged_until);
  if (core.has_locks_until <= from) return;
  const Duration took = core.has_locks_until - from;
  core.locks_charged_until = core.has_locks_until;
  if (SchedulingEntity* const running = core.queue.running(); running != nullptr) {
    Thread::of(*running).overhead = Thread::of(*running).overhead + took;
  } else if (!statistics(core.queue.core().value).idle()) {
    core.busy = core.busy + took;
  }
}

// The thread, in no queue, waits there from now on; `asker` puts it in.
void Machine::enter_global(Thread& thread, EnqueueReason reason, CoreId asker) {
  SchedulingEntity& entity = thread.entity;
  CoreState& core = *cores_[asker.value];
  sched::Turns::begin_wait(entity, now_);
  global_.put(entity, reason, hardware_.tick, [](SchedulingEntity&) {});
  ++waiting_threads_;
  hold_list(core, entity.global_list.load(Order::relaxed) - 1u);
  const bool looks = core.settling || &core == stepping_;  // when it has done with this
  if (!looks) charge_locks(core);
  const CoreId told = global_.whom_to_tell(GlobalQueue::level_of(entity), entity.last_core, group_of(false));
  if (told == sched::no_core) return;
  if (told == asker && looks) {
    core.reschedule_wanted = true;
    return;
  }
  const Duration way = told == asker ? Duration{} : way_to(told);
  events_.add(std::max(now_, core.has_locks_until) + way, Event::Kind::reschedule, told.value);
}

// Before `core`, which runs nobody, picks.
void Machine::invite_guest(CoreState& core) {
  const CoreId here = core.queue.core();
  if (global_.waiting() == 0 || !core.global_turn.wants_guest(core.queue.real_time_waiting() != 0, now_)) return;
  if (!takes_from_global(here)) return;
  u32 list = 0;
  SchedulingEntity* const guest =
      global_.take([&](SchedulingEntity& taken) { list = taken.global_list.load(Order::relaxed) - 1u; });
  if (guest == nullptr) return;
  hold_list(core, list);
  --waiting_threads_;
  core.queue.end_wait(*guest, now_);
  placer_.assign(*guest, here, here);
  if (enqueue(Thread::of(*guest), here, EnqueueReason::migrated)) core.global_turn.note_guest(*guest);
}

void Machine::begin_global_turn(CoreState& core, Thread& thread) {
  const CoreId here = core.queue.core();
  global_.end_idle(here);
  global_.note_running(here, waits_globally(thread) ? GlobalQueue::level_of(thread.entity) : GlobalQueue::above_all);
  core.global_turn.begin(global_, thread.entity, now_);
  core.until = limited(core, core.until);
  offer_guest(core);
}

void Machine::offer_guest(CoreState& core) {
  const CoreId here = core.queue.core();
  SchedulingEntity* const guest = core.global_turn.guest();
  if (guest == nullptr) return global_.end_hosting(here);
  if (!global_.begin_hosting(here, group_of(false)) || !waits_globally(Thread::of(*guest))) return;
  global_.end_hosting(here);
  take_out(core, *guest);
  enter_global(Thread::of(*guest), EnqueueReason::preempted, here);
}

bool Machine::may_be_idle(CoreId core) {
  global_.end_hosting(core);
  if (!takes_from_global(core)) return true;
  if (!global_.begin_idle(core)) return false;
  const CoreId host = global_.host_to_tell(group_of(false));
  if (host != sched::no_core) events_.add(now_ + way_to(host), Event::Kind::reschedule, host.value);
  return true;
}

}  // namespace corral::sim

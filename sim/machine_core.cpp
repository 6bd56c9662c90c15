// One core: who runs on it, what that costs, and who is next. See machine.h.
#include <algorithm>
#include <utility>

#include "machine.h"

namespace corral::sim {

namespace {

// `work` on a core of `capacity`, in time; rounded up, so that it is done when the time has passed.
Duration time_for(Duration work, u32 capacity) {
  return {(work.ns * Hardware::full_capacity + capacity - 1) / capacity};
}

}  // namespace

// What the running thread has done since it was looked at last.
void Machine::progress(CoreState& core) {
  Thread& thread = Thread::of(*core.queue.running());
  Duration passed = now_ - thread.progress_until;
  thread.progress_until = now_;
  core.busy = core.busy + passed;
  const Duration for_overhead = std::min(passed, thread.overhead);
  thread.overhead = thread.overhead - for_overhead;
  passed = passed - for_overhead;
  const u32 capacity = thread.by_time ? Hardware::full_capacity : hardware_.capacity_of(core.queue.core());
  const Duration done{passed.ns * capacity / Hardware::full_capacity};
  thread.work = thread.work - std::min(done, thread.work);
}

void Machine::begin_to_run(CoreState& core, Thread& thread) {
  thread.waited = thread.waited + (now_ - thread.ready_since);
  if (thread.waking) {
    const Duration delay = now_ - thread.ready_since;
    thread.slowest_wake = std::max(thread.slowest_wake, delay);
    thread.wake_sum = thread.wake_sum + delay;
    ++thread.wakes;
    thread.waking = false;
  }
  const CoreId here = core.queue.core();
  cores_of_task_[static_cast<size_t>(thread.task - workload_.tasks.data())].add(here);
  // RunQueue::pick() has made this its last core by now; where it ran before is kept here.
  const bool moved = thread.has_place && thread.place_before != here;
  if (core.last != &thread) {
    thread.overhead = thread.overhead + hardware_.switch_cost;
    Duration refill{};
    if (moved) {
      ++thread.moves;
      refill = hardware_.share_cache(thread.place_before, here) ? hardware_.refill_in_cluster : hardware_.refill;
    } else if (thread.has_place) {
      const Duration away = now_ - thread.left;
      refill = away >= hardware_.warm ? hardware_.refill_in_cluster
                                      : Duration{hardware_.refill_in_cluster.ns * away.ns / hardware_.warm.ns};
    }
    if (!has_memory(thread)) thread.overhead = thread.overhead + refill;
  }
  if (has_memory(thread)) fetch(core, thread);
  thread.has_place = true;
  thread.place_before = here;
  thread.progress_until = now_;
  thread.state = State::running;
  core.last = &thread;
}

// After anything that changed `core`: the right thread runs, and its next event is in the queue. What this leads to on other
// cores may come back to this one, which then looks once more.
void Machine::settle(CoreState& core) {
  core.changed = true;
  if (core.settling) return;
  core.settling = true;
  while (std::exchange(core.changed, false)) settle_once(core);
  core.settling = false;
}

void Machine::settle_once(CoreState& core) {
  sched::SchedulingEntity* const before = core.queue.running();
  const bool goes =
      before != nullptr && (core.until <= now_ || core.reschedule_wanted || !before->allowed.contains(core.queue.core()));
  if (goes) give_way(core, Thread::of(*before), false);
  Thread* const running = before == nullptr || goes ? pick(core) : &Thread::of(*before);
  ++core.generation;
  charge_locks(core);
  const bool waits_for_lock = running == nullptr && core.has_locks_until > now_;
  count_idle(core, running == nullptr && !waits_for_lock);
  if (waits_for_lock) return events_.add(core.has_locks_until, Event::Kind::core, core.queue.core().value, core.generation);
  if (running == nullptr) return look_for_work(core);
  if (core.migration.hungry()) stop_looking_for_work(core);
  const u32 capacity = running->by_time ? Hardware::full_capacity : hardware_.capacity_of(core.queue.core());
  const Instant done = now_ + running->overhead + time_for(running->work, capacity);
  events_.add(std::min(done, core.until), Event::Kind::core, core.queue.core().value, core.generation);
  if (migrator_.pulls() && core.queue.waiting() != 0) offer_spare(core);
}

void Machine::count_idle(CoreState& core, bool idle) {
  if (core.idle == idle) return;
  core.idle = idle;
  idle ? ++idle_cores_ : --idle_cores_;
}

// As Executive::preempt_current().
void Machine::give_way(CoreState& core, Thread& thread, bool yields) {
  const CoreId here = core.queue.core();
  if (!thread.entity.allowed.contains(here)) {
    leave(core, thread, sched::LeaveReason::migrating, State::ready);
    send_where_it_may_be(thread, here);
  } else if (waits_globally(thread)) {
    leave(core, thread, sched::LeaveReason::migrating, State::ready);
    enter_global(thread, yields ? sched::EnqueueReason::yielded : sched::EnqueueReason::preempted, here);
  } else if (yields || !migrator_.pushes() || !push_elsewhere(core, thread)) {
    ++waiting_threads_;
    leave(core, thread, yields ? sched::LeaveReason::yielded : sched::LeaveReason::preempted, State::ready);
  }
}

Thread* Machine::pick(CoreState& core) {
  const CoreId here = core.queue.core();
  for (;;) {
    if (core.has_locks_until <= now_) invite_guest(core);
    if (core.has_locks_until > now_) return nullptr;
    ++decisions_;
    const sched::Decision decision = core.queue.pick(now_);
    core.reschedule_wanted = false;
    if (core.global_turn.any()) core.global_turn.end(decision.entity);
    core.until = never;
    if (decision.entity != nullptr) {
      core.until = std::max(decision.until, now_ + sched::RunQueue::shortest_turn(hardware_.tick));
      Thread& thread = Thread::of(*decision.entity);
      --waiting_threads_;
      if (global_.in_use()) begin_global_turn(core, thread);
      begin_to_run(core, thread);
      return &thread;
    }
    if (!global_.in_use() || may_be_idle(here)) return nullptr;
  }
}

void Machine::leave(CoreState& core, Thread& thread, sched::LeaveReason reason, State state) {
  thread.state = state;
  thread.left = now_;
  if (state == State::ready) thread.ready_since = now_;
  if (has_memory(thread)) count(core, thread);
  core.queue.leave(thread.entity, reason, now_);
}

// As Scheduler::on_timer(): a turn is over, or as long as it may be without being looked at.
void Machine::look_for_starving(CoreState& core) {
  if (now_ - core.starving_looked_for < hardware_.tick) return;
  core.starving_looked_for = now_;
  core.queue.charge(now_);
  core.queue.look_for_starving(now_);
}

void Machine::core_event(CoreState& core) {
  sched::SchedulingEntity* running = core.queue.running();
  if (running == nullptr) return settle(core);  // it has waited for a lock
  progress(core);
  Thread& thread = Thread::of(*running);
  if (thread.overhead.ns == 0 && thread.work.ns == 0) {
    stepping_ = &core;
    work_is_done(core, thread);
    stepping_ = nullptr;
  } else {
    look_for_starving(core);
    core.until = limited(core, core.queue.review(now_));
  }
  settle(core);
  if (core.queue.real_time_changed()) balance_real_time(core);
}

void Machine::work_is_done(CoreState& core, Thread& thread) {
  core.queue.charge(now_);
  switch (advance(thread, core.queue.core())) {
    case Next::computes: core.until = limited(core, core.queue.review(now_)); break;
    case Next::sleeps: leave(core, thread, sched::LeaveReason::blocked, State::sleeping); break;
    case Next::waits: leave(core, thread, sched::LeaveReason::blocked, thread.state); break;
    case Next::yields: give_way(core, thread, true); break;
    case Next::ends:
      leave(core, thread, sched::LeaveReason::ended, State::ended);
      core.last = nullptr;
      thread.ended = now_;
      --alive_;
      break;
  }
}

// As kernel/task/real_time_balance.cpp: the highest that wait go where they run at once, as far as there are such cores.
void Machine::balance_real_time(CoreState& changed) {
  changed.queue.real_time_looked_at();
  for (auto& core : cores_) {
    if (core->queue.real_time_waiting() == 0) continue;
    for (;;) {
      CoreId target{max_cores};
      sched::SchedulingEntity* entity = core->queue.find_real_time([&](sched::SchedulingEntity& waiting) {
        CoreSet others = groups_.usable(waiting, online_);
        others.remove(core->queue.core());
        target = placer_.lowest_below(waiting, others);
        return target.value < max_cores;
      });
      if (entity == nullptr) break;
      take_out(*core, *entity);
      send(Thread::of(*entity), target, core->queue.core(), sched::EnqueueReason::migrated);
    }
    core->queue.real_time_looked_at();
  }
}

}  // namespace corral::sim

// Cores, queues and places. See machine.h.
#include "machine.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace corral::sim {

namespace {

Random random_numbers{1};

u64 next_random() {
  return random_numbers.next();
}

constexpr u64 most_at_once = 50'000'000;  // events at the same time

// `work` on a core of `capacity`, in time; rounded up, so that it is done when the time has passed.
Duration time_for(Duration work, u32 capacity) {
  return {(work.ns * Hardware::full_capacity + capacity - 1) / capacity};
}

}  // namespace

Machine::Machine(const Experiment& experiment, const PolicyNames& names, u64 seed)
    : workload_{experiment.workload},
      hardware_{experiment.hardware},
      policies_{names, hardware_.cores, hardware_.tick, next_random},
      placer_{policies_.placer()},
      migrator_{policies_.migrator()},
      online_{CoreSet::first(hardware_.cores)},
      locks_(workload_.locks.size()),
      meetings_(workload_.barriers.size()) {
  random_numbers = Random{seed};
  placer_.expect_cores(hardware_.cores);
  for (u32 i = 0; i < hardware_.cores; ++i) {
    sched::CoreStatistics& published = placer_.statistics(CoreId{i});
    published.begin_idle(now_);
    cores_.push_back(std::make_unique<CoreState>(CoreId{i}, published, hardware_.tick));
    cores_.back()->queue.install(policies_.algorithm(CoreId{i}), now_);
  }
  idle_cores_ = hardware_.cores;
  global_.set_in_use(global_queue_named(names.queues));
  if (global_.in_use()) online_.for_each([&](CoreId core) { static_cast<void>(global_.begin_idle(core)); });
  if (const Partition partition{names.groups, hardware_.cores, hardware_.tick}; partition.real_time != 0) {
    groups_.begin(partition.configuration, online_, partition.real_time);
    online_.for_each([&](CoreId core) { groups_.taken(core); });
    if (partition.configuration.dynamic()) watch_demand();
  }
  cores_of_task_.resize(workload_.tasks.size());
  make_threads();
}

// All are made by a thread of core 0 that itself needs no time.
void Machine::make_threads() {
  for (u32 number = 0; number < workload_.tasks.size(); ++number) {
    const Task& task = workload_.tasks[number];
    if ((task.allowed & online_).empty()) throw std::invalid_argument{"tasks." + task.name + ".cpus: none of them is there"};
    const size_t first = threads_.size();
    for (u32 i = 0; i < task.instances; ++i) {
      Thread& thread = threads_.emplace_back();
      thread.task = &task;
      thread.number = static_cast<u32>(threads_.size() - 1);
      thread.entity.nice = task.nice;
      thread.entity.weight = sched::weight_of(task.nice, task.policy);
      thread.entity.policy = task.policy;
      thread.entity.real_time = static_cast<u8>(task.priority);
      thread.entity.asked = task.allowed;
      groups_.renew(thread.entity, online_);
      events_.add(now_ + task.delay, Event::Kind::wake, static_cast<u32>(threads_.size() - 1));
    }
    threads_of_task_.emplace_back(first, threads_.size());
  }
  alive_ = threads_.size();
}

void Machine::run() {
  const Instant end = now_ + workload_.limit;
  while (alive_ != 0 && !events_.empty() && events_.first() <= end) {
    const Event event = events_.take();
    if (event.kind == Event::Kind::core && event.detail != cores_[event.subject]->generation) continue;
    account_waste(event.when);
    if (event.when == now_ && ++events_now_ == most_at_once) {
      throw std::runtime_error{"the machine is busy without end at " + std::to_string(now_.ns) +
                               " ns: threads that yield or wake each other, and never compute or sleep"};
    }
    if (event.when != now_) events_now_ = 0;
    now_ = event.when;
    handle(event);
  }
  if (alive_ != 0 && now_ < end && !events_.empty()) {
    account_waste(end);
    now_ = end;
  }
  for (auto& core : cores_) {
    if (core->queue.running() != nullptr) progress(*core);
    core->queue.charge(now_);
  }
}

void Machine::account_waste(Instant until) {
  const u64 wasted = std::min(idle_cores_, waiting_threads_);
  wasted_ = wasted_ + Duration{static_cast<i64>(wasted) * (until - now_).ns};
}

void Machine::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::core: return core_event(*cores_[event.subject]);
    case Event::Kind::wake: {
      Thread& thread = threads_[event.subject];
      return wake(thread, thread.state == State::unborn ? CoreId{0} : thread.entity.last_core);
    }
    case Event::Kind::arrival: return arrive(threads_[event.subject], static_cast<sched::EnqueueReason>(event.detail));
    case Event::Kind::request: return on_request(*cores_[event.subject], CoreId{event.detail});
    case Event::Kind::refusal: return on_refusal(*cores_[event.subject], CoreId{event.detail});
    case Event::Kind::ask_again: {
      CoreState& core = *cores_[event.subject];
      if (event.detail == core.ask_generation && core.queue.running() == nullptr) look_for_work(core);
      return;
    }
    case Event::Kind::cooled_down: {
      CoreState& core = *cores_[event.subject];
      if (event.detail == core.cool_generation && core.queue.waiting() != 0) offer_spare(core);
      return;
    }
    case Event::Kind::reschedule: {
      CoreState& core = *cores_[event.subject];
      core.reschedule_wanted = true;
      if (core.queue.running() != nullptr) progress(core);
      return settle(core);
    }
    case Event::Kind::groups: return take_groups(*cores_[event.subject]);
    case Event::Kind::adapt: return adapt_groups();
  }
}

// Its program goes on when it runs.
void Machine::wake(Thread& thread, CoreId asker) {
  const bool created = thread.state == State::unborn;
  if (created) thread.began = thread.period_begin = now_;
  thread.waking = !created;
  place(thread, created ? sched::PlacementReason::created : sched::PlacementReason::woken, asker);
}

void Machine::place(Thread& thread, sched::PlacementReason reason, CoreId asker) {
  thread.state = State::ready;
  thread.ready_since = now_;
  const bool created = reason == sched::PlacementReason::created;
  const auto why = created ? sched::EnqueueReason::created : sched::EnqueueReason::woken;
  if (waits_globally(thread)) return enter_global(thread, why, asker);
  ++placements_;
  send(thread, place_in_group(thread, reason, asker), asker, why);
}

Duration Machine::way_to(CoreId core) const {
  const bool sleeps = cores_[core.value]->queue.running() == nullptr;
  return hardware_.message + (sleeps ? hardware_.idle_exit : Duration{});
}

void Machine::send(Thread& thread, CoreId to, CoreId from, sched::EnqueueReason reason) {
  placer_.assign(thread.entity, to, from);
  if (to == from) return static_cast<void>(enqueue(thread, to, reason));
  const Duration way = way_to(to);
  if (way.ns == 0) return arrive(thread, reason);
  events_.add(now_ + way, Event::Kind::arrival, thread.number, static_cast<u32>(reason));
}

void Machine::arrive(Thread& thread, sched::EnqueueReason reason) {
  const CoreId to = thread.entity.home;
  cores_[to.value]->migration.note_arrival(std::exchange(thread.pulled, false));
  enqueue(thread, to, reason);
}

bool Machine::enqueue(Thread& thread, CoreId to, sched::EnqueueReason reason) {
  CoreState& core = *cores_[to.value];
  if (turn_away(thread, to, reason)) return false;
  if (core.queue.running() != nullptr) progress(core);
  ++waiting_threads_;
  core.until = limited(core, core.queue.enqueue(thread.entity, reason, now_));
  if (&core == stepping_) return true;  // its thread is between two actions: the core looks when that is over
  settle(core);
  if (core.queue.real_time_changed()) balance_real_time(core);
  return true;
}

void Machine::take_out(CoreState& core, sched::SchedulingEntity& waiting) {
  core.global_turn.forget(waiting);
  core.queue.remove(waiting, now_);
  --waiting_threads_;
}

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
  const bool goes = before != nullptr && (core.until <= now_ || core.reschedule_wanted ||
                                          !before->allowed.contains(core.queue.core()));
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
    if (!global_.in_use() || !takes_from_global(here) || global_.begin_idle(here)) return nullptr;
  }
}

void Machine::leave(CoreState& core, Thread& thread, sched::LeaveReason reason, State state) {
  thread.state = state;
  thread.left = now_;
  if (state == State::ready) thread.ready_since = now_;
  if (has_memory(thread)) count(core, thread);
  core.queue.leave(thread.entity, reason, now_);
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

u64 Machine::violations() const {
  u64 sum = placer_.policies().violations() + migrator_.policies().violations();
  for (const auto& core : cores_) sum += core->queue.violations().total();
  return sum;
}

}  // namespace corral::sim

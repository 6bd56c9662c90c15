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

}  // namespace

Machine::Machine(const Experiment& experiment, const PolicyNames& names, u64 seed)
    : workload_{experiment.workload},
      hardware_{experiment.hardware},
      policies_{names, hardware_.cores, hardware_.tick, next_random},
      placer_{policies_.placer()},
      migrator_{policies_.migrator()},
      online_{CoreSet::first(hardware_.cores)},
      locks_(workload_.locks.size()),
      semaphores_(workload_.semaphores.size()),
      meetings_(workload_.barriers.size()),
      threads_of_task_(workload_.tasks.size()) {
  random_numbers = Random{seed};
  placer_.expect_cores(hardware_.cores);
  for (u32 i = 0; i < hardware_.cores; ++i) {
    sched::CoreStatistics& published = placer_.statistics(CoreId{i});
    published.begin_idle(now_);
    cores_.push_back(std::make_unique<CoreState>(CoreId{i}, published, hardware_.tick));
    policies_.install(cores_.back()->queue, now_);
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

Thread& Machine::make_thread(u32 number) {
  const Task& task = workload_.tasks[number];
  Thread& thread = threads_.emplace_back();
  thread.task = &task;
  thread.number = static_cast<u32>(threads_.size() - 1);
  thread.entity.nice = task.nice;
  thread.entity.weight = sched::weight_of(task.nice, task.policy);
  thread.entity.policy = task.policy;
  thread.entity.real_time = static_cast<u8>(task.priority);
  thread.entity.asked = task.allowed;
  groups_.renew(thread.entity, online_);
  threads_of_task_[number].push_back(&thread);
  ++alive_;
  return thread;
}

// Those that are there from the beginning are made by a thread of core 0 that itself needs no time.
void Machine::make_threads() {
  for (u32 number = 0; number < workload_.tasks.size(); ++number) {
    const Task& task = workload_.tasks[number];
    if ((task.allowed & online_).empty()) throw std::invalid_argument{"tasks." + task.name + ".cpus: none of them is there"};
    for (u32 i = 0; i < task.instances; ++i) events_.add(now_ + task.delay, Event::Kind::wake, make_thread(number).number);
  }
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
      return wake(thread, thread.state == State::unborn ? CoreId{0} : thread.entity.last_core, true);
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
void Machine::wake(Thread& thread, CoreId asker, bool by_interrupt) {
  const bool created = thread.state == State::unborn;
  if (created) thread.began = thread.period_begin = now_;
  thread.waking = !created;
  thread.entity.woken_by_interrupt = by_interrupt;
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

u64 Machine::violations() const {
  u64 sum = placer_.policies().violations() + migrator_.policies().violations();
  for (const auto& core : cores_) sum += core->queue.violations().total();
  return sum;
}

}  // namespace corral::sim

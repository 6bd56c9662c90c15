// The run queue's checks of its own state: docs/checker.md says what each invariant is. What is checked at every decision stands
// there, as a comparison whose other side is here; what adds up over decisions is checked on the tick and before the core sleeps,
// and is as exact: what was lost once is missing for ever.
#include <algorithm>

#include "sched/engine/run_queue.h"

namespace corral::sched {

namespace {

using invariants::During;
using invariants::Invariant;

// Of those that wait, that a tick looks at.
constexpr u32 most_looked_at = 32;

}  // namespace

void RunQueue::violated(Invariant invariant, During during, const SchedulingEntity* entity) {
  if (listener_ == nullptr) return;
  listener_->violated({invariant, during, core_, entity != nullptr ? entity->number : 0, decision_count_});
}

void RunQueue::check(During during, Instant now) {
  check_time(during, now);
  check_list(during);
  if (published_.runnable() != waiting_count_ + (running_ != nullptr ? 1 : 0)) violated(Invariant::numbers, during, running_);
  if (has_real_time_ || published_.urgency() != 0) {
    const u64 running = running_ != nullptr ? running_->urgency() : 0;
    const u64 waiting = real_time_.highest_urgency();
    if (published_.urgency() != (running > waiting ? running : waiting)) violated(Invariant::numbers, during, running_);
  }
}

// All that wait, where they are few; else the first ones.
void RunQueue::check_list(During during) {
  u32 seen = 0;
  u64 weight = running_ != nullptr ? running_->weight : 0;
  SchedulingEntity* entity = waiting_.front();
  for (; entity != nullptr && seen < most_looked_at; entity = waiting_.next(*entity), ++seen) {
    if (!waits_here(*entity)) return violated(Invariant::one_place, during, entity);
    if (!entity->engine_link.in_place()) return violated(Invariant::one_queue, during, entity);
    if (during == During::sleep && entity->allowed.contains(core_)) return violated(Invariant::idle_with_work, during, entity);
    weight += entity->weight;
  }
  if (entity != nullptr) return;
  if (seen != waiting_count_) {
    violated(Invariant::one_queue, during, running_);
  } else if (weight != weight_) {
    violated(Invariant::numbers, during, running_);
  }
}

// All of the core's time was somebody's turn, or idle, or between two turns.
void RunQueue::check_time(During during, Instant now) {
  const Instant until = published_.idle() ? now : charged_until_;
  const Duration known = starvation_.clock() + real_time_run_ + between_ + published_.idle_time(now);
  const Instant from = until - known;
  if (from != accounted_from_ && accounted_from_ != never) violated(Invariant::time, during, running_);
  accounted_from_ = from;
}

void RunQueue::note_spent(SchedulingEntity& entity, Duration used) {
  if (entity.spent_until != entity.server.due()) {
    entity.spent_until = entity.server.due();
    entity.spent = {};
  }
  entity.spent = entity.spent + used;
}

bool RunQueue::has_overspent(const SchedulingEntity& entity) {
  return entity.has_deadline() && entity.spent_until == entity.server.due() &&
         entity.spent >= entity.server.reservation().runtime;
}

void RunQueue::note_real_time(Duration used, Instant now) {
  const Duration period = budget_.period();
  if (period == Duration{}) return;  // nobody has asked for the budget yet
  const Instant begin{now.ns - now.ns % period.ns};
  if (begin != real_time_period_ || period != real_time_period_length_) {
    real_time_period_ = begin;
    real_time_period_length_ = period;
    real_time_used_ = {};
  }
  real_time_used_ = std::min(real_time_used_ + used, now - begin);
}

void RunQueue::check_class(During during, const SchedulingEntity& entity, Instant now) {
  const Duration runtime = budget_.runtime();
  if (runtime < Duration{} || runtime >= budget_.period()) return;  // no limit
  note_real_time({}, now);
  const bool used_up = real_time_used_ >= runtime;
  if ((entity.real_time != 0) == used_up) violated(Invariant::real_time_budget, during, &entity);
}

}  // namespace corral::sched

// RunQueue's calls of its algorithm: each guarded, each answer looked at. What happens when one is wrong is in run_queue_guards.cpp.
// Inline, since a guard changes every register: what a function has saved once serves all its calls. For run_queue*.cpp alone.
#pragma once

#include "lib/planted.h"
#include "sched/engine/run_queue.h"

namespace corral::sched {

namespace guards {

// The answer of a pick with what is wrong with it in the lowest bits of the entity's address.
inline constexpr u64 tag_not_waiting = 1;
inline constexpr u64 tag_kept = 2;
inline constexpr u64 tags = tag_not_waiting | tag_kept;
Decision pick_and_look(SchedulingAlgorithm& algorithm, Instant now, CoreId core);

inline void set_charged(SchedulingEntity& entity, Instant until) {
  __atomic_store_n(&entity.charged.ns, until.ns, __ATOMIC_RELEASE);
}

inline bool in_some_queue(const SchedulingEntity& entity) {
  return entity.queue_link.linked() || entity.tree_link.linked();
}

}  // namespace guards

[[gnu::always_inline]] inline void RunQueue::tell_enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  // It is in the engine's list already: when the call fails the safe timeline has it.
  if (!arch::call_guarded<&SchedulingAlgorithm::enqueue>(*algorithm_, entity, reason, now)) [[unlikely]]
    fall_back_from(PolicyCall::enqueue, now);
}

[[gnu::always_inline]] inline void RunQueue::tell_dequeue(SchedulingEntity& entity, Instant now) {
  const bool came_back = arch::call_guarded<&SchedulingAlgorithm::dequeue>(*algorithm_, entity, now);
  if (!came_back || guards::in_some_queue(entity)) [[unlikely]]
    dequeue_safely(entity, came_back, now);
}

[[gnu::always_inline]] inline void RunQueue::tell_charge(SchedulingEntity& running, Duration used, Instant now) {
  if (!arch::call_guarded<&SchedulingAlgorithm::charge>(*algorithm_, running, used, now)) [[unlikely]]
    fall_back_from(PolicyCall::charge, now);
}

[[gnu::always_inline]] inline void RunQueue::tell_depart(SchedulingEntity& entity, Instant now) {
  const bool came_back = !departs_ || arch::call_guarded<&SchedulingAlgorithm::depart>(*algorithm_, entity, now);
  if (!came_back || guards::in_some_queue(entity)) [[unlikely]]
    depart_safely(entity, came_back, now);
}

[[gnu::always_inline]] inline Instant RunQueue::ask_review(Instant now) {
  Instant until;
  if (!arch::ask_guarded<&SchedulingAlgorithm::review>(until, *algorithm_, *running_, now)) [[unlikely]]
    return review_safely(now);
  return looked_at_until(until, waiting_count_, now);
}

[[gnu::always_inline]] inline Decision RunQueue::ask_pick(Instant now) {
  Decision decision;
  const bool came_back = arch::ask_guarded(decision, guards::pick_and_look, *algorithm_, now, core_);
  if (!came_back || (reinterpret_cast<u64>(decision.entity) & guards::tags) != 0 || decision.until <= now) [[unlikely]]
    return pick_safely(decision, came_back, now);
  decision.until = looked_at_until(decision.until, waiting_count_ - 1, now);
  return decision;
}

[[gnu::always_inline]] inline Decision RunQueue::pick_timeline(Instant now) {
  const Decision decision = ask_pick(now);
  if (decision.entity == nullptr && timeline_waiting() != 0) [[unlikely]]
    return pick_withheld(now);
  return decision;
}

// ---- charge() and review(), as what follows has them -------------------------------------------------------------------------

[[gnu::always_inline]] inline void RunQueue::charge_now(Instant now) {
  if (running_ == nullptr || now <= charged_until_) return;
  const Duration used = now - charged_until_;
  charged_until_ = now;
  guards::set_charged(*running_, never);
  __atomic_store_n(&running_->run_time.ns, running_->run_time.ns + used.ns, __ATOMIC_RELEASE);
  guards::set_charged(*running_, now);
  if (planted_now_and_then(Plant::time_of_turns_lost, 100)) return;
  if (running_->real_time == 0) [[likely]] {
    starvation_.charge(used);
    tell_charge(*running_, used, now);
  } else {
    real_time_run_ = real_time_run_ + used;
    if (running_->has_deadline()) note_spent(*running_, used);
    if (!planted(Plant::reservation_unlimited)) real_time_.charge(*running_, used);
    if (!planted(Plant::real_time_without_budget)) budget_.charge(used, now);
    note_real_time(used, now);
  }
}

[[gnu::always_inline]] inline Instant RunQueue::review_charged(Instant now) {
  if (running_ == nullptr) return waiting_count_ == 0 ? never : now;
  if (has_real_time_) [[unlikely]]
    return review_real_time(now);
  return ask_review(now);
}

[[gnu::always_inline]] inline void RunQueue::put_now(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  if (entity.has_deadline() && must_rest(entity, reason, now)) [[unlikely]]
    return put_to_rest(entity);
  if (entity.engine_link.linked()) [[unlikely]] {
    violated(invariants::Invariant::one_queue, invariants::During::enqueue, &entity);
    waiting_.remove(entity);
  }
  entity.place = Place::queued;
  entity.home = core_;
  waiting_.push_back(entity);
  ++waiting_count_;
  weight_ += entity.weight;
  Turns::begin_wait(entity, now);
  enter_class(entity, reason, now);
}

[[gnu::always_inline]] inline void RunQueue::enter_class(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  if (entity.real_time == 0) [[likely]] {
    entity.waits_since = starvation_.clock();
    tell_enqueue(entity, reason, now);
  } else {
    has_real_time_ = true;
    real_time_.enqueue(entity, reason);
  }
}

}  // namespace corral::sched

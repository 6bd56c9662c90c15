#include "sched/engine/run_queue.h"

namespace corral::sched {

namespace {

void count(Atomic<u64>& counter) {
  CoreStatistics::count(counter);
}

void set_charged(SchedulingEntity& entity, Instant until) {
  __atomic_store_n(&entity.charged.ns, until.ns, __ATOMIC_RELEASE);
}

}  // namespace

void RunQueue::publish() {
  published_.publish(waiting_count_ + (running_ != nullptr ? 1 : 0), arrived_);
  published_.load_weight.store(weight_, Order::relaxed);
  if (has_real_time_) [[unlikely]]
    publish_real_time();
}

void RunQueue::publish_real_time() {
  const u64 waiting = real_time_.highest_urgency();
  const u64 running = running_ != nullptr ? running_->urgency() : 0;
  const u64 highest = running > waiting ? running : waiting;
  has_real_time_ = highest != 0;
  if (waiting != 0 || highest < published_.urgency()) real_time_changed_ = true;
  published_.publish_urgency(highest);
}

void RunQueue::enter_class(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  if (entity.real_time == 0) [[likely]] {
    algorithm_->enqueue(entity, reason, now);
  } else {
    has_real_time_ = true;
    real_time_.enqueue(entity, reason);
  }
}

void RunQueue::leave_class(SchedulingEntity& entity, Instant now) {
  if (entity.real_time == 0) [[likely]] {
    algorithm_->dequeue(entity, now);
  } else {
    real_time_.dequeue(entity);
  }
}

void RunQueue::charge(Instant now) {
  if (running_ == nullptr || now <= charged_until_) return;
  const Duration used = now - charged_until_;
  charged_until_ = now;
  set_charged(*running_, never);
  __atomic_store_n(&running_->run_time.ns, running_->run_time.ns + used.ns, __ATOMIC_RELEASE);
  set_charged(*running_, now);
  if (running_->real_time == 0) [[likely]] {
    algorithm_->charge(*running_, used, now);
  } else {
    real_time_.charge(*running_, used);
    budget_.charge(used, now);
  }
}

Instant RunQueue::review(Instant now) {
  charge(now);
  if (running_ == nullptr) return waiting_count_ == 0 ? never : now;
  if (has_real_time_) [[unlikely]]
    return review_real_time(now);
  return algorithm_->review(*running_, now);
}

Instant RunQueue::review_real_time(Instant now) {
  if (running_->real_time == 0) {
    const Instant until = algorithm_->review(*running_, now);
    if (real_time_.waiting() == 0) return until;
    if (budget_.end(now) > now) return now;
    return until < budget_.renewal() ? until : budget_.renewal();
  }
  const Instant until = real_time_.review(*running_, now);
  if (algorithm_->waiting() == 0) return until;
  const Instant budget_end = budget_.end(now);
  return until < budget_end ? until : budget_end;
}

// Something of the real-time class waits.
Decision RunQueue::pick_real_time(Instant now) {
  Instant limit = never;
  if (algorithm_->waiting() != 0) {
    limit = budget_.end(now);
    if (limit <= now) {
      Decision decision = algorithm_->pick(now);
      if (budget_.renewal() < decision.until) decision.until = budget_.renewal();
      return decision;
    }
  }
  SchedulingEntity* entity = real_time_.pick();
  const Instant until = real_time_.review(*entity, now);
  return {entity, until < limit ? until : limit};
}

// Whether an entity with a reservation has to wait for its next period first.
bool RunQueue::must_rest(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  DeadlineServer& server = entity.server;
  bool ready = true;
  if (reason == EnqueueReason::woken) {
    ready = server.wake(now);
  } else {
    if (reason == EnqueueReason::yielded) server.give_up();
    ready = !server.used_up();
  }
  if (ready) return false;
  if (server.renewal() > now) return true;
  server.renew(now);
  return false;
}

void RunQueue::put_to_rest(SchedulingEntity& entity) {
  entity.place = Place::resting;
  entity.home = core_;
  resting_.add(entity);
}

Instant RunQueue::renew_resting(Instant now) {
  charge(now);
  while (SchedulingEntity* entity = resting_.take(now)) {
    entity->server.renew(now);
    put(*entity, EnqueueReason::migrated, now);
  }
  publish();
  return review(now);
}

void RunQueue::put(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  if (entity.has_deadline() && must_rest(entity, reason, now)) [[unlikely]]
    return put_to_rest(entity);
  entity.place = Place::queued;
  entity.home = core_;
  waiting_.push_back(entity);
  ++waiting_count_;
  weight_ += entity.weight;
  enter_class(entity, reason, now);
}

// Out of the engine's books; the algorithm has given it up already.
void RunQueue::detach(SchedulingEntity& entity) {
  waiting_.remove(entity);
  --waiting_count_;
  weight_ -= entity.weight;
  entity.place = Place::nowhere;
}

Instant RunQueue::enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  const bool expected = entity.place == Place::on_the_way && entity.home == core_;
  if (entity.place != Place::nowhere && !expected) {
    count(violations_.misplaced);
    return review(now);
  }
  charge(now);
  if (expected) ++arrived_;
  if (entity.has_run() && entity.last_core != core_) count(published_.migrations_in);
  put(entity, reason, now);
  publish();
  return review(now);
}

bool RunQueue::remove(SchedulingEntity& entity, Instant now) {
  if (!waits_here(entity)) {
    count(violations_.misplaced);
    return false;
  }
  charge(now);
  leave_class(entity, now);
  detach(entity);
  publish();
  return true;
}

bool RunQueue::leave(SchedulingEntity& entity, LeaveReason reason, Instant now) {
  if (running_ != &entity) {
    count(violations_.misplaced);
    return false;
  }
  charge(now);
  set_charged(entity, {});
  running_ = nullptr;
  weight_ -= entity.weight;
  entity.last_ran = now;
  entity.place = Place::nowhere;
  if (reason == LeaveReason::ended) previous_ = nullptr;  // its memory may become another entity's
  if (reason == LeaveReason::preempted) {
    count(published_.preemptions);
    put(entity, EnqueueReason::preempted, now);
  } else if (reason == LeaveReason::yielded) {
    put(entity, EnqueueReason::yielded, now);
  } else if (entity.real_time == 0) {
    algorithm_->depart(entity, now);
  }
  publish();
  return true;
}

// When the algorithm failed: the longest waiting entity that may run here.
SchedulingEntity* RunQueue::take_any_allowed(Instant now) {
  for (SchedulingEntity* entity = waiting_.front(); entity != nullptr; entity = waiting_.next(*entity)) {
    if (entity->allowed.contains(core_)) {
      leave_class(*entity, now);
      return entity;
    }
  }
  return nullptr;
}

Decision RunQueue::pick(Instant now) {
  if (running_ != nullptr) {
    count(violations_.misplaced);
    leave(*running_, LeaveReason::preempted, now);
  }
  Decision decision = real_time_.waiting() == 0 ? algorithm_->pick(now) : pick_real_time(now);
  SchedulingEntity* refused = nullptr;
  bool acceptable = false;
  if (decision.entity == nullptr) {
    if (waiting_count_ != 0) count(violations_.withheld);
  } else if (!waits_here(*decision.entity)) {
    count(violations_.not_waiting);
  } else if (!decision.entity->allowed.contains(core_)) {
    count(violations_.not_allowed);
    refused = decision.entity;
    // The algorithm has let it go; it goes back when another one has been found, which must not be this one.
  } else {
    acceptable = true;
  }
  if (!acceptable) {
    decision = {take_any_allowed(now), now + tick_};
    if (refused != nullptr) enter_class(*refused, EnqueueReason::preempted, now);
  }
  if (decision.entity == nullptr) {
    publish();
    published_.begin_idle(now);
    return {};
  }
  detach(*decision.entity);
  running_ = decision.entity;
  weight_ += running_->weight;
  running_->place = Place::running;
  running_->last_core = core_;
  charged_until_ = now;
  set_charged(*running_, now);
  if (running_ != previous_) count(published_.switches);
  previous_ = running_;
  published_.end_idle(now);
  publish();
  return decision;
}

SchedulingAlgorithm* RunQueue::install(SchedulingAlgorithm& algorithm, Instant now) {
  charge(now);
  SchedulingAlgorithm* old = algorithm_;
  IntrusiveList<SchedulingEntity, &SchedulingEntity::engine_link> moving;
  if (old != nullptr) {
    if (running_ != nullptr && running_->real_time == 0) old->depart(*running_, now);
    for (u32 left = waiting_count_ - real_time_.waiting(); left > 0; --left) {
      SchedulingEntity* entity = old->pick(now).entity;
      if (entity == nullptr || !waits_here(*entity)) break;
      old->depart(*entity, now);
      entity->place = Place::nowhere;  // so that a second answer of the same entity is noticed
      waiting_.remove(*entity);
      moving.push_back(*entity);
    }
    waiting_.for_each([&](SchedulingEntity& kept_back) {
      if (kept_back.real_time != 0) return;  // not the timeline's
      count(violations_.withheld);
      old->dequeue(kept_back, now);
      waiting_.remove(kept_back);
      moving.push_back(kept_back);
    });
  }
  algorithm_ = &algorithm;
  while (SchedulingEntity* entity = moving.pop_front()) {
    entity->place = Place::queued;
    waiting_.push_back(*entity);
    algorithm_->enqueue(*entity, EnqueueReason::migrated, now);
  }
  return old;
}

void RunQueue::reserve(SchedulingEntity& entity, bool had_deadline, const Reservation& reservation, Instant now) {
  if (!had_deadline) {
    entity.server.begin(reservation, now);
  } else if (reservation != entity.server.reservation()) {
    entity.server.change(reservation);
  }
}

void RunQueue::change(SchedulingEntity& entity, const Wishes& wishes, Instant now) {
  const i32 nice = wishes.nice < nice_lowest ? nice_lowest : wishes.nice > nice_highest ? nice_highest : wishes.nice;
  const u32 weight = weight_of(nice, wishes.policy);
  const u32 before = entity.real_time;
  const bool waits = waits_here(entity);
  const bool rests = entity.place == Place::resting && entity.home == core_;
  // Who waits in the real-time class and stays at its priority keeps its place.
  const bool moves = waits && (before == 0 || before != wishes.real_time);
  charge(now);
  if (moves) leave_class(entity, now);
  if (running_ == &entity && before == 0 && wishes.real_time != 0) algorithm_->depart(entity, now);
  if (rests) resting_.remove(entity);
  if (waits || running_ == &entity) weight_ += u64{weight} - entity.weight;
  entity.nice = nice;
  entity.weight = weight;
  entity.policy = wishes.policy;
  entity.real_time = static_cast<u8>(wishes.real_time);
  if (entity.has_deadline()) reserve(entity, before == deadline_priority, wishes.reservation, now);
  if (wishes.policy == SchedulingPolicy::round_robin && entity.quantum_left <= Duration{}) {
    entity.quantum_left = real_time_quantum;
  }
  // A raised one goes behind its new equals, a lowered one before them; the one that runs does so when it is preempted.
  if (before != entity.real_time) entity.behind_equals = running_ == &entity && entity.real_time > before;
  const bool lowered = entity.real_time != 0 && entity.real_time < before;
  if (moves) enter_class(entity, lowered ? EnqueueReason::preempted : EnqueueReason::migrated, now);
  if (running_ == &entity && entity.real_time != 0) has_real_time_ = true;
  if (rests) {
    entity.place = Place::nowhere;
    put(entity, EnqueueReason::migrated, now);
  }
  publish();
}

SchedulingEntity* RunQueue::candidate_for(const CoreSet& targets) {
  SchedulingEntity* last = algorithm_->last_waiting();
  if (last != nullptr && waits_here(*last) && !(last->allowed & targets).empty()) return last;
  for (SchedulingEntity* entity = waiting_.front(); entity != nullptr; entity = waiting_.next(*entity)) {
    if (!(entity->allowed & targets).empty()) return entity;
  }
  return nullptr;
}

}  // namespace corral::sched

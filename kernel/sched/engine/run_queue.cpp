#include "sched/engine/run_queue.h"

namespace corral::sched {

namespace {

void count(Atomic<u64>& counter) {
  CoreStatistics::count(counter);
}

}  // namespace

void RunQueue::publish() {
  published_.publish(waiting_count_ + (running_ != nullptr ? 1 : 0), arrived_);
  published_.load_weight.store(weight_, Order::relaxed);
}

void RunQueue::charge(Instant now) {
  if (running_ == nullptr || now <= charged_until_) return;
  const Duration used = now - charged_until_;
  charged_until_ = now;
  running_->run_time = running_->run_time + used;
  algorithm_->charge(*running_, used, now);
}

Instant RunQueue::review(Instant now) {
  charge(now);
  if (running_ == nullptr) return waiting_count_ == 0 ? never : now;
  return algorithm_->review(*running_, now);
}

void RunQueue::put(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  entity.place = Place::queued;
  entity.home = core_;
  waiting_.push_back(entity);
  ++waiting_count_;
  weight_ += entity.weight;
  algorithm_->enqueue(entity, reason, now);
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
  algorithm_->dequeue(entity, now);
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
  }
  publish();
  return true;
}

// When the algorithm failed: the longest waiting entity that may run here.
SchedulingEntity* RunQueue::take_any_allowed(Instant now) {
  for (SchedulingEntity* entity = waiting_.front(); entity != nullptr; entity = waiting_.next(*entity)) {
    if (entity->allowed.contains(core_)) {
      algorithm_->dequeue(*entity, now);
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
  Decision decision = algorithm_->pick(now);
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
    if (refused != nullptr) algorithm_->enqueue(*refused, EnqueueReason::preempted, now);
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
    for (u32 left = waiting_count_; left > 0; --left) {
      SchedulingEntity* entity = old->pick(now).entity;
      if (entity == nullptr || !waits_here(*entity)) break;
      entity->place = Place::nowhere;  // so that a second answer of the same entity is noticed
      waiting_.remove(*entity);
      moving.push_back(*entity);
    }
    while (SchedulingEntity* kept_back = waiting_.pop_front()) {
      count(violations_.withheld);
      old->dequeue(*kept_back, now);
      moving.push_back(*kept_back);
    }
  }
  algorithm_ = &algorithm;
  while (SchedulingEntity* entity = moving.pop_front()) {
    entity->place = Place::queued;
    waiting_.push_back(*entity);
    algorithm_->enqueue(*entity, EnqueueReason::migrated, now);
  }
  return old;
}

void RunQueue::set_nice(SchedulingEntity& entity, i32 nice, Instant now) {
  if (nice < nice_lowest) nice = nice_lowest;
  if (nice > nice_highest) nice = nice_highest;
  const u32 weight = weight_of(nice);
  charge(now);
  if (waits_here(entity)) {
    algorithm_->dequeue(entity, now);
    weight_ += weight;
    weight_ -= entity.weight;
    entity.nice = nice;
    entity.weight = weight;
    algorithm_->enqueue(entity, EnqueueReason::migrated, now);
  } else {
    if (running_ == &entity) {
      weight_ += weight;
      weight_ -= entity.weight;
    }
    entity.nice = nice;
    entity.weight = weight;
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

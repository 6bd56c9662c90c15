#include "lib/planted.h"
#include "sched/engine/run_queue_guards.h"

namespace corral::sched {

namespace {

void count(Atomic<u64>& counter) {
  CoreStatistics::count(counter);
}

}  // namespace

using invariants::During;
using invariants::Invariant;

void RunQueue::publish() {
  if (planted(Plant::numbers_not_published) && waiting_count_ != 0) return;
  published_.publish(waiting_count_ + (running_ != nullptr ? 1 : 0), weight_, arrived_);
  if (has_real_time_) [[unlikely]]
    publish_real_time();
}

void RunQueue::publish_real_time() {
  const u64 waiting = real_time_.highest_urgency();
  const u64 running = running_ != nullptr ? running_->urgency() : 0;
  const u64 highest = running > waiting ? running : waiting;
  has_real_time_ = highest != 0;
  if (waiting != 0 || highest < published_.urgency()) {
    real_time_changed_ = true;
  } else if (!wait_is_known_ && highest >= highest_stood_) {
    real_time_changed_ = false;  // who waited runs here, before another core heard of it
  }
  if (planted(Plant::urgency_not_published)) return;
  published_.publish_urgency(highest);
  if (highest > highest_stood_) highest_stood_ = highest;
}

void RunQueue::leave_class(SchedulingEntity& entity, Instant now) {
  if (entity.real_time == 0) [[likely]] {
    tell_dequeue(entity, now);
  } else {
    real_time_.dequeue(entity);
  }
}

void RunQueue::charge(Instant now) {
  charge_now(now);
}

Instant RunQueue::review(Instant now) {
  charge_now(now);
  return review_charged(now);
}

Instant RunQueue::review_real_time(Instant now) {
  if (running_->real_time == 0) {
    const Instant until = ask_review(now);
    if (real_time_.waiting() == 0) return until;
    if (budget_.end(now) > now) return now;
    check_class(During::review, *running_, now);
    return until < budget_.renewal() ? until : budget_.renewal();
  }
  const Instant until = real_time_.review(*running_, now);
  if (until > now && has_overspent(*running_)) [[unlikely]]
    violated(Invariant::reservation, During::review, running_);
  if (timeline_waiting() == 0) return until;
  const Instant budget_end = budget_.end(now);
  if (budget_end > now) check_class(During::review, *running_, now);
  return until < budget_end ? until : budget_end;
}

// Something of the real-time class waits.
Decision RunQueue::pick_real_time(Instant now) {
  Instant limit = never;
  if (timeline_waiting() != 0) {
    limit = budget_.end(now);
    if (limit <= now) {
      Decision decision = pick_timeline(now);
      if (budget_.renewal() < decision.until) decision.until = budget_.renewal();
      if (decision.entity != nullptr) {
        check_class(During::pick, *decision.entity, now);
        return decision;
      }
      limit = never;  // none of those may run here
    }
  }
  SchedulingEntity* entity = real_time_.pick();
  if (has_overspent(*entity)) [[unlikely]]
    violated(Invariant::reservation, During::pick, entity);
  if (limit != never) check_class(During::pick, *entity, now);
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
  put_now(entity, reason, now);
}

// Out of the engine's books; the algorithm has given it up already.
void RunQueue::detach(SchedulingEntity& entity, Instant now) {
  turns_.end_wait(entity, now);
  if (!planted_now_and_then(Plant::kept_in_queue, 100)) waiting_.remove(entity);
  if (!planted_now_and_then(Plant::uncounted_removal, 100)) --waiting_count_;
  weight_ -= entity.weight;
  entity.place = Place::nowhere;
}

Instant RunQueue::enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  const bool expected = entity.place == Place::on_the_way && entity.home == core_;
  if (entity.place != Place::nowhere && !expected) {
    count(violations_.misplaced);
    violated(Invariant::one_place, During::enqueue, &entity);
    return review(now);
  }
  charge_now(now);
  if (expected) ++arrived_;
  if (entity.has_run() && entity.last_core != core_) count(published_.migrations_in);
  put_now(entity, reason, now);
  publish();
  return review_charged(now);
}

bool RunQueue::remove(SchedulingEntity& entity, Instant now) {
  if (entity.place == Place::resting && entity.home == core_) {
    resting_.remove(entity);
    entity.place = Place::nowhere;
    return true;
  }
  if (!waits_here(entity)) {
    count(violations_.misplaced);
    violated(Invariant::one_place, During::leave, &entity);
    return false;
  }
  charge(now);
  leave_class(entity, now);
  detach(entity, now);
  publish();
  return true;
}

bool RunQueue::leave(SchedulingEntity& entity, LeaveReason reason, Instant now) {
  if (running_ != &entity) {
    count(violations_.misplaced);
    violated(Invariant::one_place, During::leave, &entity);
    return false;
  }
  charge_now(now);
  guards::set_charged(entity, {});
  running_ = nullptr;
  if (!planted_now_and_then(Plant::weight_kept, 100)) weight_ -= entity.weight;
  entity.last_ran = now;
  entity.place = Place::nowhere;
  if (reason == LeaveReason::preempted) {
    count(published_.preemptions);
    put_now(entity, EnqueueReason::preempted, now);
  } else if (reason == LeaveReason::yielded) {
    put(entity, EnqueueReason::yielded, now);
  } else if (entity.real_time == 0) {
    tell_depart(entity, now);
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
    violated(Invariant::one_place, During::pick, running_);
    leave(*running_, LeaveReason::preempted, now);
  }
  Decision decision = real_time_.waiting() == 0 ? pick_timeline(now) : pick_real_time(now);
  if (decision.entity != nullptr && !is_within_masks(*decision.entity)) [[unlikely]]
    decision = pick_within_mask(decision, now);
  if (decision.entity == nullptr) {
    publish();
    if (published_.begin_idle(now)) {
      between_ = between_ + (now - charged_until_);
      charged_until_ = now;
    }
    return {};
  }
  detach(*decision.entity, now);
  turns_.count();
  running_ = decision.entity;
  weight_ += running_->weight;
  running_->place = Place::running;
  // Who ran last may have gone and ended elsewhere: another one in its memory has not run here.
  if (running_ != previous_ || !running_->has_run() || running_->last_core != core_) count(published_.switches);
  previous_ = running_;
  running_->last_core = core_;
  if (!published_.end_idle(now)) count_between(now - charged_until_, now);
  charged_until_ = now;
  guards::set_charged(*running_, now);
  publish();
  decisions_[decision_count_++ % decisions_kept] = {now, decision.until, running_->number};
  return decision;
}

// The core was busy with nobody's turn before this one. What real-time turns take to begin is lost to those who wait, too.
void RunQueue::count_between(Duration passed, Instant now) {
  if (!planted(Plant::time_between_turns_lost)) between_ = between_ + passed;
  if (running_->real_time == 0) [[likely]]
    return;
  budget_.charge(passed, now);
  note_real_time(passed, now);
}

// The mask as the thread asked for it has not this core. That is right only when its group has none of that mask.
Decision RunQueue::pick_within_mask(const Decision& decision, Instant now) {
  SchedulingEntity& entity = *decision.entity;
  const bool allowed = entity.allowed.contains(core_);
  if (!allowed || !(entity.allowed & entity.asked).empty()) violated(Invariant::affinity, During::pick, &entity);
  return allowed ? decision : pick_instead_of(entity, now);
}

// `refused` may not run here. The algorithm has let it go; it goes back when another one has been found, which must not be this one.
Decision RunQueue::pick_instead_of(SchedulingEntity& refused, Instant now) {
  count(violations_.not_allowed);
  const SchedulingAlgorithm* asked = algorithm_;
  const Decision decision{take_any_allowed(now), now + tick_};
  if (algorithm_ == asked || refused.real_time != 0) enter_class(refused, EnqueueReason::preempted, now);
  return decision;
}

SchedulingAlgorithm* RunQueue::install(SchedulingAlgorithm& algorithm, Instant now, Duration holds_back, bool departs) {
  charge(now);
  SchedulingAlgorithm* old = algorithm_;
  IntrusiveList<SchedulingEntity, &SchedulingEntity::engine_link> moving;
  if (old != nullptr) {
    if (running_ != nullptr && running_->real_time == 0) tell_depart(*running_, now);
    for (u32 left = timeline_waiting(); left > 0; --left) {
      SchedulingEntity* entity = ask_pick(now).entity;
      if (entity == nullptr) {
        fall_back(Misdeed::withheld, PolicyCall::pick, now);
        entity = safe_.pick(now).entity;
      }
      entity->place = Place::nowhere;  // so that a second answer of the same entity is noticed
      waiting_.remove(*entity);
      moving.push_back(*entity);
      tell_depart(*entity, now);
    }
  }
  algorithm_ = &algorithm;
  departs_ = departs;
  starvation_.begin(holds_back);
  while (SchedulingEntity* entity = moving.pop_front()) {
    entity->place = Place::queued;
    waiting_.push_back(*entity);
    entity->waits_since = starvation_.clock();
    tell_enqueue(*entity, EnqueueReason::migrated, now);
  }
  return old;
}

void RunQueue::reserve(SchedulingEntity& entity, bool had_deadline, const Reservation& reservation, Instant now) {
  if (had_deadline && reservation == entity.server.reservation()) return;
  entity.spent = {};
  if (had_deadline) {
    entity.server.change(reservation);
  } else {
    entity.server.begin(reservation, now);
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
  if (running_ == &entity && before == 0 && wishes.real_time != 0) tell_depart(entity, now);
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

}  // namespace corral::sched

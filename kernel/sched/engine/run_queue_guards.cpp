// What the run queue does when its algorithm does wrong. See run_queue.h; the calls are in run_queue_guards.h.
//
// Why the safe timeline can take over at any call: the engine's own list of those who wait is complete whenever the algorithm is
// called, and what a failed algorithm kept in an entity is forgotten, not undone.
#include "sched/engine/run_queue_guards.h"

namespace corral::sched {

namespace {

// Follows pointers, which may lead anywhere: only inside a guarded call.
bool really_waits(const SchedulingEntity* entity, CoreId core) {
  return entity->home == core && entity->place == SchedulingEntity::Place::queued && entity->real_time == 0 &&
         entity->engine_link.in_place();
}

SchedulingEntity* tagged(SchedulingEntity* entity, u64 tag) {
  return reinterpret_cast<SchedulingEntity*>((reinterpret_cast<u64>(entity) & ~guards::tags) | tag);
}

// As pick_and_look().
SchedulingEntity* last_and_look(SchedulingAlgorithm& algorithm, CoreId core) {
  SchedulingEntity* last = algorithm.last_waiting();
  return last == nullptr || really_waits(last, core) ? last : tagged(last, guards::tag_not_waiting);
}

void forget_timeline(SchedulingEntity& entity) {
  entity.queue_link.forget();
  entity.tree_link.forget();
  entity.timeline.forget();
}

}  // namespace

Decision guards::pick_and_look(SchedulingAlgorithm& algorithm, Instant now, CoreId core) {
  Decision decision = algorithm.pick(now);
  if (decision.entity == nullptr) return decision;
  if (!really_waits(decision.entity, core)) [[unlikely]] {
    decision.entity = tagged(decision.entity, guards::tag_not_waiting);
  } else if (guards::in_some_queue(*decision.entity)) [[unlikely]] {
    decision.entity = tagged(decision.entity, guards::tag_kept);
  }
  return decision;
}

void RunQueue::fall_back(Misdeed misdeed, PolicyCall call, Instant now) {
  SchedulingAlgorithm& failed = *algorithm_;
  if (&failed == &safe_) __builtin_trap();  // the engine itself is wrong
  CoreStatistics::count(misdeed == Misdeed::not_waiting ? violations_.not_waiting
                        : misdeed == Misdeed::withheld  ? violations_.withheld
                                                        : violations_.misbehaved);
  ::new (&safe_) SafeTimeline{tick_};
  algorithm_ = &safe_;
  departs_ = false;
  starvation_.begin(holds_back_forever);  // it is fair; who waits long has a core that its host has stopped
  if (running_ != nullptr && running_->real_time == 0) forget_timeline(*running_);
  waiting_.for_each([&](SchedulingEntity& entity) {
    if (entity.real_time != 0) return;  // not the timeline's
    forget_timeline(entity);
    entity.waits_since = starvation_.clock();
    safe_.enqueue(entity, EnqueueReason::migrated, now);
  });
  if (listener_ != nullptr) listener_->fell_back(*this, failed, misdeed, call, now);
}

void RunQueue::fall_back_from(PolicyCall call, Instant now) {
  fall_back(misdeed_of(arch::last_call_failure()), call, now);
}

void RunQueue::dequeue_safely(SchedulingEntity& entity, bool came_back, Instant now) {
  fall_back(came_back ? Misdeed::kept : misdeed_of(arch::last_call_failure()), PolicyCall::dequeue, now);
  safe_.dequeue(entity, now);
}

void RunQueue::depart_safely(SchedulingEntity& entity, bool came_back, Instant now) {
  fall_back(came_back ? Misdeed::kept : misdeed_of(arch::last_call_failure()), PolicyCall::depart, now);
  forget_timeline(entity);
}

Instant RunQueue::review_safely(Instant now) {
  fall_back_from(PolicyCall::review, now);
  return safe_.review(*running_, now);
}

// The algorithm did not come back, or answered `decision`, which is wrong or no decision at all.
Decision RunQueue::pick_safely(Decision decision, bool came_back, Instant now) {
  const u64 tag = reinterpret_cast<u64>(decision.entity) & guards::tags;
  if (came_back && decision.entity == nullptr) return {};
  fall_back(!came_back                       ? misdeed_of(arch::last_call_failure())
            : tag == guards::tag_kept        ? Misdeed::kept
            : tag == guards::tag_not_waiting ? Misdeed::not_waiting
                                             : Misdeed::hasty,
            PolicyCall::pick, now);
  return safe_.pick(now);
}

// Somebody waits, but the algorithm answered nobody. That is right when none of them may run here.
Decision RunQueue::pick_withheld(Instant now) {
  bool withheld = false;
  waiting_.for_each([&](const SchedulingEntity& entity) {
    withheld = withheld || (entity.real_time == 0 && entity.allowed.contains(core_));
  });
  if (!withheld) return {};
  fall_back(Misdeed::withheld, PolicyCall::pick, now);
  return safe_.pick(now);
}

// Asked when somebody of the timeline waits.
SchedulingEntity* RunQueue::ask_last_waiting() {
  SchedulingEntity* last = nullptr;
  const bool came_back = arch::ask_guarded(last, last_and_look, *algorithm_, core_);
  if (!came_back || last == nullptr || (reinterpret_cast<u64>(last) & guards::tags) != 0) [[unlikely]]
    return last_waiting_safely(last, came_back);
  return last;
}

// The algorithm did not come back, or answered `last`, which is wrong: nobody, or somebody who does not wait here.
SchedulingEntity* RunQueue::last_waiting_safely(SchedulingEntity* last, bool came_back) {
  bool somebody_waits = false;
  waiting_.for_each([&](const SchedulingEntity& entity) { somebody_waits = somebody_waits || entity.real_time == 0; });
  if (came_back && last == nullptr && !somebody_waits) return nullptr;  // the count is wrong: that is told elsewhere
  fall_back(!came_back        ? misdeed_of(arch::last_call_failure())
            : last == nullptr ? Misdeed::withheld
                              : Misdeed::not_waiting,
            PolicyCall::last_waiting, charged_until_);
  return safe_.last_waiting();
}

void RunQueue::look_for_starving(Instant now) {
  if (!starvation_.is_on() || timeline_waiting() == 0) return;
  const u32 competitors = timeline_waiting() + (running_ != nullptr && running_->real_time == 0 ? 1 : 0);
  u32 looked_at = 0;
  for (SchedulingEntity* entity = waiting_.front(); entity != nullptr && looked_at < StarvationWatch::most_looked_at;
       entity = waiting_.next(*entity), ++looked_at) {
    if (entity->real_time != 0 || !starvation_.starves(entity->waits_since, entity->weight, weight_, competitors)) continue;
    if (!entity->allowed.contains(core_)) continue;
    violated(invariants::Invariant::starvation, invariants::During::tick, entity);
    return fall_back(Misdeed::starvation, PolicyCall::pick, now);
  }
}

}  // namespace corral::sched

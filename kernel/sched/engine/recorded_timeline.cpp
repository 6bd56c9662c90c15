// See recorded_timeline.h.
#include "sched/engine/recorded_timeline.h"

#include "lib/text.h"
#include "trace/trace.h"

namespace corral::sched {

namespace {

void note(TimelineCall call, const SchedulingEntity* entity, Instant now, i64 value_ns, EnqueueReason reason = {}) {
  if (!trace::wants(trace::Event::timeline_called)) return;
  const TimelineCalled called{now.ns, value_ns, entity != nullptr ? EntitySeen::of(*entity) : EntitySeen{}};
  const auto detail = static_cast<u8>(static_cast<u32>(call) | static_cast<u32>(reason) << timeline_call_bits);
  trace::write(trace::Event::timeline_called, detail, entity != nullptr ? entity->number : 0, called);
}

}  // namespace

void note_policy_made(PolicyKind kind, const PolicyDescription& policy, const TunableValues& values, Duration tick, u32 session,
                      u64 number) {
  if (!trace::wants(trace::Event::policy_made)) return;
  const auto detail = static_cast<u8>(kind);
  PolicyMade made{{}, tick.ns, session, static_cast<u32>(policy.tunables.size()), number};
  copy_text(made.name, sizeof made.name, policy.name);
  trace::write(trace::Event::policy_made, detail, 0, made);
  for (size_t i = 0; i < policy.tunables.size(); ++i) {
    trace::write(trace::Event::policy_value, detail, 0, PolicyValue{i, values.number(i)});
  }
}

void RecordedTimeline::stand_for(SchedulingAlgorithm& algorithm, const PolicyDescription& policy,
                                 const AlgorithmParameters& parameters) {
  inner_ = &algorithm;
  policy_ = &policy;
  parameters_ = parameters;
  session_ = trace::session();
}

// Told when it is used for the first time, by then on its own core.
void RecordedTimeline::begin() {
  begun_ = true;
  note_policy_made(PolicyKind::timeline, *policy_, parameters_.tunables, parameters_.tick, session_, 0);
}

// What the entity carries of an earlier timeline is not in the recording.
void RecordedTimeline::meet(SchedulingEntity& entity) {
  if (!begun_) begin();
  if (entity.recording == session_) return;
  entity.recording = session_;
  entity.timeline.forget();
}

void RecordedTimeline::enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now) {
  meet(entity);
  note(TimelineCall::enqueue, &entity, now, 0, reason);
  inner_->enqueue(entity, reason, now);
}

void RecordedTimeline::dequeue(SchedulingEntity& entity, Instant now) {
  note(TimelineCall::dequeue, &entity, now, 0);
  inner_->dequeue(entity, now);
}

Decision RecordedTimeline::pick(Instant now) {
  if (!begun_) begin();
  const Decision decision = inner_->pick(now);
  note(TimelineCall::pick, decision.entity, now, decision.until.ns);
  return decision;
}

void RecordedTimeline::charge(SchedulingEntity& running, Duration used, Instant now) {
  meet(running);
  note(TimelineCall::charge, &running, now, used.ns);
  inner_->charge(running, used, now);
}

void RecordedTimeline::depart(SchedulingEntity& running, Instant now) {
  meet(running);
  note(TimelineCall::depart, &running, now, 0);
  inner_->depart(running, now);
}

Instant RecordedTimeline::review(const SchedulingEntity& running, Instant now) {
  meet(const_cast<SchedulingEntity&>(running));  // no constant: the same that charge() gets
  const Instant until = inner_->review(running, now);
  note(TimelineCall::review, &running, now, until.ns);
  return until;
}

SchedulingEntity* RecordedTimeline::last_waiting() {
  SchedulingEntity* const entity = inner_->last_waiting();
  note(TimelineCall::last_waiting, entity, {}, 0);
  return entity;
}

}  // namespace corral::sched

// See decision_recorder.h.
#include "sched/engine/decision_recorder.h"

#include "sched/engine/random_source.h"

namespace corral::sched {

u64 Draws::next() {
  ++count;
  return last = random_source::next();
}

DecisionQuestion DecisionQuestion::of(const PlacementRequest& request) {
  const auto kind = request.reason == PlacementReason::created ? DecisionKind::place_created : DecisionKind::place_woken;
  return {kind, &request.entity, request.candidates, request.here, request.now};
}
DecisionQuestion DecisionQuestion::of(const PushRequest& request) {
  return {DecisionKind::push, &request.entity, request.candidates, request.here, request.now};
}
DecisionQuestion DecisionQuestion::of(const PullRequest& request) {
  return {DecisionKind::ask, nullptr, request.candidates, request.here, request.now, request.last_asked};
}
DecisionQuestion DecisionQuestion::of(const LeaveRequest& request) {
  return {DecisionKind::leaves_at, &request.entity, request.candidates, request.here, request.now, {}, request.spare};
}

void ShownCores::show(const DecisionQuestion& question, std::span<const CoreStatistics> cores) {
  shown_ = question.candidates;
  shown_.add(question.here);
  if (question.entity != nullptr) shown_.add(question.entity->last_core);
  shown_.for_each([&](CoreId core) { copies_[core.value].show(cores[core.value].words()); });
}

void ShownCores::hide() {
  shown_.for_each([&](CoreId core) { copies_[core.value].show({}); });
}

void write_decision(const DecisionQuestion& question, const DecisionAnswered& answered, const ShownCores& cores) {
  const auto kind = static_cast<u8>(question.kind);
  const i32 thread = question.entity != nullptr ? question.entity->number : 0;
  cores.shown().for_each([&](CoreId core) {
    const CoreSeen seen{cores.copies()[core.value].words()};
    trace::write(trace::Event::core_seen, kind, static_cast<i32>(core.value), seen);
  });
  DecisionAsked asked{
      question.now.ns, {}, static_cast<u16>(question.here.value), static_cast<u16>(cores.shown().count()), question.spare};
  static_assert(CoreSet::words <= DecisionAsked::words);
  for (u32 i = 0; i < CoreSet::words; ++i) asked.candidates[i] = question.candidates.word(i);
  trace::write(trace::Event::decision_asked, kind, thread, asked);
  DecisionAbout about{{}, question.last_asked.ns, 0};
  if (question.entity != nullptr) {
    about.entity = EntitySeen::of(*question.entity);
    about.resources = question.entity->resources.load(Order::relaxed).word();
  }
  trace::write(trace::Event::decision_about, kind, thread, about);
  trace::write(trace::Event::decision_answered, kind, thread, answered);
}

}  // namespace corral::sched

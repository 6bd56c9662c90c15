// See replay_timelines.h.
#include "replay_timelines.h"

#include <stdexcept>

namespace corral::sim {

using sched::TimelineCall;

namespace {

[[noreturn]] void contradict(const trace::Record& record, const std::string& what) {
  throw std::invalid_argument{"core " + std::to_string(record.core) + ", " + std::to_string(record.time) + " ns: " + what};
}

const char* name_of(TimelineCall call) {
  switch (call) {
    case TimelineCall::enqueue: return "enqueue";
    case TimelineCall::dequeue: return "dequeue";
    case TimelineCall::pick: return "pick";
    case TimelineCall::charge: return "charge";
    case TimelineCall::depart: return "depart";
    case TimelineCall::review: return "review";
    case TimelineCall::last_waiting: return "last_waiting";
  }
  return "?";
}

TimelineCall call_of(const trace::Record& record) {
  return static_cast<TimelineCall>(record.detail & ((1u << sched::timeline_call_bits) - 1));
}

std::string told(i32 thread, i64 until_ns) {
  const std::string who = thread == 0 ? "nobody" : "thread " + std::to_string(thread);
  return who + (until_ns == never.ns ? " without end" : " until " + std::to_string(until_ns));
}

}  // namespace

ReplayedTimelines::Timeline::~Timeline() {
  if (algorithm != nullptr) algorithm->~SchedulingAlgorithm();
}

void ReplayedTimelines::made(const trace::Record& record) {
  const auto made = data_of<sched::PolicyMade>(record);
  const std::string name = name_of(made);
  for (auto& [number, entity] : entities_) {
    if (const auto old = timelines_.find(record.core); old != timelines_.end() && entity.queue == old->second.get())
      contradict(record, "thread " + std::to_string(number) + " still waits in the timeline that is replaced");
  }
  auto timeline = std::make_unique<Timeline>();
  timeline->descriptor = sched::find_algorithm(name);
  if (timeline->descriptor == nullptr) throw std::invalid_argument{"there is no algorithm " + name + " here"};
  timeline->parameters = {CoreId{record.core}, Duration{made.tick_ns}, {}};
  timeline->session = made.session;
  timelines_[record.core] = std::move(timeline);
}

void ReplayedTimelines::value(const trace::Record& record) {
  const auto value = data_of<sched::PolicyValue>(record);
  const auto timeline = timelines_.find(record.core);
  if (timeline == timelines_.end() || timeline->second->algorithm != nullptr || value.index >= sched::TunableValues::most)
    contradict(record, "a tunable of no policy");
  timeline->second->parameters.tunables.set(value.index, value.value);
}

void ReplayedTimelines::make(Timeline& timeline) {
  timeline.storage = std::make_unique<Storage>(timeline.descriptor->size);
  timeline.algorithm = timeline.descriptor->make(timeline.storage->get(), timeline.parameters);
}

// As RecordedTimeline::meet() does it.
ReplayedTimelines::Entity& ReplayedTimelines::entity_of(const trace::Record& record, const sched::TimelineCalled& call,
                                                        const Timeline& timeline) {
  Entity& entity = entities_[record.thread];
  entity.entity.number = record.thread;
  call.entity.show(entity.entity);
  if (entity.session != timeline.session) {
    entity.session = timeline.session;
    entity.entity.timeline.forget();
  }
  return entity;
}

void ReplayedTimelines::enqueue(const trace::Record& record, const sched::TimelineCalled& call, Timeline& timeline) {
  const auto reason = static_cast<sched::EnqueueReason>(record.detail >> sched::timeline_call_bits);
  if (reason > sched::EnqueueReason::migrated) contradict(record, "an unknown reason");
  if (const auto known = entities_.find(record.thread); known != entities_.end()) {
    if (known->second.queue != nullptr) contradict(record, "thread " + std::to_string(record.thread) + " waits twice");
    if (reason == sched::EnqueueReason::created) entities_.erase(known);  // another one's number before
  }
  Entity& entity = entity_of(record, call, timeline);
  entity.queue = &timeline;
  timeline.algorithm->enqueue(entity.entity, reason, Instant{call.now_ns});
}

void ReplayedTimelines::called(const trace::Record& record) {
  const auto found = timelines_.find(record.core);
  if (found == timelines_.end()) return;
  Timeline& timeline = *found->second;
  if (timeline.algorithm == nullptr) make(timeline);
  const auto call = data_of<sched::TimelineCalled>(record);
  const Instant now{call.now_ns};
  Account& account = accounts_[timeline.descriptor->name];
  account.cores.insert(record.core);
  ++account.compared.calls;
  switch (call_of(record)) {
    case TimelineCall::enqueue: return enqueue(record, call, timeline);
    case TimelineCall::dequeue: {
      Entity& entity = entity_of(record, call, timeline);
      if (entity.queue != &timeline) contradict(record, "thread " + std::to_string(record.thread) + " does not wait here");
      entity.queue = nullptr;
      return timeline.algorithm->dequeue(entity.entity, now);
    }
    case TimelineCall::pick: {
      const sched::Decision decision = timeline.algorithm->pick(now);
      if (decision.entity != nullptr) entities_.at(decision.entity->number).queue = nullptr;
      return compare(record, call, timeline, decision.entity, decision.until);
    }
    case TimelineCall::charge:
      return timeline.algorithm->charge(entity_of(record, call, timeline).entity, Duration{call.value_ns}, now);
    case TimelineCall::depart: return timeline.algorithm->depart(entity_of(record, call, timeline).entity, now);
    case TimelineCall::review: {
      const sched::SchedulingEntity& running = entity_of(record, call, timeline).entity;
      return compare(record, call, timeline, &running, timeline.algorithm->review(running, now));
    }
    case TimelineCall::last_waiting: return compare(record, call, timeline, timeline.algorithm->last_waiting(), Instant{});
  }
  contradict(record, "an unknown call");
}

void ReplayedTimelines::compare(const trace::Record& record, const sched::TimelineCalled& call, const Timeline& timeline,
                                const sched::SchedulingEntity* entity, Instant until) {
  Compared& compared = accounts_[timeline.descriptor->name].compared;
  ++compared.decisions;
  const i32 thread = entity != nullptr ? entity->number : 0;
  if (thread == record.thread && until.ns == call.value_ns) return;
  if (++compared.different == 1) {
    compared.first_difference = std::string{name_of(call_of(record))} + " on core " + std::to_string(record.core) + " at " +
                                std::to_string(call.now_ns) + " ns: " + told(record.thread, call.value_ns) +
                                " in the kernel, " + told(thread, until.ns) + " here";
  }
  // From here on the two have different threads: what follows cannot be the same.
  if (thread != record.thread) {
    throw std::invalid_argument{std::string{timeline.descriptor->name} + ": " + compared.first_difference +
                                "; what follows cannot be compared"};
  }
}

std::vector<Compared> ReplayedTimelines::results() const {
  std::vector<Compared> results;
  for (const auto& [name, account] : accounts_) {
    results.push_back(account.compared);
    results.back().kind = "algorithm";
    results.back().name = name;
    results.back().cores = account.cores.size();
  }
  return results;
}

}  // namespace corral::sim

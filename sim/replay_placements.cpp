// See replay_placements.h.
#include "replay_placements.h"

#include <stdexcept>

namespace corral::sim {

namespace {

u64 the_draw = 0;
u64 recorded_draw() {
  return the_draw;
}

}  // namespace

void ReplayedPlacements::made(const trace::Record& record) {
  const auto made = data_of<sched::PolicyMade>(record);
  const std::string name = name_of(made);
  const sched::PlacementDescriptor* descriptor = sched::find_placement(name);
  if (descriptor == nullptr) throw std::invalid_argument{"there is no placement " + name + " here"};
  Session& session = sessions_[made.number];
  session.descriptor = descriptor;
  last_made_[record.core] = &session;
}

void ReplayedPlacements::value(const trace::Record& record) {
  const auto value = data_of<sched::PolicyValue>(record);
  Session* const session = last_made_[record.core];
  if (session == nullptr || value.index >= sched::TunableValues::most) throw std::invalid_argument{"a tunable of no policy"};
  session->values.set(value.index, value.value);
}

void ReplayedPlacements::seen(const trace::Record& record) {
  const auto core = static_cast<u32>(record.thread);
  if (core >= max_cores) throw std::invalid_argument{"a core " + std::to_string(record.thread)};
  open_[record.core].cores[core] = data_of<sched::CoreSeen>(record).words;
}

void ReplayedPlacements::asked(const trace::Record& record) {
  Question& question = open_[record.core];
  question.asked = data_of<sched::PlacementAsked>(record);
  question.reason = static_cast<sched::PlacementReason>(record.detail);
  if (question.cores.size() != question.asked.cores) throw std::invalid_argument{"a placement whose cores are not all there"};
}

void ReplayedPlacements::answered(const trace::Record& record) {
  Question& question = open_[record.core];
  question.answered = data_of<sched::PlacementAnswered>(record);
  if (question.answered.draws > 1) throw std::invalid_argument{"a placement that drew more than one random number"};
  questions_[question.answered.number] = std::move(question);
  open_.erase(record.core);
}

CoreId ReplayedPlacements::decide(sched::PlacementPolicy& policy, const Session& session, const Question& question) {
  sched::SchedulingEntity entity;
  question.answered.entity.show(entity);
  CoreSet candidates;
  for (u32 i = 0; i < sched::PlacementAsked::words; ++i) candidates.set_word(i, question.asked.candidates[i]);
  for (const auto& [core, words] : question.cores) cores_[core].show(words);
  the_draw = question.answered.draw;
  const sched::SystemView view{cores_, recorded_draw, session.values};
  const CoreId chosen = policy.select({entity, question.reason, candidates, candidates.used_words(),
                                       CoreId{question.asked.here}, Instant{question.asked.now_ns}},
                                      view);
  for (const auto& [core, words] : question.cores) cores_[core].show({});
  return chosen;
}

std::vector<Compared> ReplayedPlacements::results() {
  std::map<std::string, Compared> results;
  std::unique_ptr<Storage> storage;
  sched::PlacementPolicy* policy = nullptr;
  const Session* session = nullptr;
  u64 next = 0;
  for (const auto& [number, question] : questions_) {
    if (const auto begins = sessions_.find(number); begins != sessions_.end()) {
      if (policy != nullptr) policy->~PlacementPolicy();
      session = &begins->second;
      storage = std::make_unique<Storage>(session->descriptor->size);
      policy = session->descriptor->make(storage->get());
      next = number;
    }
    if (policy == nullptr) continue;  // the recording was switched on before: what the policy remembered is unknown
    if (number != next++) throw std::invalid_argument{"placement " + std::to_string(next - 1) + " is missing"};
    Compared& compared = results[session->descriptor->name];
    ++compared.calls;
    ++compared.decisions;
    const CoreId chosen = decide(*policy, *session, question);
    if (chosen.value == question.answered.chosen) continue;
    if (++compared.different == 1) {
      compared.first_difference = "placement " + std::to_string(number) + " at " + std::to_string(question.asked.now_ns) +
                                  " ns: core " + std::to_string(question.answered.chosen) + " in the kernel, " +
                                  std::to_string(chosen.value) + " here";
    }
  }
  if (policy != nullptr) policy->~PlacementPolicy();
  std::vector<Compared> list;
  for (auto& [name, compared] : results) {
    compared.kind = "placement";
    compared.name = name;
    compared.cores = 1;
    list.push_back(compared);
  }
  return list;
}

}  // namespace corral::sim

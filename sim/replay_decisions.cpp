// See replay_decisions.h.
#include "replay_decisions.h"

#include <stdexcept>

namespace corral::sim {

namespace {

u64 the_draw = 0;
u64 recorded_draw() {
  return the_draw;
}

std::string told(sched::DecisionKind kind, const sched::DecisionAnswered& answered) {
  const std::string who =
      answered.chosen == sched::DecisionAnswered::nobody ? "no core" : "core " + std::to_string(answered.chosen);
  const std::string at = answered.at_ns == never.ns ? "never" : "at " + std::to_string(answered.at_ns);
  if (kind == sched::DecisionKind::leaves_at) return at;
  return kind == sched::DecisionKind::ask ? who + " " + at : who;
}

}  // namespace

void ReplayedDecisions::made(const trace::Record& record) {
  const auto made = data_of<sched::PolicyMade>(record);
  Session& session = sessions_[made.number];
  session.name = name_of(made);
  static_cast<void>(make_replayed(kind_, session.name));  // there is one
  last_made_[record.core] = &session;
}

void ReplayedDecisions::value(const trace::Record& record) {
  const auto value = data_of<sched::PolicyValue>(record);
  Session* const session = last_made_[record.core];
  if (session == nullptr || value.index >= sched::TunableValues::most) throw std::invalid_argument{"a tunable of no policy"};
  session->values.set(value.index, value.value);
}

void ReplayedDecisions::seen(const trace::Record& record) {
  const auto core = static_cast<u32>(record.thread);
  if (core >= max_cores) throw std::invalid_argument{"a core " + std::to_string(record.thread)};
  open_[record.core].cores[core] = data_of<sched::CoreSeen>(record).words;
}

void ReplayedDecisions::asked(const trace::Record& record) {
  Question& question = open_[record.core];
  const auto asked = data_of<sched::DecisionAsked>(record);
  if (question.cores.size() != asked.cores) throw std::invalid_argument{"a decision whose cores are not all there"};
  question.is_asked = true;
  question.asked.kind = static_cast<sched::DecisionKind>(record.detail);
  question.asked.here = CoreId{asked.here};
  question.asked.now = Instant{asked.now_ns};
  question.asked.spare = asked.spare;
  for (u32 i = 0; i < sched::DecisionAsked::words; ++i) question.asked.candidates.set_word(i, asked.candidates[i]);
}

void ReplayedDecisions::about(const trace::Record& record) {
  Question& question = open_[record.core];
  const auto about = data_of<sched::DecisionAbout>(record);
  question.is_about = true;
  question.asked.last_asked = Instant{about.last_asked_ns};
  question.asked.entity = about.entity;
  question.asked.resources = sched::ResourceUse::from_word(about.resources);
}

void ReplayedDecisions::answered(const trace::Record& record) {
  Question& question = open_[record.core];
  if (!question.is_asked || !question.is_about) throw std::invalid_argument{"a decision whose question is not all there"};
  question.answered = data_of<sched::DecisionAnswered>(record);
  if (question.answered.draws > 1) throw std::invalid_argument{"a decision with more than one random number"};
  questions_[question.answered.number] = std::move(question);
  open_.erase(record.core);
}

sched::DecisionAnswered ReplayedDecisions::decide(ReplayedPolicy& policy, const Session& session, const Question& question) {
  for (const auto& [core, words] : question.cores) cores_[core].show(words);
  the_draw = question.answered.draw;
  const sched::DecisionAnswered answered = policy.ask(question.asked, {cores_, recorded_draw, session.values});
  for (const auto& [core, words] : question.cores) cores_[core].show({});
  return answered;
}

void ReplayedDecisions::compare(Compared& compared, u64 number, const Question& question,
                                const sched::DecisionAnswered& here) const {
  ++compared.calls;
  ++compared.decisions;
  const sched::DecisionAnswered& there = question.answered;
  if (here.chosen == there.chosen && here.at_ns == there.at_ns) return;
  if (++compared.different != 1) return;
  compared.first_difference = name_of(kind_) + " " + std::to_string(number) + " at " + std::to_string(question.asked.now.ns) +
                              " ns: " + told(question.asked.kind, there) + " in the kernel, " +
                              told(question.asked.kind, here) + " here";
}

std::vector<Compared> ReplayedDecisions::results() {
  std::map<std::string, Compared> results;
  std::unique_ptr<ReplayedPolicy> policy;
  const Session* session = nullptr;
  u64 next = 0;
  for (const auto& [number, question] : questions_) {
    if (const auto begins = sessions_.find(number); begins != sessions_.end()) {
      session = &begins->second;
      policy = make_replayed(kind_, session->name);
      next = number;
    }
    if (policy == nullptr) continue;  // the recording was switched on before: what the policy remembered is unknown
    if (number != next++) throw std::invalid_argument{name_of(kind_) + " " + std::to_string(next - 1) + " is missing"};
    compare(results[session->name], number, question, decide(*policy, *session, question));
  }
  std::vector<Compared> list;
  for (auto& [name, compared] : results) {
    compared.kind = name_of(kind_);
    compared.name = name;
    compared.cores = 1;
    list.push_back(compared);
  }
  return list;
}

}  // namespace corral::sim

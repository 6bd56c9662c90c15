// See replayed_policy.h.
#include "replayed_policy.h"

#include <stdexcept>

#include "policies.h"

namespace corral::sim {

namespace {

using sched::DecisionAnswered;
using sched::DecisionKind;

DecisionAnswered answer_of(sched::PlacementPolicy& policy, const RecordedQuestion& asked, const sched::SchedulingEntity& entity,
                           const sched::SystemView& view) {
  const auto reason =
      asked.kind == DecisionKind::place_created ? sched::PlacementReason::created : sched::PlacementReason::woken;
  return DecisionAnswered::of(
      policy.select({entity, reason, asked.candidates, asked.candidates.used_words(), asked.here, asked.now}, view));
}

DecisionAnswered answer_of(sched::MigrationPolicy& policy, const RecordedQuestion& asked, const sched::SchedulingEntity& entity,
                           const sched::SystemView& view) {
  switch (asked.kind) {
    case DecisionKind::push: return DecisionAnswered::of(policy.push({entity, asked.candidates, asked.here, asked.now}, view));
    case DecisionKind::ask:
      return DecisionAnswered::of(policy.ask({asked.candidates, asked.here, asked.now, asked.last_asked}, view));
    case DecisionKind::leaves_at:
      return DecisionAnswered::of(policy.leaves_at({entity, asked.candidates, asked.here, asked.spare, asked.now}, view));
    case DecisionKind::place_created:
    case DecisionKind::place_woken: break;
  }
  throw std::invalid_argument{"an unknown question"};
}

template <class Policy, class Descriptor>
class Replayed final : public ReplayedPolicy {
 public:
  explicit Replayed(const Descriptor& descriptor) : storage_{descriptor.size}, policy_{descriptor.make(storage_.get())} {}
  ~Replayed() override { policy_->~Policy(); }
  Replayed(const Replayed&) = delete;
  Replayed& operator=(const Replayed&) = delete;
  DecisionAnswered ask(const RecordedQuestion& question, const sched::SystemView& view) override {
    sched::SchedulingEntity entity;
    question.entity.show(entity);
    entity.resources.store(question.resources, Order::relaxed);
    return answer_of(*policy_, question, entity, view);
  }

 private:
  Storage storage_;
  Policy* policy_;
};

template <class Policy, class Descriptor>
std::unique_ptr<ReplayedPolicy> make(std::span<const Descriptor* const> known, sched::PolicyKind kind,
                                     const std::string& name) {
  for (const Descriptor* descriptor : known) {
    if (descriptor->name == name) return std::make_unique<Replayed<Policy, Descriptor>>(*descriptor);
  }
  throw std::invalid_argument{"there is no " + name_of(kind) + " " + name + " here"};
}

}  // namespace

std::unique_ptr<ReplayedPolicy> make_replayed(sched::PolicyKind kind, const std::string& name) {
  if (kind == sched::PolicyKind::placement) return make<sched::PlacementPolicy>(sched::placements(), kind, name);
  return make<sched::MigrationPolicy>(sched::migrations(), kind, name);
}

std::string name_of(sched::PolicyKind kind) {
  switch (kind) {
    case sched::PolicyKind::timeline: return "algorithm";
    case sched::PolicyKind::placement: return "placement";
    case sched::PolicyKind::migration: break;
  }
  return "migration";
}

}  // namespace corral::sim

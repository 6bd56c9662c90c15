#include "sched/engine/migrator.h"

namespace corral::sched {

bool Migrator::add(const MigrationDescriptor& descriptor, void* storage) {
  if (count_ == max_policies) return false;
  entries_[count_].descriptor = &descriptor;
  entries_[count_].policy = descriptor.make(storage);
  ++count_;
  return true;
}

bool Migrator::use(const MigrationDescriptor& descriptor, const TunableValues& values) {
  for (u32 i = 0; i < count_; ++i) {
    if (entries_[i].descriptor != &descriptor) continue;
    entries_[i].values = values;
    current_.store(&entries_[i], Order::release);
    return true;
  }
  return false;
}

CoreId Migrator::push_target(const PushRequest& request) {
  const Entry& current = *current_.load(Order::acquire);
  if (!current.descriptor->pushes || !is_usual(request.entity) || request.candidates.empty()) return no_core;
  const CoreId target = current.policy->push(request, {cores_, random_, current.values});
  if (target == no_core || request.candidates.contains(target)) return target;
  violations_.fetch_add(1, Order::relaxed);
  return no_core;
}

PullAnswer Migrator::whom_to_ask(const PullRequest& request) {
  const Entry& current = *current_.load(Order::acquire);
  if (!current.descriptor->pulls || request.candidates.empty()) return {};
  PullAnswer answer = current.policy->ask(request, {cores_, random_, current.values});
  if (answer.from == no_core) return {};
  if (!request.candidates.contains(answer.from)) {
    violations_.fetch_add(1, Order::relaxed);
    return {};
  }
  if (answer.at > request.now && answer.at < request.now + shortest_pause) answer.at = request.now + shortest_pause;
  return answer;
}

Instant Migrator::leaves_at(const LeaveRequest& request) const {
  const Entry& current = *current_.load(Order::acquire);
  if (!current.descriptor->pulls || !is_usual(request.entity) || request.spare == 0) return never;
  return current.policy->leaves_at(request, {cores_, random_, current.values});
}

}  // namespace corral::sched

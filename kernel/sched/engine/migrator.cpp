#include "sched/engine/migrator.h"

#include <algorithm>

namespace corral::sched {

namespace {

[[nodiscard]] bool is_usual(const SchedulingEntity& entity) {
  return entity.real_time == 0;
}

[[nodiscard]] bool is_absurd(Instant when, Instant now) {
  return when > now + Migrator::longest_wait;
}

// As the policy wants it, but not so soon that nothing else is done.
[[nodiscard]] Instant with_pause(Instant when, Instant now) {
  return when <= now ? when : std::max(when, now + Migrator::shortest_pause);
}

}  // namespace

// What answers are compared with, and who is told of, is read before the policy is asked: the request is in its hands.
CoreId Migrator::push_target(const PushRequest& request) {
  const MigrationSlot& slot = policies_.in_force();
  if (!slot.descriptor->pushes || !is_usual(request.entity) || request.candidates.empty()) return no_core;
  const CoreSet candidates = request.candidates;
  PolicyFailure failure{{}, PolicyCall::push, request.entity.number, request.here, request.now};
  CoreId target;
  if (!policies_.ask<&MigrationPolicy::push>(slot, request, target)) [[unlikely]] {
    failure.misdeed = misdeed_of(arch::last_call_failure());
  } else if (target == no_core) {
    counts_[failure.here.value].needless.store(0, Order::relaxed);
    return no_core;
  } else if (!candidates.contains(target)) [[unlikely]] {
    failure.misdeed = Misdeed::outside;
  } else if (!may_push(failure.here, target)) [[unlikely]] {
    failure.misdeed = Misdeed::to_and_fro;
  } else {
    return target;
  }
  policies_.replace(slot, failure);
  return no_core;
}

bool Migrator::may_push(CoreId here, CoreId target) {
  if (cores_[target.value].load() < cores_[here.value].runnable()) return true;
  Atomic<u32>& needless = counts_[here.value].needless;
  const u32 number = needless.load(Order::relaxed) + 1;
  needless.store(number % most_needless, Order::relaxed);
  return number < most_needless;
}

PullAnswer Migrator::whom_to_ask(const PullRequest& request) {
  const MigrationSlot& slot = policies_.in_force();
  if (!slot.descriptor->pulls || request.candidates.empty()) return {};
  const CoreSet candidates = request.candidates;
  PolicyFailure failure{{}, PolicyCall::ask, 0, request.here, request.now};
  PullAnswer answer;
  if (!policies_.ask<&MigrationPolicy::ask>(slot, request, answer)) [[unlikely]] {
    failure.misdeed = misdeed_of(arch::last_call_failure());
  } else if (answer.from == no_core) {
    return {};
  } else if (!candidates.contains(answer.from)) [[unlikely]] {
    failure.misdeed = Misdeed::outside;
  } else if (is_absurd(answer.at, failure.now)) [[unlikely]] {
    failure.misdeed = Misdeed::absurd_time;
  } else {
    return {answer.from, with_pause(answer.at, failure.now)};
  }
  policies_.replace(slot, failure);
  return {};
}

Instant Migrator::leaves_at(const LeaveRequest& request) {
  const MigrationSlot& slot = policies_.in_force();
  if (!slot.descriptor->pulls || !is_usual(request.entity) || request.spare == 0) return never;
  const Instant cold = request.cold_after(hot());
  PolicyFailure failure{{}, PolicyCall::leaves_at, request.entity.number, request.here, request.now};
  Instant leaves;
  if (!policies_.ask<&MigrationPolicy::leaves_at>(slot, request, leaves)) [[unlikely]] {
    failure.misdeed = misdeed_of(arch::last_call_failure());
  } else if (leaves == never) {
    return never;
  } else if (is_absurd(leaves, failure.now)) [[unlikely]] {
    failure.misdeed = Misdeed::absurd_time;
  } else {
    return with_pause(std::max(leaves, cold), failure.now);
  }
  policies_.replace(slot, failure);
  return never;
}

}  // namespace corral::sched

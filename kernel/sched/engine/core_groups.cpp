// See core_groups.h.
#include "sched/engine/core_groups.h"

#include "lib/format.h"
#include "sched/engine/safe_policies.h"

namespace corral::sched {

const GroupingDescriptor* CoreGroups::method_in(u64 state) {
  const u64 place = place_in(state);
  if (place == safe_place) return &SafeGrouping::descriptor;
  return place == 0 ? nullptr : groupings()[place - 1];
}

u64 CoreGroups::place_of(const GroupingDescriptor& method) {
  if (method.method == nullptr) return 0;
  u64 index = 0;
  while (groupings()[index] != &method) ++index;
  return index + 1;
}

CoreSet CoreGroups::group(bool real_time, const CoreSet& online) const {
  if (none()) return online;
  const CoreSet chosen = real_time_.snapshot(Order::acquire);
  const CoreSet group = real_time ? online & chosen : online.without(chosen);
  return group.empty() ? online : group;  // half of a change was read
}

CoreSet CoreGroups::shown(const CoreSet& asked, bool real_time, const CoreSet& online) const {
  const GroupingDescriptor* method = current();
  if (method == nullptr || !method->sets_masks) return asked;
  return within(asked, group(real_time, online));
}

void CoreGroups::renew(SchedulingEntity& entity, const CoreSet& online) const {
  const u64 state = state_.load(Order::acquire);  // before the sets: half of a newer change is noticed later
  const GroupingDescriptor* method = method_in(state);
  entity.allowed = method == nullptr ? entity.asked : within(entity.asked, group(entity.real_time != 0, online));
  if (method == nullptr || method->sets_masks) entity.groups = state;
}

bool CoreGroups::may_use_whole_group(const SchedulingEntity& entity, const CoreSet& online) const {
  return group(entity.real_time != 0, online).without(usable(entity, online)).empty();
}

CoreSet CoreGroups::turn_away(SchedulingEntity& entity, CoreId here, const CoreSet& online) {
  renew(entity, online);
  if (entity.allowed.contains(here)) return {};
  const CoreSet elsewhere = entity.allowed & online;
  if (elsewhere.empty()) return {};  // who places it next widens such a mask
  guards_entry() ? count_turned_away() : count_moved();  // sent here on purpose, or by groups that have changed since
  return elsewhere;
}

// It comes to an end: of `left` each core is proposed once, and one of `own` is never blocked.
CoreId CoreGroups::place(const SchedulingEntity& entity, Proposals& policy, const CoreSet& online, CoreId here, Instant now) {
  const u64 state = state_.load(Order::acquire);
  const GroupingDescriptor* method = method_in(state);
  if (method == nullptr) return policy.among(usable(entity, online));
  const CoreSet group = this->group(entity.real_time != 0, online);
  const CoreSet own = within(entity.asked, group);
  CoreSet left = within(entity.asked, online);
  PolicyFailure failure{{}, PolicyCall::choose, entity.number, here, now};
  for (u32 blocked = 0;; ++blocked) {
    // Copies: what the answer is compared with is not in the method's hands.
    const GroupingRequest request{left, group, own, blocked};
    CoreSet candidates;
    if (!arch::call_guarded<&GroupingMethod::choose>(*method->method, request, candidates)) [[unlikely]] {
      failure.misdeed = misdeed_of(arch::last_call_failure());
      break;
    }
    if (candidates.empty() || !candidates.without(left | own).empty()) [[unlikely]] {
      failure.misdeed = Misdeed::outside;
      break;
    }
    const CoreId proposed = policy.among(candidates);
    if (method->guards_entry || group.contains(proposed)) return proposed;
    blocked_.fetch_add(1, Order::relaxed);
    left.remove(proposed);
  }
  replace(state, failure);
  return policy.among(own);
}

void CoreGroups::replace(u64 state, const PolicyFailure& failure) {
  violations_.fetch_add(1, Order::relaxed);
  const bool first = state_.compare_exchange(state, (state - place_in(state)) | safe_place, Order::acq_rel, Order::acquire);
  if (first && listener_ != nullptr) listener_(*method_in(state), configuration_.values, failure);
}

u32 CoreGroups::share(const Configuration& wanted, u32 online, u32 needed, Refusal& why) {
  const i64 ratio = wanted.values.number(GroupTunables::ratio);
  const u32 share = real_time_share({first_of(ratio), second_of(ratio)}, online);
  const auto refuse = [&](std::string_view format, const auto&... arguments) {
    why.length = format_to(why.text, format, arguments...).size();
    return 0u;
  };
  if (online < 2) return refuse("there is one core only: a group would have none");
  if (share == 0) {
    return refuse("ratio {}:{} leaves real-time threads none of {} cores", first_of(ratio), second_of(ratio), online);
  }
  if (share >= online) {
    return refuse("ratio {}:{} leaves threads that are not real-time none of {} cores", first_of(ratio), second_of(ratio),
                  online);
  }
  if (share < needed) return refuse("{} cores are too few for what is reserved: {} are needed", share, needed);
  return share;
}

GroupLoads CoreGroups::loads(std::span<const CoreStatistics> numbers, const CoreSet& online, u32 elsewhere, Instant now) const {
  const CoreSet real_time = group(true, online);
  GroupLoads loads;
  online.for_each([&](CoreId core) {
    GroupLoad& group = real_time.contains(core) ? loads.real_time : loads.normal;
    group.busy_ns += now.ns - numbers[core.value].idle_time(now).ns;
    const u32 runnable = numbers[core.value].load();
    group.waiting += runnable > 1 ? runnable - 1 : 0;
  });
  loads.normal.waiting += elsewhere;
  return loads;
}

u32 CoreGroups::next_share(Demand& demand, const GroupLoads& loads, const CoreSet& online, u32 needed, Instant now) const {
  const u32 cores = online.count();
  if (!configuration_.dynamic() || under_way() || cores < 2) return 0;
  const u32 present = group(true, online).count();
  const auto hysteresis = static_cast<u32>(configuration_.values.number(GroupTunables::hysteresis));
  u32 next = demand.next(loads, now, cores, present, hysteresis);
  if (next < needed) next = needed < cores ? needed : cores - 1;
  return next == present ? 0 : next;
}

void CoreGroups::begin(const Configuration& wanted, const CoreSet& online, u32 real_time) {
  configuration_ = wanted;
  if (wanted.method->method != nullptr) lay_out_groups(online, real_time);
  taking_.assign(online, Order::release);
  const u64 changes = (state_.load(Order::relaxed) >> method_bits) + 1;
  state_.store(changes << method_bits | place_of(*wanted.method), Order::release);
}

void CoreGroups::resize(const CoreSet& online, u32 real_time) {
  lay_out_groups(online, real_time);
  taking_.assign(online, Order::release);
  state_.fetch_add(u64{1} << method_bits, Order::release);
}

void CoreGroups::lay_out_groups(const CoreSet& online, u32 real_time) {
  const auto layout = static_cast<Layout>(configuration_.values.number(GroupTunables::layout));
  real_time_.assign(lay_out(online, layout, real_time), Order::release);
}

}  // namespace corral::sched

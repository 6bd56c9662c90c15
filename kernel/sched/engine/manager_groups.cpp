// The part of the SchedulingManager that partitions the cores. See core_groups.h for how a change takes effect.
#include "device/clock.h"
#include "lib/core_list.h"
#include "lib/format.h"
#include "sched/deadline/reservation.h"
#include "sched/engine/change_note.h"
#include "sched/engine/manager.h"
#include "sync/interleave.h"

namespace corral {

namespace {

// The placement policy, asked for one of a set of cores.
class AskedPolicy final : public sched::Proposals {
 public:
  AskedPolicy(sched::Placer& placer, const sched::SchedulingEntity& entity, sched::PlacementReason reason, CoreId here)
      : placer_{placer}, entity_{entity}, reason_{reason}, here_{here}, now_{clock::now()} {}
  CoreId among(const CoreSet& candidates) override { return placer_.choose(entity_, reason_, candidates, here_, now_); }

 private:
  sched::Placer& placer_;
  const sched::SchedulingEntity& entity_;
  const sched::PlacementReason reason_;
  const CoreId here_;
  const Instant now_;
};

}  // namespace

CoreId SchedulingManager::place_in_group(sched::SchedulingEntity& entity, sched::PlacementReason reason,
                                         const CoreSet& online) {
  const CoreId here = this_core().id();
  if (online.empty()) return here;
  AskedPolicy policy{placer_, entity, reason, here};
  const CoreId chosen = groups_.place(entity, policy, online);
  placer_.assign(entity, chosen, here);
  interleave::point();  // the groups may change before the entity is there
  return chosen;
}

CoreId SchedulingManager::turn_away_unless_let_in(sched::SchedulingEntity& entity) {
  const CoreId here = this_core().id();
  renew_mask(entity);
  if (entity.allowed.contains(here)) return sched::no_core;
  const CoreSet elsewhere = entity.allowed & usable();
  if (elsewhere.empty()) return sched::no_core;  // place() widens such a mask
  // Sent here on purpose, or by groups that have changed since.
  if (groups_.guards_entry()) {
    groups_.count_turned_away();
  } else {
    groups_.count_moved();
  }
  AskedPolicy policy{placer_, entity, sched::PlacementReason::woken, here};
  const CoreId chosen = policy.among(elsewhere);
  placer_.assign(entity, chosen, here);
  return chosen;
}

void SchedulingManager::groups_taken() {
  groups_.taken(this_core().id());
}

void SchedulingManager::tell_groups(const CoreSet& online) {
  Circular& circular = this_core().scheduler->groups_;  // free: every core has read the last one
  circular.message = Message{MessageType::core_groups, {}};
  circular.targets = online;
  this_core().outbox().send(circular);
}

Result<void> SchedulingManager::set_groups(std::string_view text, sched::Refusal& why) {
  sched::CoreGroups::Configuration wanted;
  wanted.method = sched::choose_grouping(text, tick_, wanted.values, why);
  if (wanted.method == nullptr) return Errno::einval;
  const CoreSet online = usable();
  LockGuard guard{lock_};
  if (groups_.under_way()) {
    why.length = format_to(why.text, "the last change has not reached all cores yet").size();
    return Errno::ebusy;
  }
  if (wanted.method->method == nullptr && groups_.none()) return {};
  u32 share = 0;
  if (wanted.method->method != nullptr) {
    share = sched::CoreGroups::share(wanted, online.count(), sched::cores_reserved.load(Order::relaxed), why);
    if (share == 0) return Errno::einval;
  }
  groups_.begin(wanted, online, share);
  interleave::point();
  tell_groups(online);
  dynamic_ratio_.set(this_core(), wanted.dynamic() ? wanted.values.time(sched::GroupTunables::interval) : Duration{});
  note_change("groups", text);
  return {};
}

sched::GroupLoads SchedulingManager::group_loads() const {
  const Instant now = clock::now();
  const CoreSet real_time = group_of(true);
  sched::GroupLoads loads;
  cores().for_each([&](CoreId core) {
    const sched::CoreStatistics& numbers = statistics(core);
    sched::GroupLoad& group = real_time.contains(core) ? loads.real_time : loads.normal;
    group.busy_ns += now.ns - numbers.idle_time(now).ns;
    const u32 runnable = numbers.load();
    group.waiting += runnable > 1 ? runnable - 1 : 0;
  });
  loads.normal.waiting += global_queue_.waiting();
  return loads;
}

void SchedulingManager::adapt_groups(sched::Demand& demand, bool begin) {
  const Instant now = clock::now();
  if (begin) return demand.begin(group_loads(), now);
  if (!lock_.try_lock()) return;  // somebody changes something else; the next interval is early enough
  const sched::CoreGroups::Configuration& configuration = groups_.configuration();
  const CoreSet online = usable();
  if (configuration.dynamic() && !groups_.under_way() && online.count() >= 2) {
    const u32 present = groups_.group(true, online).count();
    const auto hysteresis = static_cast<u32>(configuration.values.number(sched::GroupTunables::hysteresis));
    u32 next = demand.next(group_loads(), now, online.count(), present, hysteresis);
    if (const u32 needed = sched::cores_reserved.load(Order::relaxed); next < needed)
      next = needed < online.count() ? needed : online.count() - 1;
    if (next != present) {
      groups_.begin(configuration, online, next);
      demand.regroup(group_loads());
      tell_groups(online);
    }
  }
  lock_.unlock();
}

size_t SchedulingManager::describe_groups(char* to, size_t size) const {
  size_t used = 0;
  const auto line = [&](std::string_view format, const auto&... arguments) {
    used += format_to({to + used, size - used}, format, arguments...).size();
  };
  const sched::GroupingDescriptor* groups = groups_.current();
  if (groups == nullptr) return 0;
  describe_tunables(*groups, groups_.configuration().values, tick_, line);
  line("groups real-time cores ");
  write_core_list(group_of(true), line);
  line("\ngroups normal cores ");
  write_core_list(group_of(false), line);
  line("\ngroups change {}", groups_.under_way() ? "under way" : "complete");
  line("\ngroups changes {} moved {} blocked {} turned away {}\n", groups_.changes(), groups_.moved(), groups_.blocked(),
       groups_.turned_away());
  if (dynamic_ratio_.interval_ns() != 0) {
    line("groups demand, thousandths of a thread: real-time {} normal {}\n", dynamic_ratio_.real_time_demand(),
         dynamic_ratio_.normal_demand());
  }
  return used;
}

}  // namespace corral

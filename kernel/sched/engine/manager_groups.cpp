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

// The placement policy, asked for one of a set of cores. `scores`: of the last answer.
class AskedPolicy final : public sched::Proposals {
 public:
  AskedPolicy(sched::Placer& placer, const sched::SchedulingEntity& entity, sched::PlacementReason reason, CoreId here,
              sched::PlacementScores* scores = nullptr)
      : placer_{placer}, entity_{entity}, reason_{reason}, here_{here}, now_{clock::now()}, scores_{scores} {}
  [[nodiscard]] Instant now() const { return now_; }
  CoreId among(const CoreSet& candidates) override {
    return placer_.choose(entity_, reason_, candidates, here_, now_, scores_);
  }

 private:
  sched::Placer& placer_;
  const sched::SchedulingEntity& entity_;
  const sched::PlacementReason reason_;
  const CoreId here_;
  const Instant now_;
  sched::PlacementScores* const scores_;
};

}  // namespace

CoreId SchedulingManager::place_in_group(sched::SchedulingEntity& entity, sched::PlacementReason reason, const CoreSet& online,
                                         sched::PlacementScores* scores) {
  const CoreId here = this_core().id();
  if (online.empty()) return here;
  AskedPolicy policy{placer_, entity, reason, here, scores};
  const CoreId chosen = groups_.place(entity, policy, online, here, policy.now());
  placer_.assign(entity, chosen, here);
  interleave::point();  // the groups may change before the entity is there
  return chosen;
}

CoreId SchedulingManager::turn_away_unless_let_in(sched::SchedulingEntity& entity) {
  const CoreId here = this_core().id();
  const CoreSet elsewhere = groups_.turn_away(entity, here, usable());
  if (elsewhere.empty()) return sched::no_core;
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
  if (!is_complete("the groups", groups_.under_way_on(), why)) return Errno::ebusy;
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
  note_change(changes_, "groups", text);
  return {};
}

void SchedulingManager::adapt_groups(sched::Demand& demand, bool begin) {
  const Instant now = clock::now();
  const CoreSet online = usable();
  const auto loads = [&] { return groups_.loads(placer_.all_statistics(), online, global_queue_.waiting(), now); };
  if (begin) return demand.begin(loads(), now);
  if (!lock_.try_lock()) return;  // somebody changes something else; the next interval is early enough
  const u32 reserved = sched::cores_reserved.load(Order::relaxed);
  if (const u32 share = groups_.next_share(demand, loads(), online, reserved, now); share != 0) {
    groups_.resize(online, share);
    demand.regroup(loads());
    tell_groups(online);
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

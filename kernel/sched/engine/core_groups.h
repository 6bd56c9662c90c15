// CoreGroups: the engine round a grouping method (sched/grouping_method.h): which cores the two groups have now, and which of
// them an entity may use. The one place that answers that, for placement, for the balance of the real-time class, for moves.
//
// An entity is of the real-time group while it is in the real-time class, by its own priority or an inherited one, or by a
// reservation; else of the normal group.
//
// How a change takes effect, without a lock on the way of a wake-up. The new groups are published, then every core is told by a
// message. Whoever placed an entity by the old groups, or by half of the new ones, did that in a step before its core read that
// message; so:
//  - who waits, rests or runs on a core is looked at when the core reads the message (Executive::take_core_groups), and at
//    every change of its class or its mask;
//  - who enters a queue, from its wait or from another core, is looked at there once more: the groups may have changed since
//    its core was chosen; and who is taken from the global queue may have a newer mask than that core has groups
//    (Executive::invite_guest);
//  - who sleeps is looked at when it is woken, because SchedulingEntity::groups tells for which groups its mask was made.
// A second change is refused until every core has read the message about the first.
//
// Every call of a method is guarded, and no answer is believed; one that does wrong is replaced by the engine's own, with which the
// groups stay as they are (engine/safe_policies.h, docs/safety.md), until somebody chooses again.
//
// While there never were groups a wake-up costs the look at one word (settled()); with masks that are set, the same.
// Context: settled(), usable(), renew(), place(): any core, interrupts off, by who owns the entity at that moment.
#pragma once

#include "sched/core_statistics.h"
#include "sched/engine/policy_slots.h"
#include "sched/groups/demand.h"
#include "sched/groups/layout.h"
#include "sched/policy_choice.h"
#include "sched/scheduling_entity.h"

namespace corral::sched {

class CoreGroups {
 public:
  // The entity's mask is up to date, and no other question is to be asked when it is placed.
  [[nodiscard]] bool settled(const SchedulingEntity& entity) const { return entity.groups == state_.load(Order::acquire); }
  // Every thread may use every core.
  [[nodiscard]] bool none() const { return place_in(state_.load(Order::acquire)) == 0; }
  // The placement policy may propose any core, whose run queue then turns away who is not of its group.
  [[nodiscard]] bool guards_entry() const {
    const GroupingDescriptor* method = current();
    return method != nullptr && method->guards_entry;
  }

  // The cores of `online` that belong to the group of a class; all of `online` when there are no groups. Not empty.
  [[nodiscard]] CoreSet group(bool real_time, const CoreSet& online) const;
  // The cores of `online` that an entity may use now: of its group, and of its own mask as far as that has any of them.
  [[nodiscard]] CoreSet usable(const SchedulingEntity& entity, const CoreSet& online) const {
    if (settled(entity)) [[likely]]
      return entity.allowed & online;
    return none() ? entity.asked & online : within(entity.asked, group(entity.real_time != 0, online));
  }
  // The mask that a thread which asked for `asked` is shown to have; may have cores that are not online.
  [[nodiscard]] CoreSet shown(const CoreSet& asked, bool real_time, const CoreSet& online) const;
  // Brings the entity's mask (SchedulingEntity::allowed) up to date: its class, what it asked for, or the groups may have
  // changed. Whoever has it in hand then finds in the mask where it may be, whatever the method.
  void renew(SchedulingEntity& entity, const CoreSet& online) const;
  // `entity` may use every core of `online` that is of its group. Only a question: who waits on a core or runs there has a new mask
  // when that core has taken the change, and can be sent away.
  [[nodiscard]] bool may_use_whole_group(const SchedulingEntity& entity, const CoreSet& online) const;
  // `entity` is to be enqueued on `here`, and is not settled. Brings its mask up to date, and answers where it has to go instead,
  // which is counted; empty: it may come in.
  [[nodiscard]] CoreSet turn_away(SchedulingEntity& entity, CoreId here, const CoreSet& online);
  // Where a new or woken entity goes that is not settled, by the method; one of `online`, which is not empty. Asked by core `here`.
  [[nodiscard]] CoreId place(const SchedulingEntity& entity, Proposals& policy, const CoreSet& online, CoreId here,
                             Instant now);
  // Told, on the core that asked, that the method in force was replaced. Boot context.
  using Listener = void (*)(const GroupingDescriptor& failed, const TunableValues& values, const PolicyFailure& failure);
  void set_listener(Listener listener) { listener_ = listener; }

  // ---- one at a time (the manager's lock) -----------------------------------------------------------------------------
  struct Configuration {
    const GroupingDescriptor* method = nullptr;  // null: never set
    TunableValues values;
    [[nodiscard]] bool dynamic() const {
      return method != nullptr && method->method != nullptr && values.number(GroupTunables::dynamic) != 0;
    }
  };
  // How many of `online` the real-time class gets, at least `needed`. 0: refused for `why`.
  [[nodiscard]] static u32 share(const Configuration& wanted, u32 online, u32 needed, Refusal& why);
  // What both groups have had to do on the cores of `online`, of which `numbers` are; `elsewhere`: threads of the normal group that
  // wait in no core's queue.
  [[nodiscard]] GroupLoads loads(std::span<const CoreStatistics> numbers, const CoreSet& online, u32 elsewhere,
                                 Instant now) const;
  // An interval of a dynamic ratio has passed. How many of `online` cores the real-time class gets from now on, at least `needed`
  // as far as that leaves one to the others; 0: nothing is to be changed, or cannot be yet. Else: resize(), then demand.regroup().
  [[nodiscard]] u32 next_share(Demand& demand, const GroupLoads& loads, const CoreSet& online, u32 needed, Instant now) const;
  // From now on; `real_time` of `online` are the real-time class's. Every core of `online` is to be told, and to call taken().
  void begin(const Configuration& wanted, const CoreSet& online, u32 real_time);
  // The same groups with another ratio; a method that was replaced stays so. As begin() in all else.
  void resize(const CoreSet& online, u32 real_time);
  // Not every core has read the message about the last change yet.
  [[nodiscard]] bool under_way() const { return !under_way_on().empty(); }
  [[nodiscard]] CoreSet under_way_on() const { return taking_.snapshot(Order::acquire); }
  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  // Any core; null: none. Its values are those of configuration().
  [[nodiscard]] const GroupingDescriptor* current() const { return method_in(state_.load(Order::acquire)); }

  // ---- counters, any core --------------------------------------------------------------------------------------------
  void taken(CoreId core) { taking_.remove(core, Order::acq_rel); }
  void count_moved() { moved_.fetch_add(1, Order::relaxed); }
  void count_turned_away() { turned_away_.fetch_add(1, Order::relaxed); }
  [[nodiscard]] u64 changes() const { return state_.load(Order::relaxed) >> method_bits; }
  [[nodiscard]] u64 moved() const { return moved_.load(Order::relaxed); }
  [[nodiscard]] u64 blocked() const { return blocked_.load(Order::relaxed); }
  [[nodiscard]] u64 turned_away() const { return turned_away_.load(Order::relaxed); }
  // How often a method failed since start.
  [[nodiscard]] u64 violations() const { return violations_.load(Order::relaxed); }

 private:
  static constexpr u32 method_bits = 8;
  static constexpr u64 safe_place = (1u << method_bits) - 1;
  [[nodiscard]] static u64 place_in(u64 state) { return state & ((1u << method_bits) - 1); }
  [[nodiscard]] static const GroupingDescriptor* method_in(u64 state);
  [[nodiscard]] static u64 place_of(const GroupingDescriptor& method);
  void lay_out_groups(const CoreSet& online, u32 real_time);
  // The method of `state` has failed: the machine goes on with the engine's own.
  void replace(u64 state, const PolicyFailure& failure);

  // How many changes there were << method_bits | the method's place in groupings() + 1, 0 for none or safe_place. Written after the
  // sets, and by whoever finds that a method has failed.
  Atomic<u64> state_{0};
  AtomicCoreSet real_time_;  // the real-time group's; read word by word, see above
  AtomicCoreSet taking_;  // cores that have not read the message about the last change
  Configuration configuration_;
  Atomic<u64> moved_{0};  // entities that had to leave a core which is not of their group any more
  Atomic<u64> blocked_{0};  // moves that were refused
  Atomic<u64> turned_away_{0};  // entities that a run queue did not let in
  Atomic<u64> violations_{0};
  Listener listener_ = nullptr;  // boot, then constant
};

}  // namespace corral::sched

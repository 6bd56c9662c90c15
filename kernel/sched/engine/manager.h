// SchedulingManager: all schedulers of the machine and the placement policy between them (paper 000, section 3.6).
//
// The executive asks place() for the home of every new and woken thread, then either enqueues it itself (the answer is the
// asking core) or sends it in an `arrive` message. The manager counts travelling entities, checks the policy's answers,
// and changes policies while the machine runs.
//
// A core is known here only when its scheduler is complete: add() publishes last.
#pragma once

#include "lib/thread_annotations.h"
#include "sched/engine/core_groups.h"
#include "sched/engine/dynamic_ratio.h"
#include "sched/engine/global_queue.h"
#include "sched/engine/migrator.h"
#include "sched/engine/placer.h"
#include "sched/engine/random_source.h"
#include "sched/engine/scheduler.h"
#include "sync/spin_lock.h"

namespace corral {

class SchedulingManager {
 public:
  struct Options {
    std::string_view algorithm = sched::default_algorithm;  // sched.algorithm=, as policy_choice.h reads it
    std::string_view placement = sched::default_placement;  // sched.placement=, the same
    std::string_view migration = sched::default_migration;  // sched.migration=, the same
    Duration tick = milliseconds(4);                        // 1 / timer.hz; 1 µs … 1 s
    bool global_queue = false;                              // sched.queues=global
    bool wakers_place = false;                              // sched.wakes=waker
  };

  // ---- boot context ------------------------------------------------------------------------------------------------
  // Once, before add(). einval: unknown name or a tick out of range, logged with the names that exist; nothing
  // changed, to be called again with what does exist. enomem.
  Result<void> initialise(const Options& options);
  // Makes the core's scheduler, registers the device, sets core.scheduler and lets entities be placed there. Before
  // that core is online; by itself or by the core that starts it. enomem.
  Result<void> add(Core& core) EXCLUDES(lock_);

  // ---- any core, interrupts off, no lock ---------------------------------------------------------------------------
  // The core where `entity` (in no queue; the caller's at this moment) is to be enqueued, allowed and online. When it is
  // another core than the calling one, the entity is accounted as on the way until its enqueue() there.
  // An affinity mask without any online core cannot be kept: it is widened to all (counted).
  // `scores`, if there are any: see Placer::choose().
  [[nodiscard]] CoreId place(sched::SchedulingEntity& entity, sched::PlacementReason reason,
                             sched::PlacementScores* scores = nullptr);
  // Brings entity.allowed up to date after its class, or entity.asked, or the groups have changed. Who has it in hand.
  void renew_mask(sched::SchedulingEntity& entity) const { groups_.renew(entity, usable()); }
  // `entity` is to be enqueued on the calling core: the core where it goes instead, because this one is not of its group, or
  // is not any more. no_core: it may come in. As place() in all else.
  [[nodiscard]] CoreId turn_away(sched::SchedulingEntity& entity) {
    if (groups_.settled(entity)) [[likely]]
      return sched::no_core;
    return turn_away_unless_let_in(entity);
  }
  // The same account for a core that the caller has chosen (affinity changed, explicit migration).
  void send(sched::SchedulingEntity& entity, CoreId to);
  // Cores that threads may be sent to.
  [[nodiscard]] CoreSet usable() const { return ready_.snapshot(Order::acquire) & cores::online(); }
  // Where `entity` may be now: online cores of its mask and its group (engine/core_groups.h). May be empty. The one answer for
  // whoever moves entities.
  [[nodiscard]] CoreSet cores_for(const sched::SchedulingEntity& entity) const { return groups_.usable(entity, usable()); }
  // Its mask is up to date; see CoreGroups.
  [[nodiscard]] bool is_settled(const sched::SchedulingEntity& entity) const { return groups_.settled(entity); }
  // `entity` was placed but will not arrive (its thread ended on the way).
  void forget(sched::SchedulingEntity& entity) { placer_.forget(entity); }

  // ---- the global queue: task/global_queue.cpp does what it says --------------------------------------------------
  [[nodiscard]] sched::GlobalQueue& global_queue() { return global_queue_; }
  // `core` looks anew who is to run there.
  void ask_to_look(CoreId core);
  // For checks: how many shares of the cores' time there are, to one of which somebody of this weight who waits there has a right. Others
  // there have a turn before it, which is short whatever they weigh; those in the cores' run queues have what they weigh.
  [[nodiscard]] u64 shares_beside_global(u32 weight) const;
  // `entity` is to wait there when it waits; asked by who has it in hand.
  [[nodiscard]] bool waits_globally(const sched::SchedulingEntity& entity) const {
    return global_queue_.in_use() && entity.real_time == 0 && groups_.may_use_whole_group(entity, usable());
  }

  // ---- the real-time class between cores; own core, interrupts off -------------------------------------------------
  // The calling core has real-time entities waiting, or none. Before it looks where they could go.
  void note_real_time_waits(bool waits);
  // Where `entity`, which waits on the calling core, may go.
  [[nodiscard]] CoreSet real_time_candidates(const sched::SchedulingEntity& entity) const;
  // The one of `candidates` where it would run at once; no_core: none.
  [[nodiscard]] CoreId real_time_target(const sched::SchedulingEntity& entity, const CoreSet& candidates) const {
    return placer_.lowest_below(entity, candidates);
  }
  // The calling core stands lower than it did: cores where real-time entities wait are asked to look again.
  void offer_room();

  [[nodiscard]] Scheduler* scheduler(CoreId core) const;  // null: none (yet)
  [[nodiscard]] const sched::CoreStatistics& statistics(CoreId core) const { return placer_.statistics(core); }
  [[nodiscard]] std::span<const sched::CoreStatistics> all_statistics() const { return placer_.all_statistics(); }
  [[nodiscard]] Duration tick() const { return tick_; }
  [[nodiscard]] CoreSet cores() const { return ready_.snapshot(Order::acquire); }
  [[nodiscard]] std::string_view algorithm_name() const { return algorithm_.load(Order::acquire)->name; }
  [[nodiscard]] std::string_view placement_name() const { return placer_.policies().in_force().descriptor->name; }
  [[nodiscard]] std::string_view migration_name() const { return migrator_.policies().in_force().descriptor->name; }
  // The migration policy; task/migration.cpp does what it says.
  [[nodiscard]] sched::Migrator& migrator() { return migrator_; }
  [[nodiscard]] std::string_view groups_name() const {
    const sched::GroupingDescriptor* groups = groups_.current();
    return groups == nullptr ? sched::default_grouping : groups->name;
  }

  // ---- core groups: any core ---------------------------------------------------------------------------------------
  // Of those online, the cores of a class's group; without groups all.
  [[nodiscard]] CoreSet group_of(bool real_time) const { return groups_.group(real_time, usable()); }
  // The mask that a thread which asked for `asked` has, for those who look.
  [[nodiscard]] CoreSet shown_mask(const CoreSet& asked, bool real_time) const {
    return groups_.shown(asked, real_time, usable());
  }
  // The calling core has looked at all its threads after a change of the queues (MessageType::queues).
  void queues_taken();
  // … of the groups (MessageType::core_groups).
  void groups_taken();
  void count_moved_by_groups() { groups_.count_moved(); }
  // One interval of a dynamic ratio has passed (DynamicRatio).
  void adapt_groups(sched::Demand& demand, bool begin) EXCLUDES(lock_);

  // ---- any core, from a thread's step ------------------------------------------------------------------------------
  // Changes the policy of all cores, the timeline also of some only; each core changes it at its next look, which this causes.
  // `text`: as policy_choice.h reads it. einval: refused for `why`; ebusy, too: an older change of the same is still under way on
  // one of these cores; enomem. Then nothing changed, on no core.
  Result<void> set_algorithm(std::string_view text, sched::Refusal& why, const CoreSet& where = CoreSet::all()) EXCLUDES(lock_);
  Result<void> set_placement(std::string_view text, sched::Refusal& why) EXCLUDES(lock_);
  Result<void> set_migration(std::string_view text, sched::Refusal& why) EXCLUDES(lock_);
  // The decisions of the policies are recorded from now on, beginning with new objects of them; or not any more
  // (engine/recorded_timeline.h, engine/decision_recorder.h). After the trace was switched. enomem: timelines stay as they are, and if
  // they were to be recorded, all the rest as well.
  Result<void> record_decisions(bool recorded) EXCLUDES(lock_);
  // "global": one queue for all cores; "per-core": one for each. Threads that wait move over. Errors as set_algorithm().
  Result<void> set_queues(std::string_view text, sched::Refusal& why) EXCLUDES(lock_);
  // "waker": who wakes a thread that sleeps becomes its home, and places it; "home": its home does, where it slept.
  Result<void> set_wakes(std::string_view text, sched::Refusal& why) EXCLUDES(lock_);
  [[nodiscard]] bool wakers_place() const { return wakers_place_.load(Order::relaxed); }
  // Partitions the cores, or unites them. Errors as set_algorithm(). Also in the boot context.
  Result<void> set_groups(std::string_view text, sched::Refusal& why) EXCLUDES(lock_);

  // Policies, then a table with a line for each core: text for /proc. Writes at most `size` bytes, returns how many.
  size_t describe_scheduling(char* to, size_t size) const EXCLUDES(lock_);

 private:
  friend SchedulingManager& scheduling();
  constexpr SchedulingManager() = default;
  // Tells every scheduler whether there is anybody to spare for.
  void set_kept() REQUIRES(lock_);
  // Each core of `where` takes, at its next look, what choice_of(Scheduler) says: a Choice. An error: nothing changed.
  struct Choice {
    const sched::AlgorithmDescriptor* algorithm;
    sched::TunableValues values;
  };
  // False: a change of `what` is still `under_way` on some cores, and `why` says so.
  bool is_complete(std::string_view what, const CoreSet& under_way, sched::Refusal& why) const REQUIRES(lock_);
  template <class ChoiceOf>
  Errno spread(const CoreSet& where, ChoiceOf&& choice_of) REQUIRES(lock_);
  // Makes all cores look at what they are asked for; the calling one when its step is over.
  void announce() REQUIRES(lock_);
  static SchedulingManager the_manager;

  size_t describe_queues(char* to, size_t size) const;
  [[nodiscard]] CoreId place_in_group(sched::SchedulingEntity& entity, sched::PlacementReason reason, const CoreSet& online,
                                      sched::PlacementScores* scores);
  [[nodiscard]] CoreId turn_away_unless_let_in(sched::SchedulingEntity& entity);
  void tell_groups(const CoreSet& online) REQUIRES(lock_);
  size_t describe_groups(char* to, size_t size) const;
  size_t describe_timelines(char* to, size_t size) const EXCLUDES(lock_);

  mutable SpinLock lock_{Rank::scheduling_manager, "scheduling manager"};  // one change of algorithm or of cores at a time
  Duration tick_{};  // boot, then constant
  sched::Placer placer_{random_source::next};
  sched::Migrator migrator_{random_source::next, placer_.all_statistics(), &placer_.policies()};
  Atomic<const sched::AlgorithmDescriptor*> algorithm_{nullptr};  // written under lock_ or at boot
  sched::TunableValues tunables_;  // of algorithm_; the same
  Atomic<Scheduler*> schedulers_[max_cores] = {};  // boot writes each once
  u32 cores_expected_ GUARDED_BY(lock_) = 0;  // no core with this number or a higher one has a scheduler
  AtomicCoreSet ready_;  // cores whose scheduler is complete
  sched::GlobalQueue global_queue_;
  AtomicCoreSet queues_taking_;  // cores that have not read the message about the last change of it
  Atomic<u64> changes_{0};  // of policies since start, counted under lock_
  Atomic<bool> wakers_place_{false};  // changed under lock_; effective for each thread when it goes to sleep
  AtomicCoreSet real_time_waits_;  // cores that look for other cores; each sets its own
  sched::CoreGroups groups_;  // changed under lock_
  DynamicRatio dynamic_ratio_;
  Atomic<u64> widened_{0};  // affinity masks that could not be kept
};

[[nodiscard]] inline SchedulingManager& scheduling() {
  return SchedulingManager::the_manager;
}

}  // namespace corral

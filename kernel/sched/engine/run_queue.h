// RunQueue: the engine round one core's scheduling algorithm, without the core: time comes in as `now`, the moment until
// which the running entity may go on comes out. The kernel's Scheduler (engine/scheduler.h) and simulations use the same.
//
// Invariants, whatever the algorithm answers:
//  - An entity is in exactly one place (SchedulingEntity::place); here it is either waiting or the one running.
//  - Only a waiting entity that is allowed on this core is taken. A wrong answer is counted, and another one is taken.
//  - No waiting entity is lost: the engine keeps its own list of them (engine_link), apart from the algorithm's.
//  - The real-time class (real_time/queue.h) is asked before the timeline, whichever that is, within its budget.
//  - Who has used up its reservation (deadline/server.h) rests: it is here, but does not wait and is not counted.
//  - The running entity has been charged before the algorithm is asked anything.
//  - Every call of the algorithm is guarded (arch/guarded_call.h). One that does wrong, in whatever way, is replaced at once by the
//    engine's own (safe_policies.h), with all who wait (docs/safety.md).
// Context: the owning core only, interrupts off, never nested. Nothing here allocates or waits.
#pragma once

#include "sched/core_statistics.h"
#include "sched/engine/misdeed.h"
#include "sched/engine/safe_policies.h"
#include "sched/engine/starvation.h"
#include "sched/engine/turns.h"
#include "sched/real_time/budget.h"
#include "sched/real_time/queue.h"
#include "sched/scheduling_algorithm.h"
#include "trace/invariants.h"

namespace corral::sched {

// Why the running entity leaves the core.
enum class LeaveReason : u8 { blocked, ended, yielded, preempted, migrating };

// Wrong answers and wrong calls since start. Written by the owning core, read by any.
struct Violations {
  Atomic<u64> not_waiting{0};  // the algorithm picked an entity that does not wait here
  Atomic<u64> not_allowed{0};  // … that may not run on this core
  Atomic<u64> withheld{0};  // the algorithm picked nothing though entities wait, or did not give one back
  Atomic<u64> misbehaved{0};  // the algorithm failed in another way (Misdeed)
  Atomic<u64> misplaced{0};  // a caller put in an entity that is elsewhere, or took out one that is not here
  [[nodiscard]] u64 total() const {
    return not_waiting.load(Order::relaxed) + not_allowed.load(Order::relaxed) + withheld.load(Order::relaxed) +
           misbehaved.load(Order::relaxed) + misplaced.load(Order::relaxed);
  }
};

class RunQueue;
// Told, on the queue's core, that its algorithm was replaced by the engine's own; which still has everyone who waits.
class FallbackListener {
 public:
  virtual void fell_back(RunQueue& queue, SchedulingAlgorithm& failed, Misdeed misdeed, PolicyCall call, Instant now) = 0;
  // A check of the engine's own state found what must not be.
  virtual void violated(const invariants::Violation& violation) = 0;

 protected:
  ~FallbackListener() = default;
};

class RunQueue {
 public:
  // No policy makes turns so short that nobody gets ahead: what it wants is lengthened to this by who uses the queue.
  [[nodiscard]] static constexpr Duration shortest_turn(Duration tick) {
    return Duration{static_cast<i64>(static_cast<u64>(tick.ns) / 64)};
  }

  // `published` belongs to this queue from now on.
  RunQueue(CoreId core, CoreStatistics& published, Duration tick)
      : core_{core},
        mask_word_{core.value / 64},
        mask_bit_{u64{1} << core.value % 64},
        tick_{tick},
        published_{published},
        safe_{tick} {}

  // Takes `algorithm` (empty, made for this core; must outlive its use) from now on. All waiting entities move over in
  // the order in which the old one would have run them. Returns the old one, empty; null at first.
  // `holds_back`, `departs`: as AlgorithmDescriptor says.
  SchedulingAlgorithm* install(SchedulingAlgorithm& algorithm, Instant now, Duration holds_back = {}, bool departs = true);
  void set_listener(FallbackListener& listener) { listener_ = &listener; }
  // From time to time, while somebody waits: whether somebody starves.
  void look_for_starving(Instant now);
  [[nodiscard]] const StarvationWatch& starvation() const { return starvation_; }

  // `entity` waits here from now on. Returns until when the running entity may go on: `now` means that something
  // else is to be picked at once (also when nothing runs).
  Instant enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now);
  // A waiting or resting entity leaves for another core or for ever. False: it is neither here (counted, nothing done).
  bool remove(SchedulingEntity& entity, Instant now);
  // Chooses the entity to run, which then is running(). Nothing may run: call leave() before. Null: nothing to run.
  Decision pick(Instant now);
  // The running entity leaves the core; yielded and preempted: it waits again. False: it does not run here.
  bool leave(SchedulingEntity& entity, LeaveReason reason, Instant now);
  // Brings run_time and the algorithm's accounts of the running entity up to date.
  void charge(Instant now);
  // Until when the running entity may go on, charged. `now`: no longer; never: nothing else wants the core.
  Instant review(Instant now);
  // What an entity asks for. `nice` is clamped; real_time: 0 … 99, the effective priority, or
  // deadline_priority.
  struct Wishes {
    i32 nice = 0;
    SchedulingPolicy policy = SchedulingPolicy::other;
    u32 real_time = 0;
    Reservation reservation{};  // with the deadline_priority
  };
  // Changes it wherever the entity is on this core, or asleep with this core as its home.
  void change(SchedulingEntity& entity, const Wishes& wishes, Instant now);
  void set_nice(SchedulingEntity& entity, i32 nice, Instant now) {
    change(entity, {nice, entity.policy, entity.real_time, entity.server.reservation()}, now);
  }

  // `entity` waited for this core elsewhere, in no run queue; its wait counts here.
  void end_wait(SchedulingEntity& entity, Instant now) { turns_.end_wait(entity, now); }

  [[nodiscard]] SchedulingEntity* running() const { return running_; }
  [[nodiscard]] u32 waiting() const { return waiting_count_; }
  // How many wait besides the one that runs or is about to.
  [[nodiscard]] u32 spare() const { return running_ == nullptr && waiting_count_ != 0 ? waiting_count_ - 1 : waiting_count_; }
  // Calls visit(entity) for each that waits or rests here, which may remove() the one that it is given.
  template <class Visitor>
  void for_each_here(Visitor&& visit) {
    for (SchedulingEntity *entity = waiting_.front(), *next; entity != nullptr; entity = next) {
      next = waiting_.next(*entity);
      visit(*entity);
    }
    for (SchedulingEntity *entity = resting_.first(), *next; entity != nullptr; entity = next) {
      next = resting_.next(*entity);
      visit(*entity);
    }
  }
  // A real-time entity waits, or this core stands lower than before: to be looked at by who balances the class between
  // cores. Stays true until real_time_looked_at(), or until nobody waits any more and nobody was told.
  [[nodiscard]] bool real_time_changed() const { return real_time_changed_; }
  void real_time_looked_at() {
    real_time_changed_ = false;
    wait_is_known_ = real_time_.waiting() != 0;
  }
  void look_at_real_time() { real_time_changed_ = true; }
  // This core stands lower in the real-time class than at some moment since the last call: others may have somebody for it.
  [[nodiscard]] bool real_time_fell() {
    const u64 stood = highest_stood_;
    highest_stood_ = published_.urgency();
    return highest_stood_ < stood;
  }
  // The first of the waiting real-time entities for which visit(entity) answers true; null: none.
  template <class Visitor>
  [[nodiscard]] SchedulingEntity* find_real_time(Visitor&& visit) {
    return real_time_.find(visit);
  }
  // Of the waiting entities of the timeline, those that would run last first, the first for which visit(entity) answers true,
  // for a migration (remove() it then); at most `most` of all that wait are looked at. Null: none.
  template <class Visitor>
  [[nodiscard]] SchedulingEntity* find_from_tail(u32 most, Visitor&& visit) {
    if (timeline_waiting() == 0) return nullptr;  // at once, however many of the real-time class wait
    SchedulingEntity* const last = ask_last_waiting();
    if (last != nullptr && visit(*last)) return last;
    SchedulingEntity* entity = waiting_.back();
    for (u32 seen = 1; entity != nullptr && seen < most; ++seen, entity = waiting_.previous(*entity)) {
      if (entity != last && entity->real_time == 0 && visit(*entity)) return entity;
    }
    return nullptr;
  }
  // When somebody who rests here goes on, with renew_resting(); never: nobody rests.
  [[nodiscard]] Instant next_renewal() const { return resting_.first_renewal(); }
  // Those whose period has ended wait again. Returns as enqueue().
  Instant renew_resting(Instant now);
  [[nodiscard]] u32 real_time_waiting() const { return real_time_.waiting(); }
  [[nodiscard]] const Violations& violations() const { return violations_; }
  [[nodiscard]] const Turns& turns() const { return turns_; }
  [[nodiscard]] CoreId core() const { return core_; }

  // ---- checks of the engine's own state (run_queue_checks.cpp, docs/checker.md); the listener is told ----
  // Between two operations: on the tick, in a round, and before the core sleeps. Nothing is changed.
  void check(invariants::During during, Instant now);
  void violated(invariants::Invariant invariant, invariants::During during, const SchedulingEntity* entity);
  [[nodiscard]] u64 decisions() const { return decision_count_; }

  // ---- for the account of a failure ----
  struct PastDecision {
    Instant when{};
    Instant until{};
    i32 number = 0;  // of the entity
  };
  static constexpr u32 decisions_kept = 16;
  // The last ones, the latest first.
  template <class Visitor>
  void for_each_decision(Visitor&& visit) const {
    for (u32 i = 1; i <= decisions_kept && i <= decision_count_; ++i) visit(decisions_[(decision_count_ - i) % decisions_kept]);
  }
  template <class Visitor>
  void for_each_waiting(Visitor&& visit) {
    waiting_.for_each(visit);
  }
  // Of the waiting entities, of which the last `most` are visited, one for which visit(entity) answers true; null: none. Unlike
  // find_from_tail() asks no policy.
  template <class Visitor>
  [[nodiscard]] SchedulingEntity* find_waiting(u32 most, Visitor&& visit) {
    SchedulingEntity* entity = waiting_.back();
    for (; entity != nullptr && most > 0; --most, entity = waiting_.previous(*entity)) {
      if (visit(*entity)) return entity;
    }
    return nullptr;
  }

 private:
  using Place = SchedulingEntity::Place;
  [[nodiscard]] bool waits_here(const SchedulingEntity& entity) const {
    return entity.place == Place::queued && entity.home == core_;
  }
  // The safe timeline takes over, with all who wait in the timeline.
  void fall_back(Misdeed misdeed, PolicyCall call, Instant now);
  void fall_back_from(PolicyCall call, Instant now);  // the call did not come back
  void dequeue_safely(SchedulingEntity& entity, bool came_back, Instant now);
  void depart_safely(SchedulingEntity& entity, bool came_back, Instant now);
  Instant review_safely(Instant now);
  Decision pick_safely(Decision decision, bool came_back, Instant now);
  Decision pick_withheld(Instant now);
  // ---- the algorithm's calls, guarded; when one fails, what it was to do has been done by the safe timeline ----
  void tell_enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now);
  void tell_dequeue(SchedulingEntity& entity, Instant now);
  void tell_charge(SchedulingEntity& running, Duration used, Instant now);
  void tell_depart(SchedulingEntity& entity, Instant now);
  Instant ask_review(Instant now);
  Decision ask_pick(Instant now);
  SchedulingEntity* ask_last_waiting();
  SchedulingEntity* last_waiting_safely(SchedulingEntity* last, bool came_back);
  // The same when the answer may not be null though somebody of the timeline waits; null: none of those may run here.
  Decision pick_timeline(Instant now);
  [[nodiscard]] u32 timeline_waiting() const { return waiting_count_ - real_time_.waiting(); }
  // `until`, or earlier when others wait who might starve.
  [[nodiscard]] Instant looked_at_until(Instant until, u32 others, Instant now) const {
    if (others != 0 && until.ns - now.ns > starvation_.longest_turn().ns) [[unlikely]]
      return now + starvation_.longest_turn();
    return until;
  }
  void put(SchedulingEntity& entity, EnqueueReason reason, Instant now);
  // The same, inline (run_queue_guards.h).
  void put_now(SchedulingEntity& entity, EnqueueReason reason, Instant now);
  void charge_now(Instant now);
  Instant review_charged(Instant now);  // charged already
  void count_between(Duration passed, Instant now);
  [[nodiscard]] static bool must_rest(SchedulingEntity& entity, EnqueueReason reason, Instant now);
  void put_to_rest(SchedulingEntity& entity);
  // The new reservation of an entity that is, or becomes, one with a deadline.
  static void reserve(SchedulingEntity& entity, bool had_deadline, const Reservation& reservation, Instant now);
  // Into and out of its class: the real-time class, or the timeline.
  void enter_class(SchedulingEntity& entity, EnqueueReason reason, Instant now);
  void leave_class(SchedulingEntity& entity, Instant now);
  // The slow halves, while the real-time class has somebody here.
  Instant review_real_time(Instant now);
  Decision pick_real_time(Instant now);
  void publish_real_time();
  void detach(SchedulingEntity& entity, Instant now);
  SchedulingEntity* take_any_allowed(Instant now);
  Decision pick_instead_of(SchedulingEntity& refused, Instant now);
  [[gnu::cold]] Decision pick_within_mask(const Decision& decision, Instant now);
  void publish();
  // ---- checks ----
  // Of its thread and its group: both have this core.
  [[nodiscard]] bool is_within_masks(const SchedulingEntity& entity) const {
    return (entity.allowed.word(mask_word_) & entity.asked.word(mask_word_) & mask_bit_) != 0;
  }
  void check_list(invariants::During during);
  void check_time(invariants::During during, Instant now);
  // `entity` runs with its reservation, or is about to.
  static void note_spent(SchedulingEntity& entity, Duration used);
  [[nodiscard]] static bool has_overspent(const SchedulingEntity& entity);
  // The real-time class has run for `used` until now: an account of its own beside the budget.
  void note_real_time(Duration used, Instant now);
  // `entity`, of the real-time class or of the timeline, is to run though the other one of the two waits. After budget_.end().
  void check_class(invariants::During during, const SchedulingEntity& entity, Instant now);

  const CoreId core_;
  const u32 mask_word_;  // where CoreSets have this core
  const u64 mask_bit_;
  const Duration tick_;
  CoreStatistics& published_;
  SchedulingAlgorithm* algorithm_ = nullptr;
  bool departs_ = false;  // the algorithm is told of departures
  bool has_real_time_ = false;  // somebody of the real-time class is here, or was when this was published last
  bool real_time_changed_ = false;
  bool wait_is_known_ = false;  // somebody of that class waited when that was looked at last
  u64 highest_stood_ = 0;  // the highest urgency published since real_time_fell() was asked
  SchedulingEntity* running_ = nullptr;
  const SchedulingEntity* previous_ = nullptr;  // who ran last; only compared
  Instant charged_until_{};
  u32 waiting_count_ = 0;
  u64 arrived_ = 0;  // entities that were on the way to here
  u64 weight_ = 0;  // of all waiting and the running
  IntrusiveList<SchedulingEntity, &SchedulingEntity::engine_link> waiting_;
  Violations violations_;
  Turns turns_;
  RealTimeQueue real_time_;
  RealTimeBudget budget_;
  RestingPlace resting_;
  SafeTimeline safe_;
  StarvationWatch starvation_;
  FallbackListener* listener_ = nullptr;
  // ---- checks: where time went, besides idle time (CoreStatistics) and the timeline's (StarvationWatch) ----
  Duration between_{};  // nothing ran, and the core was not idle
  Duration real_time_run_{};  // of the real-time class
  Instant accounted_from_ = never;
  Instant real_time_period_{};  // when the period of the budget began
  Duration real_time_period_length_{};
  Duration real_time_used_{};  // in it
  u32 decision_count_ = 0;
  PastDecision decisions_[decisions_kept];
};

}  // namespace corral::sched

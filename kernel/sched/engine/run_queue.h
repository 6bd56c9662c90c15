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
// Context: the owning core only, interrupts off, never nested. Nothing here allocates or waits.
#pragma once

#include "sched/core_statistics.h"
#include "sched/real_time/budget.h"
#include "sched/real_time/queue.h"
#include "sched/scheduling_algorithm.h"

namespace corral::sched {

// Why the running entity leaves the core.
enum class LeaveReason : u8 { blocked, ended, yielded, preempted, migrating };

// Wrong answers and wrong calls since start. Written by the owning core, read by any.
struct Violations {
  Atomic<u64> not_waiting{0};  // the algorithm picked an entity that does not wait here
  Atomic<u64> not_allowed{0};  // … that may not run on this core
  Atomic<u64> withheld{0};     // the algorithm picked nothing though entities wait, or did not give one back
  Atomic<u64> misplaced{0};    // a caller put in an entity that is elsewhere, or took out one that is not here
  [[nodiscard]] u64 total() const {
    return not_waiting.load(Order::relaxed) + not_allowed.load(Order::relaxed) + withheld.load(Order::relaxed) +
           misplaced.load(Order::relaxed);
  }
};

class RunQueue {
 public:
  // `published` belongs to this queue from now on.
  RunQueue(CoreId core, CoreStatistics& published, Duration tick) : core_{core}, tick_{tick}, published_{published} {}

  // Takes `algorithm` (empty, made for this core; must outlive its use) from now on. All waiting entities move over in
  // the order in which the old one would have run them. Returns the old one, empty; null at first.
  SchedulingAlgorithm* install(SchedulingAlgorithm& algorithm, Instant now);

  // `entity` waits here from now on. Returns until when the running entity may go on: `now` means that something
  // else is to be picked at once (also when nothing runs).
  Instant enqueue(SchedulingEntity& entity, EnqueueReason reason, Instant now);
  // A waiting entity leaves for another core or for ever. False: it does not wait here (counted, nothing done).
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

  [[nodiscard]] SchedulingEntity* running() const { return running_; }
  [[nodiscard]] u32 waiting() const { return waiting_count_; }
  // The one that would run last and may run on some core of `targets`, for a migration (remove() it then); else null.
  [[nodiscard]] SchedulingEntity* candidate_for(const CoreSet& targets);
  // A real-time entity waits, or this core stands lower than before: to be looked at by who balances the class between
  // cores. Stays true until real_time_looked_at().
  [[nodiscard]] bool real_time_changed() const { return real_time_changed_; }
  void real_time_looked_at() { real_time_changed_ = false; }
  void look_at_real_time() { real_time_changed_ = true; }
  // The first of the waiting real-time entities for which visit(entity) answers true; null: none.
  template <class Visitor>
  [[nodiscard]] SchedulingEntity* find_real_time(Visitor&& visit) {
    return real_time_.find(visit);
  }
  // When somebody who rests here goes on, with renew_resting(); never: nobody rests.
  [[nodiscard]] Instant next_renewal() const { return resting_.first_renewal(); }
  // Those whose period has ended wait again. Returns as enqueue().
  Instant renew_resting(Instant now);
  [[nodiscard]] u32 real_time_waiting() const { return real_time_.waiting(); }
  [[nodiscard]] const Violations& violations() const { return violations_; }
  [[nodiscard]] CoreId core() const { return core_; }

 private:
  using Place = SchedulingEntity::Place;
  [[nodiscard]] bool waits_here(const SchedulingEntity& entity) const {
    return entity.place == Place::queued && entity.home == core_;
  }
  void put(SchedulingEntity& entity, EnqueueReason reason, Instant now);
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
  void detach(SchedulingEntity& entity);
  SchedulingEntity* take_any_allowed(Instant now);
  void publish();

  const CoreId core_;
  const Duration tick_;
  CoreStatistics& published_;
  SchedulingAlgorithm* algorithm_ = nullptr;
  bool has_real_time_ = false;      // somebody of the real-time class is here, or was when this was published last
  bool real_time_changed_ = false;
  SchedulingEntity* running_ = nullptr;
  const SchedulingEntity* previous_ = nullptr;  // who ran last; only compared
  Instant charged_until_{};
  u32 waiting_count_ = 0;
  u32 arrived_ = 0;    // entities that were on the way to here
  u64 weight_ = 0;     // of all waiting and the running
  IntrusiveList<SchedulingEntity, &SchedulingEntity::engine_link> waiting_;
  Violations violations_;
  RealTimeQueue real_time_;
  RealTimeBudget budget_;
  RestingPlace resting_;
};

}  // namespace corral::sched

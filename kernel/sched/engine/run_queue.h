// RunQueue: the engine round one core's scheduling algorithm, without the core: time comes in as `now`, the moment until
// which the running entity may go on comes out. The kernel's Scheduler (engine/scheduler.h) and simulations use the same.
//
// Invariants, whatever the algorithm answers:
//  - An entity is in exactly one place (SchedulingEntity::place); here it is either waiting or the one running.
//  - Only a waiting entity that is allowed on this core is taken. A wrong answer is counted, and another one is taken.
//  - No waiting entity is lost: the engine keeps its own list of them (engine_link), apart from the algorithm's.
//  - The running entity has been charged before the algorithm is asked anything.
// Context: the owning core only, interrupts off, never nested. Nothing here allocates or waits.
#pragma once

#include "sched/core_statistics.h"
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
  // Changes an entity's nice value (clamped) wherever it is on this core, or asleep with this core as its home.
  void set_nice(SchedulingEntity& entity, i32 nice, Instant now);

  [[nodiscard]] SchedulingEntity* running() const { return running_; }
  [[nodiscard]] u32 waiting() const { return waiting_count_; }
  // The one that would run last and may run on some core of `targets`, for a migration (remove() it then); else null.
  [[nodiscard]] SchedulingEntity* candidate_for(const CoreSet& targets);
  [[nodiscard]] const Violations& violations() const { return violations_; }
  [[nodiscard]] CoreId core() const { return core_; }

 private:
  using Place = SchedulingEntity::Place;
  [[nodiscard]] bool waits_here(const SchedulingEntity& entity) const {
    return entity.place == Place::queued && entity.home == core_;
  }
  void put(SchedulingEntity& entity, EnqueueReason reason, Instant now);
  void detach(SchedulingEntity& entity);
  SchedulingEntity* take_any_allowed(Instant now);
  void publish();

  const CoreId core_;
  const Duration tick_;
  CoreStatistics& published_;
  SchedulingAlgorithm* algorithm_ = nullptr;
  SchedulingEntity* running_ = nullptr;
  const SchedulingEntity* previous_ = nullptr;  // who ran last; only compared
  Instant charged_until_{};
  u32 waiting_count_ = 0;
  u32 arrived_ = 0;    // entities that were on the way to here
  u64 weight_ = 0;     // of all waiting and the running
  IntrusiveList<SchedulingEntity, &SchedulingEntity::engine_link> waiting_;
  Violations violations_;
};

}  // namespace corral::sched

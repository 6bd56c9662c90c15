// Scheduler: the timeline of one core, as the executive uses it. It joins the run queue (engine/run_queue.h) to the core's
// clock and timer, and owns the object of the scheduling algorithm. A device, so that it is found by type and name.
//
// How the executive uses it, always on the scheduler's own core, interrupts off, at a point where a step is finished:
//   step blocked            leave(entity, blocked)                      then pick_next()
//   reschedule_wanted()     leave(entity, preempted)                    then pick_next()
//   timer interrupt         after the timer events: on_timer()          then look at reschedule_wanted()
//   thread woken, arrived   enqueue(entity, woken | migrated | created) then look at reschedule_wanted()
// Invariants: see RunQueue. Nothing here waits; only start() and change_algorithm() allocate.
#pragma once

#include "core/core.h"
#include "core/outbox.h"
#include "lib/result.h"
#include "sched/engine/run_queue.h"

namespace corral {

class Scheduler final : public Device {
 public:
  static constexpr DeviceClass device_class_object{"scheduler"};

  // `published`: this core's numbers. `tick`: the natural quantum, 1 / timer.hz, above 0.
  Scheduler(Core& core, sched::CoreStatistics& published, Duration tick);

  // Makes the first algorithm. Before the core's `scheduler` pointer is set and before anyone may place entities here.
  // enomem; ebusy: started already.
  Result<void> start(const sched::AlgorithmDescriptor& algorithm, const sched::TunableValues& tunables);

  // ---- own core ----------------------------------------------------------------------------------------------------
  // Changes the algorithm now; all waiting entities move over in order. enomem: nothing changed.
  Result<void> change_algorithm(const sched::AlgorithmDescriptor& algorithm, const sched::TunableValues& tunables);
  // `entity`, in no queue, waits here from now on.
  void enqueue(sched::SchedulingEntity& entity, sched::EnqueueReason reason);
  // The entity that runs from now on, timer armed to the end of its slice; null: go to sleep. Nothing may run.
  [[nodiscard]] sched::SchedulingEntity* pick_next();
  // The running entity stops running; after yielded and preempted it waits again, else it is in no queue.
  void leave(sched::SchedulingEntity& running, sched::LeaveReason reason);
  // A waiting entity goes elsewhere. False: it does not wait here (counted as a violation).
  bool remove(sched::SchedulingEntity& waiting);
  // The core's timer interrupted: ends the slice if it is over, arms the timer again if not.
  void on_timer();
  // Brings run_time of the running entity up to date.
  void update_running();
  // Something else is to run: leave(preempted) and pick_next() at the end of the step. Cleared by pick_next().
  [[nodiscard]] bool reschedule_wanted() const { return reschedule_wanted_; }
  void want_reschedule() {
    reschedule_wanted_ = true;
    core_.attention = true;
  }
  // Nice value, policy and real-time priority of an entity whose home is this core.
  void change(sched::SchedulingEntity& entity, const sched::RunQueue::Wishes& wishes);
  void set_nice(sched::SchedulingEntity& entity, i32 nice) {
    change(entity, {nice, entity.policy, entity.real_time, entity.server.reservation()});
  }
  // The real-time class is to be balanced: somebody waits here, this core stands lower than it did, or another one asks.
  [[nodiscard]] bool real_time_changed() const { return queue_.real_time_changed(); }
  void real_time_looked_at() { queue_.real_time_looked_at(); }
  void look_at_real_time() {
    queue_.look_at_real_time();
    core_.attention = true;
  }
  [[nodiscard]] u32 real_time_waiting() const { return queue_.real_time_waiting(); }
  template <class Visitor>
  [[nodiscard]] sched::SchedulingEntity* find_real_time(Visitor&& visit) {
    return queue_.find_real_time(visit);
  }
  // A waiting entity that may go to one of `targets`, the one that would run last here; null: none.
  [[nodiscard]] sched::SchedulingEntity* candidate_for(const CoreSet& targets) { return queue_.candidate_for(targets); }
  [[nodiscard]] sched::SchedulingEntity* running() const { return queue_.running(); }
  [[nodiscard]] u32 waiting() const { return queue_.waiting(); }
  [[nodiscard]] Instant slice_end() const { return slice_end_; }

  // ---- any core ----------------------------------------------------------------------------------------------------
  [[nodiscard]] Core& core() const { return core_; }
  [[nodiscard]] const sched::AlgorithmDescriptor& algorithm() const { return *in_use_.load(Order::acquire); }
  [[nodiscard]] const sched::Violations& violations() const { return queue_.violations(); }
  [[nodiscard]] const sched::CoreStatistics& statistics() const { return published_; }
  size_t describe(char* to, size_t size) const override;

 private:
  friend class SchedulingManager;

  // An algorithm's object, made but perhaps not in use yet, in one block of memory with what is needed to end it.
  struct Installation {
    const sched::AlgorithmDescriptor* descriptor;
    sched::SchedulingAlgorithm* algorithm;
  };
  [[nodiscard]] Result<Installation*> prepare(const sched::AlgorithmDescriptor& algorithm,
                                              const sched::TunableValues& tunables) const;
  static void discard(Installation* installation);  // null is allowed
  void adopt(Installation& installation, Instant now);
  // Any core: `installation` (made by prepare()) is to be adopted at this core's next look.
  void want_algorithm(Installation& installation);
  // Own core: adopts what another core wants.
  void look(Instant now);
  void continue_until(Instant until, Instant now);
  // Wakes the core when somebody who rests here goes on.
  void watch_renewals() {
    if (queue_.next_renewal() != (renewal_.pending() ? renewal_.when() : never)) [[unlikely]]
      set_renewal();
  }
  void set_renewal();
  static void on_renewal(TimerEvent& event);
  // Arms the timer for the running entity's slice; in a seeded run for a random moment before.
  void arm(Instant until, Instant now);

  // ---- own ----
  Core& core_;
  const Duration tick_;
  sched::CoreStatistics& published_;
  sched::RunQueue queue_;
  Installation* installed_ = nullptr;
  Instant slice_end_ = never;
  bool reschedule_wanted_ = false;
  TimerEvent renewal_{on_renewal};  // of the first who rests here
  Letter announcement_;  // of this core to others: SchedulingManager::set_algorithm
  Letter room_;          // the same: SchedulingManager::offer_room

  // ---- guarded by the manager's lock ----
  Installation* prepared_ = nullptr;  // made for this core by a change that is not complete yet

  // ---- any ----
  Atomic<const sched::AlgorithmDescriptor*> in_use_{nullptr};          // own core writes
  alignas(cache_line) Atomic<Installation*> wanted_{nullptr};          // exchanged: exactly one party has each
};

}  // namespace corral

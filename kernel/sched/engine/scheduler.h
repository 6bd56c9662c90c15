// Scheduler: the timeline of one core, as the executive uses it. It joins the run queue (engine/run_queue.h) to the core's
// clock and timer, and owns the object of the scheduling algorithm. A device, so that it is found by type and name.
//
// How the executive uses it, always on the scheduler's own core, interrupts off, at a point where a step is finished:
//   step blocked            leave(entity, blocked)                      then pick_next()
//   reschedule_wanted()     leave(entity, preempted)                    then pick_next()
//   timer interrupt         after the timer events: on_timer(…)        then look at reschedule_wanted()
//   thread woken, arrived   enqueue(entity, woken | migrated | created) then look at reschedule_wanted()
// Invariants: see RunQueue. Nothing here waits; only start() and change_algorithm() allocate.
#pragma once

#include "core/core.h"
#include "core/outbox.h"
#include "lib/planted.h"
#include "lib/result.h"
#include "sched/engine/global_turn.h"
#include "sched/engine/idle_watch.h"
#include "sched/engine/recorded_timeline.h"
#include "sched/engine/run_queue.h"

namespace corral {

class Scheduler final : public Device, private sched::FallbackListener {
 public:
  static constexpr DeviceClass device_class_object{"scheduler"};

  // `published`: this core's numbers. `tick`: the natural quantum, 1 / timer.hz, above 0.
  Scheduler(Core& core, sched::CoreStatistics& published, Duration tick);

  // Makes the first algorithm. einval: that failed. Before the core's `scheduler` pointer is set and before anyone may place entities here.
  // enomem; ebusy: started already.
  Result<void> start(const sched::AlgorithmDescriptor& algorithm, const sched::TunableValues& tunables);

  // ---- own core ----------------------------------------------------------------------------------------------------
  // Changes the algorithm now; all waiting entities move over in order. enomem, einval (it could not
  // be made): nothing changed.
  Result<void> change_algorithm(const sched::AlgorithmDescriptor& algorithm, const sched::TunableValues& tunables);
  // `entity`, in no queue, waits here from now on.
  void enqueue(sched::SchedulingEntity& entity, sched::EnqueueReason reason);
  // The entity that runs from now on, timer armed to the end of its slice; null: go to sleep. Nothing may run.
  [[nodiscard]] sched::SchedulingEntity* pick_next();
  // The running entity stops running; after yielded and preempted it waits again, else it is in no queue.
  void leave(sched::SchedulingEntity& running, sched::LeaveReason reason);
  // ---- beside a global queue: as GlobalTurn says ----
  void note_guest(sched::SchedulingEntity& entity) { global_turn_.note_guest(entity); }
  [[nodiscard]] sched::SchedulingEntity* guest() const { return global_turn_.guest(); }
  [[nodiscard]] bool wants_guest() const;
  // Of what was just picked.
  void limit_turn();
  // `entity`, which waited there, does so no more.
  void end_wait(sched::SchedulingEntity& entity);
  // Whether somebody of this weight starves there who has waited for `waited` on the queue's clock.
  [[nodiscard]] bool starves_globally(Duration waited, u32 weight) const;
  // A waiting or resting entity goes elsewhere. False: it is neither here (counted as a violation).
  bool remove(sched::SchedulingEntity& waiting);
  // The core's timer interrupted: ends the slice if it is over, arms the timer again if not. `others_due`: it did so for others,
  // too, who do not wait for what a tick looks at; that is done the next time, though after two ticks in any case.
  void on_timer(bool others_due);
  // As CoreStatistics says.
  void add_resources(sched::ResourceUse use, Duration time, u64 pages_of_all) {
    published_.add_resources(use, time, pages_of_all);
  }
  // Brings run_time of the running entity up to date.
  void update_running();
  // Looks whether all is as it must be (docs/checker.md). Between two steps; nothing is changed.
  void check(invariants::During during);
  void violated(invariants::Invariant invariant, invariants::During during, const sched::SchedulingEntity* entity) {
    queue_.violated(invariant, during, entity);
  }
  void violated(const invariants::Violation& violation) override;
  // Before the core sleeps. A core that has somebody to run does not.
  void check_before_sleep() {
    if (queue_.waiting() != 0) [[unlikely]]
      check(invariants::During::sleep);
  }
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
  [[nodiscard]] bool real_time_fell() { return queue_.real_time_fell(); }
  void look_at_real_time() {
    queue_.look_at_real_time();
    core_.attention = true;
  }
  [[nodiscard]] u32 real_time_waiting() const { return queue_.real_time_waiting(); }
  template <class Visitor>
  [[nodiscard]] sched::SchedulingEntity* find_real_time(Visitor&& visit) {
    return queue_.find_real_time(visit);
  }
  // Somebody waits here, and an idle core could have something (sched/engine/migrator.h).
  [[nodiscard]] bool may_have_to_spare() const {
    if (planted(Plant::missing_domains)) return false;
    return queue_.waiting() > kept_.load(Order::relaxed);
  }
  // This core, when idle, may be given something by another one.
  [[nodiscard]] bool may_be_given() const {
    return kept_.load(Order::relaxed) != keeps_all && !planted(Plant::missing_domains);
  }
  // Own core.
  [[nodiscard]] sched::RunQueue& queue() { return queue_; }
  // See RunQueue.
  [[nodiscard]] u32 spare() const { return queue_.spare(); }
  template <class Visitor>
  [[nodiscard]] sched::SchedulingEntity* find_from_tail(u32 most, Visitor&& visit) {
    return queue_.find_from_tail(most, visit);
  }
  // Calls visit(entity) for each that waits or rests here, which may remove() the one that it is given.
  template <class Visitor>
  void for_each_here(Visitor&& visit) {
    queue_.for_each_here(visit);
    watch_renewals();
  }
  [[nodiscard]] sched::SchedulingEntity* running() const { return queue_.running(); }
  [[nodiscard]] u32 waiting() const { return queue_.waiting(); }
  [[nodiscard]] Instant slice_end() const { return slice_end_; }

  // ---- any core ----------------------------------------------------------------------------------------------------
  [[nodiscard]] Core& core() const { return core_; }
  [[nodiscard]] const sched::AlgorithmDescriptor& algorithm() const { return *in_use_.load(Order::acquire); }
  [[nodiscard]] const sched::Violations& violations() const { return queue_.violations(); }
  [[nodiscard]] const sched::Turns& turns() const { return queue_.turns(); }
  [[nodiscard]] const sched::CoreStatistics& statistics() const { return published_; }
  // How long somebody waited here while another core that it may use was idle, as far as looks tell.
  [[nodiscard]] Duration waited_beside_idle() const { return idle_watch_.waited(); }
  [[nodiscard]] u64 decisions() const { return queue_.decisions(); }  // own core
  size_t describe(char* to, size_t size) const override;

 private:
  friend class SchedulingManager;

  // An algorithm's object, made but perhaps not in use yet, in one block of memory with what is needed to end it.
  struct Installation {
    const sched::AlgorithmDescriptor* descriptor;
    sched::SchedulingAlgorithm* algorithm;
    Duration holds_back;
    sched::TunableValues values;
    bool failed = false;  // it was replaced by the engine's own; nothing of it is called any more
    bool recorded = false;  // its calls are written into the trace
    sched::RecordedTimeline recorder{};
    // What the run queue calls.
    [[nodiscard]] sched::SchedulingAlgorithm& front() { return recorded ? recorder : *algorithm; }
  };
  [[nodiscard]] Result<Installation*> prepare(const sched::AlgorithmDescriptor& algorithm,
                                              const sched::TunableValues& tunables) const;
  static void discard(Installation* installation);  // null is allowed
  void fell_back(sched::RunQueue& queue, sched::SchedulingAlgorithm& failed, sched::Misdeed misdeed, sched::PolicyCall call,
                 Instant now) override;
  void adopt(Installation& installation, Instant now);
  // Any core: `installation` (made by prepare()) is to be adopted at this core's next look; an older wish that is_changing() is
  // forgotten.
  void want_algorithm(Installation& installation);
  // Any core: what was wanted has not been adopted yet.
  [[nodiscard]] bool is_changing() const { return wanted_.load(Order::acquire) != nullptr; }
  // Own core: adopts what another core wants.
  void look(Instant now);
  void continue_until(Instant until, Instant now);
  // When who runs is to be looked at again, `until` as its timeline says; charged.
  [[nodiscard]] Instant limited(Instant until, Instant now) { return global_turn_.any() ? limited_by_turn(until, now) : until; }
  [[nodiscard, gnu::cold]] Instant limited_by_turn(Instant until, Instant now);
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
  Installation* incoming_ = nullptr;  // while it is being adopted
  Instant slice_end_ = never;
  Instant last_tick_{};  // when those who wait were looked at last: see on_timer()
  sched::GlobalTurn global_turn_{tick_};
  bool reschedule_wanted_ = false;
  TimerEvent renewal_{on_renewal};  // of the first who rests here
  sched::IdleWatch idle_watch_;
  Circular announcement_;  // of this core to others: SchedulingManager::set_algorithm
  Circular room_;  // the same: SchedulingManager::offer_room
  Circular groups_;  // the same: SchedulingManager::set_groups
  Circular queues_;  // the same: SchedulingManager::set_queues

  // ---- guarded by the manager's lock ----
  Installation* prepared_ = nullptr;  // made for this core by a change that is not complete yet
  const sched::AlgorithmDescriptor* chosen_ = nullptr;  // what was chosen for this core last, with these values
  sched::TunableValues chosen_values_;

  // ---- any ----
  static constexpr u32 keeps_all = ~u32{0};
  Atomic<u32> kept_{keeps_all};  // with not more waiting, nobody is to be looked for who could go; the manager writes
  Atomic<const sched::AlgorithmDescriptor*> in_use_{nullptr};  // own core writes
  alignas(cache_line) Atomic<Installation*> wanted_{nullptr};  // exchanged: exactly one party has each
};

}  // namespace corral

// GlobalTurn: what one core keeps beside a global queue (engine/global_queue.h): who waits here as its guest, and the end of the
// turn of who runs. Without the core: time comes in as `now`, the moment until which the running entity may go on comes out. The
// kernel's Scheduler and simulations use the same.
// Context: the owning core only, interrupts off.
#pragma once

#include "sched/engine/global_queue.h"

namespace corral::sched {

class GlobalTurn {
 public:
  // `tick`: as of the run queue.
  explicit GlobalTurn(Duration tick) : tick_{tick} {}

  // False: there is nothing here that limit() or end() would change.
  [[nodiscard]] bool any() const { return any_; }

  // ---- the guest ------------------------------------------------------------------------------------------------------
  // `entity` waits in the core's own queue now, and came from the global one. One at a time, until it runs or goes.
  void note_guest(SchedulingEntity& entity) {
    guest_ = &entity;
    any_ = true;
  }
  // `entity` leaves the core's queue without having run.
  void forget(const SchedulingEntity& entity) {
    if (&entity == guest_) guest_ = nullptr;
  }
  [[nodiscard]] SchedulingEntity* guest() const { return guest_; }  // null: nobody
  // The core is to take somebody in, so that he is waiting here: it would run him now, or the real-time class has had the
  // core for so long that its bound (real_time/budget.h) has to know that others want it.
  [[nodiscard]] bool wants_guest(bool real_time_waits, Instant now) const;

  // ---- the turn of who runs -------------------------------------------------------------------------------------------
  // `running`, picked at this moment, is looked at again when its turn is over, and goes on if nobody waits in `queue`. Also who
  // does not wait there itself: others do. A real-time entity, which gives way only to its own class, after the longest turn.
  void begin(const GlobalQueue& queue, SchedulingEntity& running, Instant now);
  // `until`, or the end of the turn of `running` (charged; null: nobody runs) if that is earlier: at `now` it is over. Gives another
  // turn when nobody wants one.
  [[nodiscard]] Instant limit(const GlobalQueue& queue, SchedulingEntity* running, Instant until, Instant now);
  // `next` has the core from now on; null: nobody.
  void end(const SchedulingEntity* next);

  // ---- for checks, in each tick -----------------------------------------------------------------------------------------
  // The core's timeline has run until `clock` (engine/starvation.h): what the queue does not know of it yet is passed on. Not more than
  // the longest time between two ticks of a core that runs: before the last one there may have been no such queue.
  void pass(GlobalQueue& queue, Duration clock);

 private:
  static constexpr Duration longest_pass = seconds(1);

  Duration tick_;
  Duration passed_{};  // the timeline's clock at the last pass()
  bool any_ = false;  // one of the next three is set
  Instant turn_end_ = never;
  Instant real_time_since_ = never;  // only real-time entities have run since; never: not so
  SchedulingEntity* guest_ = nullptr;  // in the core's queue: who leaves it is forgotten
};

}  // namespace corral::sched

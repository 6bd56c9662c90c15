// DeadlineServer: the account of one reservation, a constant bandwidth server with a hard bound. It says by when the entity
// is due, which is what earliest deadline first goes by, and how much it may still run until then.
//
// The rules, as Linux has them:
//  - Who becomes ready keeps its account if it can be used up in time without more than the reserved share; else it begins
//    a new period now. With a deadline shorter than the period a new one begins no sooner than the period of the last.
//  - Who has used up its runtime, or yields, rests until the next period, whatever else the core does.
// So nobody gets more than its share, and who is late is late at its own expense.
// Source: Abeni, Buttazzo: Integrating multimedia applications in hard real-time systems (1998); Linux
// Documentation/scheduler/sched-deadline. Pure; owner: the entity's home core.
#pragma once

#include "sched/deadline/reservation.h"

namespace corral::sched {

class DeadlineServer {
 public:
  [[nodiscard]] const Reservation& reservation() const { return reservation_; }
  [[nodiscard]] Instant due() const { return due_; }
  [[nodiscard]] Duration left() const { return left_; }
  [[nodiscard]] bool used_up() const { return left_ <= Duration{}; }
  // When the period ends in which it is due, and those that it has used up beforehand by running too long.
  [[nodiscard]] Instant renewal() const {
    return due_ - reservation_.deadline + Duration{reservation_.period.ns * periods_used()};
  }

  // From now on with `reservation`; a new account.
  void begin(const Reservation& reservation, Instant now) {
    reservation_ = reservation;
    begin_period(now);
  }
  // The same account goes on with another reservation.
  void change(const Reservation& reservation) {
    reservation_ = reservation;
    if (left_ > reservation.runtime) left_ = reservation.runtime;
  }
  // It was asleep and is ready. False: not before renew() at renewal(), or now when that is past: what it ran too much is
  // paid back first.
  [[nodiscard]] bool wake(Instant now) {
    if (used_up()) return false;
    if (now < due_ && !too_much_at(now)) return true;
    if (reservation_.deadline < reservation_.period && now < renewal()) return false;
    begin_period(now);
    return true;
  }
  void charge(Duration used) { left_ = left_ - used; }
  // It does not want the rest of its runtime.
  void give_up() {
    if (left_ > Duration{}) left_ = {};
  }
  // The next period, at renewal() or later.
  void renew(Instant now) {
    const i64 periods = periods_used();
    due_ = due_ + Duration{reservation_.period.ns * periods};
    left_ = Duration{left_.ns + reservation_.runtime.ns * periods};
    if (left_ > reservation_.runtime) left_ = reservation_.runtime;
    if (due_ <= now) begin_period(now);
  }

 private:
  void begin_period(Instant now) {
    due_ = now + reservation_.deadline;
    left_ = reservation_.runtime;
  }
  [[nodiscard]] i64 periods_used() const { return used_up() ? 1 - left_.ns / reservation_.runtime.ns : 1; }
  // Using up what is left until it is due would be more than the share: left / (due - now) > runtime / deadline.
  [[nodiscard]] bool too_much_at(Instant now) const {
    return static_cast<unsigned __int128>(left_.ns) * static_cast<u64>(reservation_.deadline.ns) >
           static_cast<unsigned __int128>((due_ - now).ns) * static_cast<u64>(reservation_.runtime.ns);
  }

  Reservation reservation_;
  Instant due_{};
  Duration left_{};  // of the runtime in the period; below 0: it ran too long, a step being never cut off
};

}  // namespace corral::sched

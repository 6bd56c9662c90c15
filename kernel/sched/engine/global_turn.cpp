// See global_turn.h.
#include "sched/engine/global_turn.h"

#include <algorithm>

#include "sched/engine/run_queue.h"

namespace corral::sched {

bool GlobalTurn::wants_guest(bool real_time_waits, Instant now) const {
  if (guest_ != nullptr) return false;
  const bool overdue = real_time_since_ != never && now - real_time_since_ >= GlobalQueue::longest_turn(tick_);
  return overdue || !real_time_waits;
}

void GlobalTurn::begin(const GlobalQueue& queue, SchedulingEntity& running, Instant now) {
  any_ = true;
  if (running.real_time != 0) {
    if (real_time_since_ == never) real_time_since_ = now;
    turn_end_ = std::max(real_time_since_ + GlobalQueue::longest_turn(tick_), now + tick_);
  } else {
    real_time_since_ = never;
    if (GlobalQueue::left(running) <= Duration{}) queue.begin_turn(running, tick_);
    turn_end_ = now + GlobalQueue::left(running);
  }
  turn_end_ = std::max(turn_end_, now + RunQueue::shortest_turn(tick_));
}

Instant GlobalTurn::limit(const GlobalQueue& queue, SchedulingEntity* running, Instant until, Instant now) {
  if (turn_end_ <= now && running != nullptr && (queue.waiting() == 0 || guest_ != nullptr)) {
    turn_end_ = now + GlobalQueue::longest_turn(tick_);
    if (running->real_time == 0) {
      queue.begin_turn(*running, tick_);
      turn_end_ = now + GlobalQueue::left(*running);
    }
  }
  return std::min(until, turn_end_);
}

void GlobalTurn::pass(GlobalQueue& queue, Duration clock) {
  queue.pass(std::min(clock - passed_, longest_pass));
  passed_ = clock;
}

void GlobalTurn::end(const SchedulingEntity* next) {
  turn_end_ = never;
  if (next == guest_) guest_ = nullptr;
  if (next == nullptr) real_time_since_ = never;
  any_ = guest_ != nullptr || real_time_since_ != never;
}

}  // namespace corral::sched

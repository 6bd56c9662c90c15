// The timer queue of a core: a tree ordered by instant; equal instants run in the order in which they were added.
// Own core only, interrupts off. Pure: `now` is a parameter. Neighbours: core.cpp arms the hardware for first().
#include "core/timer_queue.h"

namespace corral {

void TimerQueue::add(TimerEvent& event, Instant when, bool by_wall) {
  cancel(event);
  event.when_ = when;
  event.by_wall_ = by_wall;
  events_.insert(event);
}

void TimerQueue::cancel(TimerEvent& event) {
  if (event.pending()) events_.remove(event);
}

bool TimerQueue::run_until(Instant now) {
  bool any = false;
  for (TimerEvent* event = events_.first(); event != nullptr && event->when() <= now; event = events_.first()) {
    events_.pop_first();
    event->action_(*event);  // may add and cancel events, and end this event's life
    any = true;
  }
  return any;
}

void TimerQueue::make_wall_events_due(Instant now) {
  for (TimerEvent* event = events_.first(); event != nullptr;) {
    TimerEvent* const next = events_.next(*event);
    if (event->by_wall_) add(*event, now);
    event = next;
  }
}

}  // namespace corral

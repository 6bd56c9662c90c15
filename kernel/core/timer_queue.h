// What is to happen on this core at an instant. One queue for each core, touched only by that core: no lock.
#pragma once

#include "lib/red_black_tree.h"
#include "lib/types.h"

namespace corral {

// One thing to happen once; lives in what it is about.
class TimerEvent {
 public:
  using Action = void (*)(TimerEvent& event);
  constexpr explicit TimerEvent(Action action) : action_{action} {}
  [[nodiscard]] bool pending() const { return link_.linked(); }
  [[nodiscard]] Instant when() const { return when_; }

 private:
  friend class TimerQueue;
  TreeLink link_;
  Instant when_ = never;
  bool by_wall_ = false;
  Action action_;
};

class TimerQueue {
 public:
  // by_wall: `when` was computed from a wall time, and is wrong once the wall clock is set.
  void add(TimerEvent& event, Instant when, bool by_wall = false);
  void cancel(TimerEvent& event);  // nothing if not pending
  [[nodiscard]] Instant first() const {
    const TimerEvent* event = events_.first();
    return event == nullptr ? never : event->when();
  }
  // Runs the actions of all events up to `now`, earliest first; each is no longer pending when its action runs.
  // False: there were none.
  bool run_until(Instant now);
  // The wall clock was set: events that go by it are due, that is, their actions have to look whether they are.
  void make_wall_events_due(Instant now);

 private:
  struct Earlier {
    bool operator()(const TimerEvent& a, const TimerEvent& b) const { return a.when_ < b.when_; }
  };
  RedBlackTree<TimerEvent, &TimerEvent::link_, Earlier> events_;
};

}  // namespace corral

// What happens next, in order of time; what happens at the same time, in the order in which it was put in.
#pragma once

#include <queue>
#include <vector>

#include "lib/types.h"

namespace corral::sim {

struct Event {
  enum class Kind : u8 {
    core,
    wake,
    arrival,
    request,
    refusal,
    ask_again,
    cooled_down,
    reschedule,  // somebody waits in the global queue
    groups,  // a core reads that the core groups have changed
    adapt,  // an interval of a dynamic ratio is over
  };
  Instant when;
  u64 number;  // of all events
  Kind kind;
  u32 subject;     // core or thread
  u32 detail;  // core, ask_again, cooled_down: its generation, an older one is out of date; arrival: sched::EnqueueReason;
      // request, refusal: the core that it comes from
};

class EventQueue {
 public:
  void add(Instant when, Event::Kind kind, u32 subject, u32 detail = 0) {
    events_.push({when, next_number_++, kind, subject, detail});
  }
  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] Instant first() const { return events_.top().when; }
  Event take() {
    const Event event = events_.top();
    events_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const { return a.when != b.when ? a.when > b.when : a.number > b.number; }
  };
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  u64 next_number_ = 0;
};

}  // namespace corral::sim

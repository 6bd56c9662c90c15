// See wall_clock.h. A timer that is set by the old time while the clock is being set is found, too: the new time is stored before
// the messages are sent, and a core that has the message has all timers that it set before.
#include "core/wall_clock.h"

#include "core/core.h"

namespace corral::wall_clock {

namespace {

void on_set(Core& core, const Message&) {
  core.timers().make_wall_events_due(clock::now());
  core.rearm_timer();
}

}  // namespace

void initialise() {
  set_message_handler(MessageType::wall_clock, on_set);
}

void set_boot_time(i64 ns) {
  clock::set_boot_wall_time(ns);
  Core& here = this_core();
  here.outbox().send_also(here.wall_clock_circular, {MessageType::wall_clock, {}}, cores::online());
}

}  // namespace corral::wall_clock

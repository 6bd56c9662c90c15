// What a core keeps for the migration of threads: what it asked for, and what others may still get. Own core only, interrupts off.
// See task/migration.cpp.
#pragma once

#include "core/outbox.h"
#include "core/timer_queue.h"
#include "lib/types.h"
#include "sched/engine/migrator.h"

namespace corral {

class Migrations {
 public:
  // ---- while this core has nothing to run ----
  bool hungry = false;  // it said so, and has run nothing since; another core may have taken the request up
  bool awaiting = false;  // a request of it has not been answered yet
  bool asked = false;  // since then, and nothing has come since; else a refusal tells nothing: who is not hungry is refused
  CoreSet refused;  // by these, since then; they look for this core themselves when they have somebody
  Instant last_asked{};
  Letter request;
  TimerEvent ask_again{do_nothing};  // that the core wakes is enough: it looks for work before it sleeps again

  void begin_anew() {
    asked = false;
    refused = {};
  }
  void note_refusal(CoreId by) {
    awaiting = false;
    if (asked) refused.add(by);
  }
  void note_arrival(sched::MigrationReason why) {
    if (why == sched::MigrationReason::pulled) awaiting = false;
    if (hungry) begin_anew();
  }

  // ---- while others have nothing to run ----
  Circular refusal;
  TimerEvent cooled_down{look};  // somebody whom the policy kept back so far may go

 private:
  static void do_nothing(TimerEvent&) {}
  static void look(TimerEvent&);
};

}  // namespace corral

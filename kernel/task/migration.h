// What a core keeps for the migration of threads, beside what sched::CoreMigration does: its letters and timers. Own core only,
// interrupts off. See task/migration.cpp.
#pragma once

#include "core/outbox.h"
#include "core/timer_queue.h"
#include "sched/engine/core_migration.h"

namespace corral {

class Migrations : public sched::CoreMigration {
 public:
  using CoreMigration::CoreMigration;

  // ---- while this core has nothing to run ----
  Letter request;
  TimerEvent ask_again{do_nothing};  // that the core wakes is enough: it looks for work before it sleeps again

  // ---- while others have nothing to run ----
  Circular refusal;
  TimerEvent cooled_down{look};  // somebody whom the policy kept back so far may go

 private:
  static void do_nothing(TimerEvent&) {}
  static void look(TimerEvent&);
};

}  // namespace corral

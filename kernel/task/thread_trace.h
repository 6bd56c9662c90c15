// What the trace tells about threads: switches, wake-ups, placements, migrations. See trace/trace.h; all but wants() is out of line.
// Context: the executive's, interrupts off.
#pragma once

#include "sched/engine/migrator.h"
#include "sched/placement_policy.h"
#include "trace/trace.h"

namespace corral {

class Thread;

namespace trace {

// One for each core. It remembers who left the core, since the trace has one record for who leaves and who runs next. Only who is
// given away between the two, and may run elsewhere before this core knows what it does next, has a record of its own: on every
// core's clock a thread is on one core at a time.
class Switches {
 public:
  void leaves(const Thread& thread, u8 why) {
    if (wants(Event::switched)) [[unlikely]]
      note_leaving(thread, why);
  }
  // Before another core can know of it.
  void gives_away(const Thread& thread) {
    if (wants(Event::switched)) [[unlikely]]
      note_giving_away(thread);
  }
  void runs(const Thread& thread) {
    if (wants(Event::switched)) [[unlikely]]
      note_running(&thread);
  }
  void sleeps() {
    if (wants(Event::switched)) [[unlikely]]
      note_running(nullptr);
  }

 private:
  void note_leaving(const Thread& thread, u8 why);
  void note_giving_away(const Thread& thread);
  void note_running(const Thread* thread);

  Label last_{};
  u8 why_ = 0;
  u32 session_ = 0;  // in which last_ was noted: a core of which nothing was, sleeps
};

void note_wake(Event event, const Thread& thread);
inline void wake(Event event, const Thread& thread) {
  if (wants(event)) [[unlikely]]
    note_wake(event, thread);
}

void note_migration(const Thread& thread, sched::MigrationReason why, CoreId from, CoreId to);
inline void migration(const Thread& thread, sched::MigrationReason why, CoreId from, CoreId to) {
  if (wants(Event::migrated)) [[unlikely]]
    note_migration(thread, why, from, to);
}

void note_placement(const Thread& thread, sched::PlacementReason reason, CoreId chosen);
inline void placement(const Thread& thread, sched::PlacementReason reason, CoreId chosen) {
  if (wants(Event::placed)) [[unlikely]]
    note_placement(thread, reason, chosen);
}

}  // namespace trace
}  // namespace corral

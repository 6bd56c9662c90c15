// What the trace tells about threads: switches, wake-ups, placements, migrations. See trace/trace.h; what a switch
// and a wake-up write is in the executive's own code, the rest out of line. Context: the executive's, interrupts off. Names are not written: who
// reads finds them (task/thread_names.h).
#pragma once

#include "sched/engine/migrator.h"
#include "sched/placement_policy.h"
#include "task/thread.h"
#include "trace/trace.h"

namespace corral::trace {

// One for each core. It remembers who left the core, since the trace has one record for who leaves and who runs next. Only who is
// given away between the two, and may run elsewhere before this core knows what it does next, has a record of its own: on every
// core's clock a thread is on one core at a time.
class Switches {
 public:
  void leaves(const Thread& thread, u8 why) {
    if (wants(Event::switched)) [[unlikely]]
      note_leaving(with_event(thread.trace_head(), Event::switched, why));
  }
  // Before another core can know of it.
  void gives_away(const Thread& thread) {
    if (wants(Event::switched)) [[unlikely]]
      note_giving_away(thread);
  }
  void runs(const Thread& thread) {
    if (wants(Event::switched)) [[unlikely]]
      note_running(thread.trace_head());
  }
  void sleeps() {
    if (wants(Event::switched)) [[unlikely]]
      note_sleeping();
  }

 private:
  // Of a core that slept, as Linux has it: its idle task has the usual priority, and goes on running.
  static constexpr u64 idle_head = head_of(Event::switched, 'R', 0, usual_priority);

  void note_leaving(u64 head) {
    left_ = head;
    session_ = session();
  }
  void note_giving_away(const Thread& thread);
  void note_running(u64 next) {
    const u64 left = who_left();
    left_ = 0;
    if (thread_in(left) != thread_in(next)) write_words(stamp(), left, next);
  }
  void note_sleeping();
  [[nodiscard]] u64 who_left() {
    if (session_ == session()) [[likely]]
      return left_;
    session_ = session();
    return idle_head;
  }

  u64 left_ =
      0;  // head of the record that says who left: a thread, or nobody, as the core slept; 0: whoever runs has not left yet
  u32 session_ = 0;  // in which left_ was noted: a core of which nothing was, sleeps
};

inline void wake(Event event, const Thread& thread) {
  if (wants(event)) [[unlikely]]
    write_words(stamp(), with_event(thread.trace_head(), event, 0), u64{thread.shown_core().value});
}

void note_migration(const Thread& thread, sched::MigrationReason why, CoreId from, CoreId to);
inline void migration(const Thread& thread, sched::MigrationReason why, CoreId from, CoreId to) {
  if (wants(Event::migrated)) [[unlikely]]
    note_migration(thread, why, from, to);
}

// SchedulingManager::place(), with a record of what the candidates were worth before the thread counts where it goes.
[[nodiscard]] CoreId place(Thread& thread, sched::PlacementReason reason);

}  // namespace corral::trace

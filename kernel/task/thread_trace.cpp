// See thread_trace.h.
#include "task/thread_trace.h"

#include "sched/engine/manager.h"
#include "task/thread.h"

namespace corral::trace {

namespace {

constexpr i32 usual_priority = 120, real_time_priority = 99;

// As Linux numbers them in its traces: -1 with a deadline, 0 to 98 in the real-time class, 100 to 139 by nice value.
i32 priority_of(const Thread& thread) {
  const u32 real_time = thread.effective_priority();
  if (real_time == 0) [[likely]]
    return usual_priority + thread.nice();
  if (real_time == sched::deadline_priority) return -1;
  return real_time_priority - static_cast<i32>(real_time);
}

Name name_of(const Thread& thread) {
  Name name;
  static_assert(sizeof thread.name == sizeof name);
  __builtin_memcpy(&name, thread.name, sizeof name);
  return name;
}

Label label_of(const Thread& thread) {
  return {name_of(thread), priority_of(thread), thread.id().value};
}

constexpr char idle_name[sizeof(Name)] = "swapper";
constexpr Label idle_label{__builtin_bit_cast(Name, idle_name), usual_priority, 0};

}  // namespace

void Switches::note_leaving(const Thread& thread, u8 why) {
  last_ = label_of(thread);
  why_ = why;
  session_ = session();
}

void Switches::note_giving_away(const Thread& thread) {
  if (session_ == session() && last_.thread == thread.id().value) note_running(nullptr);
}

void Switches::note_running(const Thread* thread) {
  if (session_ != session()) {
    session_ = session();
    last_ = idle_label;
    why_ = 'R';
  }
  const Label next = thread != nullptr ? label_of(*thread) : idle_label;
  if (next.thread == last_.thread) return;
  write(Event::switched, why_, last_.thread, Switch{next, last_.name, last_.priority});
  last_ = next;
  why_ = 'R';
}

void note_wake(Event event, const Thread& thread) {
  write(event, 0, thread.id().value, Wake{name_of(thread), priority_of(thread), thread.shown_core().value});
}

void note_migration(const Thread& thread, sched::MigrationReason why, CoreId from, CoreId to) {
  const Migration migration{name_of(thread), priority_of(thread), from.value, to.value};
  write(Event::migrated, static_cast<u8>(why), thread.id().value, migration);
}

void note_placement(const Thread& thread, sched::PlacementReason reason, CoreId chosen) {
  Placement placement{static_cast<u16>(chosen.value), 0, {}};
  const SchedulingManager& manager = scheduling();
  (manager.cores() & thread.entity.allowed).for_each([&](CoreId core) {
    if (placement.candidates < Placement::most) {
      placement.candidate[placement.candidates] = {static_cast<u16>(core.value),
                                                   static_cast<u16>(manager.statistics(core).runnable())};
    }
    ++placement.candidates;
  });
  write(Event::placed, static_cast<u8>(reason), thread.id().value, placement);
}

}  // namespace corral::trace

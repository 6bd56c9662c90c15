#include "task/page_counters.h"

#include "task/thread.h"

namespace corral {

using sched::Counts;

void PageCounters::try_to_begin(PerCore& own, const Thread& thread, Instant now) {
  if (now < own.next || thread.space == nullptr) return;
  if (thread.space->begin_access_round(own.round, now)) own.next = now + interval;
}

Counts PageCounters::finish(PerCore& own, const Thread& thread) {
  Counts counts;
  u64 pages = 0;
  // The thread may have ended, or executed another program: then the round is nobody's any more.
  const bool same = own.round.space != 0 && thread.space != nullptr && thread.space->number() == own.round.space;
  if (same && thread.space->end_access_round(own.round, pages)) counts.set(sched::Figure::pages, pages);
  own.round.space = 0;
  return counts;
}

void PageCounters::begin(sched::SchedulingEntity& entity, Instant now) {
  PerCore& own = cores_[this_core().id().value];
  own.round.space = 0;  // one of before counting was switched off
  try_to_begin(own, Thread::of(entity), now);
}

Counts PageCounters::look(sched::SchedulingEntity& entity, Instant now) {
  PerCore& own = cores_[this_core().id().value];
  const Counts counts = finish(own, Thread::of(entity));
  try_to_begin(own, Thread::of(entity), now);
  return counts;
}

Counts PageCounters::end(sched::SchedulingEntity& entity, Instant) {
  return finish(cores_[this_core().id().value], Thread::of(entity));
}

}  // namespace corral

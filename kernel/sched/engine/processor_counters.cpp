#include "sched/engine/processor_counters.h"

#include "arch/processor.h"

namespace corral::sched {

FigureSet ProcessorCounters::counts() const {
  FigureSet all = FigureSet::of(Figure::instructions, Figure::cycles);
  if (arch::has_cache_events()) {
    all.add(Figure::accesses);
    all.add(Figure::refills);
  }
  return all;
}

void ProcessorCounters::begin(SchedulingEntity&, Instant) {
  PerCore& own = cores_[arch::core_index()];
  if (!own.started) {
    arch::start_event_counters();
    own.started = true;
  }
  own.before = arch::read_event_counters();
}

Counts ProcessorCounters::look(SchedulingEntity&, Instant) {
  PerCore& own = cores_[arch::core_index()];
  const arch::EventSums now = arch::read_event_counters();
  const arch::EventSums events = arch::events_between(own.before, now);
  own.before = now;
  Counts counts;
  counts.set(Figure::instructions, events.instructions);
  counts.set(Figure::cycles, events.cycles);
  if (arch::has_cache_events()) {
    counts.set(Figure::accesses, events.accesses);
    counts.set(Figure::refills, events.refills);
  }
  return counts;
}

}  // namespace corral::sched

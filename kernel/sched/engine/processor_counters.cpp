#include "sched/engine/processor_counters.h"

#include "arch/processor.h"

namespace corral::sched {

namespace {

// By which name the policies know an event.
constexpr Figure figure_of[arch::counted_events] = {Figure::instructions, Figure::cycles, Figure::accesses, Figure::refills};

FigureSet figures_of(arch::CountedEvents events) {
  FigureSet all;
  for (u32 i = 0; i < arch::counted_events; ++i) {
    if (events.has(arch::CountedEvent{static_cast<u8>(i)})) all.add(figure_of[i]);
  }
  return all;
}

}  // namespace

const char* ProcessorCounters::find_out() {
  if (const char* obstacle = arch::find_event_counters(); obstacle != nullptr) return obstacle;
  counted_ = figures_of(arch::events_counted());
  told_apart_ = figures_of(arch::events_told_apart());
  return nullptr;
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
  for (u32 i = 0; i < arch::counted_events; ++i) {
    counts.value[static_cast<u32>(figure_of[i])] = events.all[i];
    counts.in_kernel[static_cast<u32>(figure_of[i])] = events.in_kernel[i];
  }
  counts.known = counted_;
  return counts;
}

}  // namespace corral::sched

// The counter source "pmu": the processor's own counters (arch/performance_counters.h), read at each switch. They count on, in user
// and kernel mode, which are told apart as far as there are counters, from a core's first thread; each stretch of a thread is the
// difference of two readings.
#pragma once

#include "arch/performance_counters.h"
#include "lib/atomic.h"
#include "sched/counters.h"

namespace corral::sched {

class ProcessorCounters final : public CounterSource {
 public:
  [[nodiscard]] const char* name() const override { return "pmu"; }
  [[nodiscard]] const char* description() const override { return "the processor's own counters"; }
  [[nodiscard]] FigureSet counts() const override { return counted_; }
  [[nodiscard]] FigureSet tells_modes_apart() const override { return told_apart_; }
  [[nodiscard]] const char* find_out() override;
  void begin(SchedulingEntity& entity, Instant now) override;
  [[nodiscard]] Counts look(SchedulingEntity& entity, Instant now) override;
  [[nodiscard]] Counts end(SchedulingEntity& entity, Instant now) override { return look(entity, now); }

 private:
  // Of one core, which alone touches it.
  struct alignas(cache_line) PerCore {
    bool started = false;
    arch::EventSums before;
  };
  PerCore cores_[max_cores];

  FigureSet counted_, told_apart_;  // found out at boot
};

}  // namespace corral::sched

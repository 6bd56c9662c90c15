// The counter source "model": what the emulator's cache model counts (docs/cache-model.md). It writes the sums of each core into a
// page of the kernel; a stretch of a thread is the difference of two readings, in user and in kernel mode. In return the kernel
// tells the model which thread runs.
#pragma once

#include "lib/cache_model.h"
#include "sched/counters.h"
#include "sync/spin_lock.h"

namespace corral {

class ModelCounters final : public sched::CounterSource {
 public:
  [[nodiscard]] const char* name() const override { return "model"; }
  [[nodiscard]] const char* description() const override { return "caches as the emulator models them"; }
  [[nodiscard]] sched::FigureSet counts() const override;
  [[nodiscard]] sched::FigureSet tells_modes_apart() const override { return counts(); }
  [[nodiscard]] const char* find_out() override;
  void begin(sched::SchedulingEntity& entity, Instant now) override;
  [[nodiscard]] sched::Counts look(sched::SchedulingEntity& entity, Instant now) override;
  [[nodiscard]] sched::Counts end(sched::SchedulingEntity& entity, Instant now) override;

 private:
  struct Reading {
    u64 values[cache_model::modes][cache_model::events] = {};
  };
  // Of one core, which alone touches it.
  struct alignas(cache_line) PerCore {
    bool seated = false;
    Reading before;
  };
  static Reading read(const cache_model::Seat& seat);
  // This core's sums are in its seat from now on, if there is a model.
  void take_seat();

  SpinLock lock_{Rank::cache_model, "cache model"};  // for Page::asking: seats are taken one at a time
  PerCore cores_[cache_model::most_cores];
};

}  // namespace corral

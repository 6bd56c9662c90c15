// The counter source "pages": how many pages a thread touches, from the accessed bits of its address space (vm/access_sampling.cpp).
//
// A core looks at most once in an interval, at a bounded number of pages. A round begins when a thread is switched to, or goes
// on running, and ends when it leaves or at its next look. Threads of one process share the bits: one of them at a time has a
// round. What is counted is what a thread touches in one turn, or in 10 ms if that is longer.
#pragma once

#include "core/core.h"
#include "sched/counters.h"
#include "vm/address_space.h"

namespace corral {

class Thread;

class PageCounters final : public sched::CounterSource {
 public:
  static constexpr Duration interval = milliseconds(10);  // shortest time between two rounds of one core

  [[nodiscard]] const char* name() const override { return "pages"; }
  [[nodiscard]] const char* description() const override { return "samples which pages are touched, on any machine"; }
  [[nodiscard]] sched::FigureSet counts() const override { return sched::FigureSet::of(sched::Figure::pages); }
  [[nodiscard]] const char* find_out() override { return nullptr; }
  void begin(sched::SchedulingEntity& entity, Instant now) override;
  [[nodiscard]] sched::Counts look(sched::SchedulingEntity& entity, Instant now) override;
  [[nodiscard]] sched::Counts end(sched::SchedulingEntity& entity, Instant now) override;

 private:
  // Of one core, which alone touches it.
  struct alignas(cache_line) PerCore {
    vm::AccessRound round;
    Instant next{};  // not before that
  };
  static void try_to_begin(PerCore& own, const Thread& thread, Instant now);
  static sched::Counts finish(PerCore& own, const Thread& thread);

  PerCore cores_[max_cores];
};

}  // namespace corral

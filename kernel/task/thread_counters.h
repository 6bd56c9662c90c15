// What a core's threads do to the machine, counted at each switch and, of one that runs on and on, from time to time
// (sched/counters.h, docs/counters.md). Own core, interrupts off; one object for each core. While nobody counts, one look at a word.
#pragma once

#include "core/timer_queue.h"
#include "sched/cache_users.h"
#include "sched/engine/counting.h"

namespace corral {

class Thread;

class ThreadCounters {
 public:
  // How often a thread that runs on is looked at.
  static constexpr Duration look_interval = milliseconds(10);

  // The thread runs on this core from now on, its address space loaded.
  void runs(Thread& thread) {
    if (sched::counting::active()) [[unlikely]]
      note_running(thread);
  }
  // It leaves; it is still this core's.
  void leaves(Thread& thread) {
    if (sched::counting::active()) [[unlikely]]
      note_leaving(thread);
  }

  // Boot context: makes the sources known and chooses as the boot option counters= says.
  static void start(std::string_view choice);

 private:
  void note_running(Thread& thread);
  void note_leaving(Thread& thread);
  void add(Thread& thread, const sched::Counts& counts, Instant now);
  static void on_look(TimerEvent& event);

  Thread* counted_ = nullptr;  // who runs; meaningful while session_ is the present one
  u32 session_ = 0;
  Instant since_{};  // the beginning of the stretch
  sched::CacheUsers cache_users_;
  TimerEvent look_{on_look};
};

}  // namespace corral

// Rounds over the threads: whether somebody sleeps, is on the way, waits in the global queue or was asked for something, and nobody will
// ever come back to it (docs/checker.md). What a core can see of itself at a decision is checked there; this is what only time tells.
//
// A core makes a round twice a second while it runs anything, and goes on afterwards until all is well: then no timer is set for it. A
// round looks at a part of all threads, at this core's as their owner and at all others from outside: their home may sleep and never
// look. The table's lock keeps them in memory; what is read of a thread of another core is atomic, and may be over a moment later.
// Context: own core, interrupts off, no locks held.
#pragma once

#include "core/core.h"
#include "core/core_progress.h"
#include "core/timer_queue.h"
#include "trace/invariants.h"

namespace corral {

class Thread;

class CheckRounds {
 public:
  explicit CheckRounds(Core& core) : core_{core} {}
  // The core has something to run, and had not before.
  void begin();

 private:
  static constexpr Duration between = milliseconds(500);
  static constexpr u32 most_looked_at = 128;  // threads in one round, under the table's lock
  // How many rounds must find a suspect as it was, with all cores having got on in between: they may be in the middle of what they do, or
  // be stopped there by their host.
  static constexpr u32 most_found = 6;
  static constexpr u32 most_rounds = 60;  // whether cores get on or not: half a minute

  // A thread that is not where it should be, which is right for a moment.
  struct Suspect {
    i32 thread = 0;  // 0: none
    invariants::Invariant invariant{};
    u64 turns = 0;  // how often it had blocked, moved and been sent a message
    u32 rounds = 0;  // in which it was found so
    u32 progress = 0;  // at the last one that counted
    u32 found = 0;  // how many counted
    bool told = false;
    bool again = false;  // since the table was begun from its start
  };

  static void on_time(TimerEvent& event);  // between two steps
  void look();
  void look_at_threads();
  void look_at_own(Thread& thread);
  void look_whether_forgotten(Thread& thread);
  void look_in_global(Thread& thread, Duration clock);
  void suspect(Thread& thread, invariants::Invariant invariant);
  void forget_cleared();

  Core& core_;
  TimerEvent event_{on_time};
  i32 last_thread_ = 0;  // where the last round ended; 0: at the end of the table
  Suspect suspects_[8];
  CoreProgress progress_;
  u32 progress_now_ = 0;  // in this round
};

}  // namespace corral

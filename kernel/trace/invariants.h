// What must hold of scheduling in every state of the machine, and the account of what did not (docs/checker.md). The checks stand
// where the state is: in the run queue, on the tick, before a core sleeps, and in a round over the threads. They report here.
//
// The log gets a line for the first violation of each kind on each run; /proc/sched-dump keeps the first ones with the decision at
// which they were found; /proc/sched has the count. No lock but the log's: each record is written once, by the core that found it.
#pragma once

#include <string_view>

#include "lib/types.h"

namespace corral::invariants {

enum class Invariant : u8 {
  one_place,  // a thread is in exactly one place: it runs, waits in one queue, is on the way, or sleeps
  one_queue,  // who waits on a core or for all cores is in the list there once, and counted once
  affinity,  // nobody runs on, or is sent to, a core that its mask or its group excludes
  numbers,  // what a core publishes is what it has
  time,  // run, idle and switching time of a core add up to the time that has passed
  timer,  // the hardware timer is set for whatever is due first
  idle_with_work,  // no core sleeps while its own queue has somebody who may run
  idle_beside_waiting,  // … nor, for longer than a bound, while another core has somebody who may come
  starvation,  // nobody of the timeline waits too long while others of it run
  real_time_budget,  // real-time threads and the others both get their parts of a period
  reservation,  // nobody runs on a reservation that is used up
  lost_wake_up,  // whoever was taken off its wait, or is asked for something, is looked at
  lost_message,  // a message to a core arrives
  lost_arrival,  // a thread that was sent to a core arrives
  unannounced_message,  // a message to a core that sleeps comes with an interrupt
  end_of_invariants,
};
[[nodiscard]] std::string_view name_of(Invariant invariant);

// What the core was doing when it found out.
enum class During : u8 { enqueue, pick, review, leave, hand_over, arming, tick, sleep, round };
[[nodiscard]] std::string_view name_of(During during);

struct Violation {
  Invariant invariant;
  During during;
  CoreId core{};  // that is concerned
  i32 thread = 0;  // 0: none, or not known
  u64 decision = 0;  // how many decisions the core that found it had made since start
};

inline constexpr u32 kept = 16;  // records; later violations are only counted

// Any context but an NMI, any lock but the log's.
[[gnu::cold]] void report(const Violation& violation);
// From now on the first violation is a panic. Boot context.
void panic_at_the_first();
// All since start. Any core.
[[nodiscard]] u64 count();
// Counts and records as text; writes at most `size` bytes, returns how many. Any core.
size_t describe(char* to, size_t size);

}  // namespace corral::invariants

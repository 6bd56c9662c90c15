// What a thread has that its parent traces: before it takes a signal it stops, tells its parent, and waits until that lets it go
// on, with this signal, another one or none. Only a parent traces: its own children, or a child that asks for it.
// Source: Linux ptrace(2).
//
// The stop is a wait of the step that delivers signals (task/signal_delivery.cpp): the thread's registers are in its frame, where
// the tracer reads and changes them while `stop` is stopped. What says "table" is guarded by processes::lock().
#pragma once

#include "lib/atomic.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "task/signals.h"
#include "task/thread.h"

namespace corral {

struct Tracee {
  enum class Stop : u8 { none, stopped, resumed };
  Atomic<bool> traced{false};  // any reads; table
  Atomic<Stop> stop{Stop::none};  // any reads; table
  i32 news = 0;  // table: the stop's status in wait4's form; 0: it has been told
  SignalInfo info;  // table: what it stopped for
  i32 resumed_with = 0;  // table: the signal that it is to take; 0: none
  bool ends_with_tracer = false;  // table: PTRACE_O_EXITKILL
  bool stepping = false;  // table while stopped, then the thread: it goes on for one instruction
  bool stepped = false;  // table: that is how it was resumed last
  SignalSet passed = 0;  // the process's lock: pending ones that its tracer has seen
};

namespace tracees {

[[nodiscard]] inline bool is_traced(const Thread& thread) {
  const Tracee* tracee = thread.tracee.load(Order::acquire);
  return tracee != nullptr && tracee->traced.load(Order::acquire);
}
[[nodiscard]] inline bool is_stopped(const Thread& thread) {
  const Tracee* tracee = thread.tracee.load(Order::acquire);
  return tracee != nullptr && tracee->stop.load(Order::acquire) == Tracee::Stop::stopped;
}

// ---- the thread itself, in a step; holds(), stops_for() and set_out() only where it has a Tracee ---------------------------
// Its parent traces it from now on. eperm: it does already, or there is none; enomem.
Result<void> offer(Thread& thread);
// It is stopped and must wait to be resumed. False: it goes on, and what it was resumed with is pending.
[[nodiscard]] bool holds(Thread& thread);
// It is about to take `signal`. True: it does not, but has to look again (at holds() first).
[[nodiscard]] bool stops_for(Thread& thread, int signal);
// It is about to return to user mode: for one instruction, if that is wanted.
void set_out(Thread& thread);
// It has executed a program: the tracer hears of it by SIGTRAP.
void executed(Thread& thread);

// ---- the tracer, in a step ---------------------------------------------------------------------------------------------
// A thread of one of its children, which is sent SIGSTOP. esrch, eperm, enomem.
Result<void> attach(Thread& tracer, Thread& target);
// The thread of that number, if `tracer` traces it and it is stopped; else esrch.
Result<Ref<Thread>> stopped(Process& tracer, ThreadId id);
struct Resumption {
  i32 signal = 0;
  bool step = false;  // for one instruction
  bool leave = false;  // and it is traced no more
};
Result<void> resume(Process& tracer, ThreadId id, Resumption how);  // esrch as above
Result<void> set_end_with_tracer(Process& tracer, ThreadId id, bool wanted);  // esrch as above

// ---- with processes::lock() held ---------------------------------------------------------------------------------------
// The tracer of the process's threads ends: they go on, by single steps if those were the last; as on Linux that is their end.
void let_go_all(Process& process);
// The thread leaves its process, whose lock is held, too.
void forget(Thread& thread);

}  // namespace tracees
}  // namespace corral

// What a thread has that is traced: who traces it, why it is stopped, and how it is to go on. Source: Linux ptrace(2).
//
// Who may touch what:
//  - "table": with processes::lock() held.
//  - "stopped": written by the thread before `stop` becomes stopped and by its tracer while it is, read by both after that;
//    `stop` is what hands them over.
//  - "thread": only code running as the thread, in one of its steps.
// A thread keeps its Tracee until its own end, also when it is traced no more. While it is in its tracer's list, that list has a
// reference to the thread: so the tracer hears of the thread's end.
#pragma once

#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "task/signals.h"

namespace corral {

struct Tracee {
  // listening: stopped, but the tracer wants to hear of the end of the stop (PTRACE_LISTEN).
  enum class Stop : u8 { none, stopped, listening, resumed };
  // Where it stops: before it takes a signal; as a call begins or ends; as something else happens in a call, or it ends; because its
  // process or its tracer wants it to.
  enum class Place : u8 { signal, call, event, end, trap };
  enum class Go : u8 { on, to_next_call, past_next_call };  // past: the call is not made (PTRACE_SYSEMU)
  // How far the system call under way has come; none: it is not followed.
  enum class Call : u8 { none, entering, inside, passed, leaving };

  enum Option : u32 {  // PTRACE_O_…; 1 << an event: stop for it
    mark_calls = 1,
    end_with_tracer = 0x10'0000,
    all_options = 0x10'00ff,
  };
  enum Event : u32 { none = 0, fork = 1, vfork = 2, clone = 3, exec = 4, vfork_done = 5, exit = 6, stop_event = 128 };
  enum CallSide : u32 { entry = 1, leave = 2 };  // `message` of a stop at a call

  Thread* thread = nullptr;  // whose it is; set once
  // ---- table ----
  ListLink link;
  Process* tracer = nullptr;  // null: nobody
  bool has_news = false;  // wait4 has something to tell its tracer:
  i32 news = 0;  // in wait4's form
  bool ended = false;
  bool trap_wanted = false;  // PTRACE_INTERRUPT: at least one more stop
  bool trap_for_news = false;  // its process goes on: one more stop of place trap
  // ---- changed under the table's lock, read by any ----
  Atomic<bool> traced{false};  // tracer != nullptr
  Atomic<Stop> stop{Stop::none};
  Atomic<bool> seized{false};  // PTRACE_SEIZE: it is stopped by traps, not by SIGSTOP
  Atomic<u32> options{0};
  Atomic<Go> go{Go::on};  // how it was resumed last
  // ---- stopped ----
  Place place = Place::signal;
  u32 event = 0;  // of place event, end and trap
  bool has_info = false;
  SignalInfo info;  // what it stopped for
  u64 message = 0;  // PTRACE_GETEVENTMSG
  i32 resumed_with = 0;  // the signal that it is to take; 0: none
  bool stepping = false;  // it is to go on for one instruction
  bool stepped = false;  // that is how it was resumed last
  u64 break_address[4] = {};  // in the debug registers: kept to be told
  // ---- thread ----
  Call call = Call::none;
  i64 call_number = 0;  // while `call` is not none
  bool emulated = false;  // the call is not to be made
  u32 event_noted = 0;  // by the call under way, to be stopped for before that ends
  u64 message_noted = 0;
  bool end_told = false;  // it has stopped for its end, if that was wanted
  i32 exit_status = 0;  // wait4's form, if it ends by itself
  // ---- the process's lock ----
  SignalSet passed = 0;  // pending ones that its tracer has seen
};

using TraceeList = IntrusiveList<Tracee, &Tracee::link>;

}  // namespace corral

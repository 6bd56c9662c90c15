// Tracing, the thread's own part: it stops, waits for its tracer, and goes on as that wants it. See tracees.h. Everything here runs in a
// step of the thread, on its home core.
#include "core/core.h"
#include "task/executive.h"
#include "task/tracees.h"

namespace corral::tracees {

namespace {

constexpr i32 mark_of_calls = 0x80;  // PTRACE_O_TRACESYSGOOD
constexpr u32 event_shift = 8;
constexpr i32 code_breakpoint = 1;  // TRAP_BRKPT

// Only the thread itself asks: what it reads is written while it is stopped.
Tracee& of(const Thread& thread) {
  return *thread.tracee.load(Order::relaxed);
}

struct Report {
  Tracee::Place place;
  i32 code;  // the signal and, above it, the event
  SignalInfo info{};
  u32 event = 0;
  u64 message = 0;
  bool has_info = true;
  bool with_process = false;  // it is true only while the process is stopped
};

// Somebody else ends it: no stop may hold it.
bool must_end(const Thread& thread, Tracee::Place place) {
  const Process& process = thread.process();
  return place == Tracee::Place::end ? process.killed() : process.ending() || thread.end_wanted;
}

void tell_tracer(const Thread& thread, Process& tracer, i32 signal) {
  tracer.child_changed.wake_all();
  (void)signals::send(tracer, {.number = sigchld,
                               .code = child_trapped,
                               .sender = thread.id().value,
                               .sender_user = thread.credentials().user.real,
                               .value = static_cast<u64>(signal)});
}

// A stop satisfies what was asked of the thread before. processes::lock() is held.
void settle_traps(Thread& thread, Tracee& tracee, Tracee::Place place) {
  tracee.trap_wanted = false;
  if (place == Tracee::Place::trap) tracee.trap_for_news = false;
  if (!tracee.trap_for_news) signals::withdraw_trap(thread);
}

// True: it is stopped, and holds() says when no longer. False: nobody traces it, or it ends.
bool stop(Thread& thread, const Report& report) {
  Tracee& tracee = of(thread);
  if (!tracee.traced.load(Order::acquire)) return false;
  Executive& executive = *this_core().executive;
  executive.save_floating_point(thread);
  LockGuard guard{processes::lock()};
  if (!tracee.traced.load(Order::relaxed) || must_end(thread, report.place)) return false;
  if (report.with_process && !thread.process().stopped())
    return false;  // it has been continued, and word of that is on its way
  settle_traps(thread, tracee, report.place);
  thread.frame.set_stepping(false);
  tracee.stepping = false;
  tracee.place = report.place;
  tracee.event = report.event;
  tracee.info = report.info;
  tracee.has_info = report.has_info;
  tracee.message = report.message;
  tracee.news = report.code << 8 | 0x7f;
  tracee.has_news = true;
  executive.part_with_floating_point(thread);
  tracee.stop.store(Tracee::Stop::stopped, Order::release);
  tell_tracer(thread, *tracee.tracer, report.code & 0x7f);
  return true;
}

SignalInfo trap_info(const Thread& thread, i32 signal, i32 code) {
  return {.number = signal, .code = code, .sender = thread.process().id().value, .sender_user = thread.credentials().user.real};
}

Report event_report(const Thread& thread, Tracee::Place place, u32 event, u64 message, i32 signal = sigtrap) {
  const i32 code = signal | static_cast<i32>(event << event_shift);
  return {place, code, trap_info(thread, signal, code), event, message};
}

Report call_report(const Thread& thread, Tracee::CallSide side) {
  const bool marked = (of(thread).options.load(Order::relaxed) & Tracee::mark_calls) != 0;
  const i32 code = marked ? sigtrap | mark_of_calls : sigtrap;
  return {Tracee::Place::call, code, trap_info(thread, sigtrap, code), 0, side};
}

bool wants(const Tracee& tracee, u32 event) {
  return tracee.traced.load(Order::acquire) && (tracee.options.load(Order::relaxed) >> event & 1) != 0;
}

// The stop is over: takes what the thread is resumed with. False: it is not over.
bool leave_stop(Thread& thread, Tracee& tracee, SignalInfo& info) {
  LockGuard guard{processes::lock()};
  const Tracee::Stop stop = tracee.stop.load(Order::relaxed);
  const bool hears = stop == Tracee::Stop::listening && (tracee.trap_wanted || tracee.trap_for_news);
  if (stop != Tracee::Stop::resumed) {
    if (!hears && !must_end(thread, tracee.place)) return false;
    tracee.has_news = false;
    tracee.resumed_with = 0;
  }
  tracee.stop.store(Tracee::Stop::none, Order::relaxed);
  if (tracee.resumed_with == 0 || tracee.place == Tracee::Place::trap) return true;
  info = {.number = tracee.resumed_with, .code = code_user};
  if (tracee.place == Tracee::Place::signal && tracee.resumed_with == tracee.info.number) {
    info = tracee.info;
  } else if (tracee.tracer != nullptr) {
    info.sender = tracee.tracer->id().value;
  }
  return true;
}

}  // namespace

bool holds(Thread& thread) {
  Tracee& tracee = of(thread);
  if (tracee.stop.load(Order::relaxed) == Tracee::Stop::none) return false;
  SignalInfo info;
  if (!leave_stop(thread, tracee, info)) return true;
  Executive& executive = *this_core().executive;
  executive.reclaim_floating_point(thread);  // the tracer may have changed it
  executive.reload_bases();
  if (info.number == 0) return false;
  if (tracee.place == Tracee::Place::signal) {
    signals::pass_on(thread, info);
  } else {
    (void)signals::send(thread, info);
  }
  return false;
}

bool stops_for(Thread& thread, int signal) {
  Tracee& tracee = of(thread);
  // `passed` changes only by this thread.
  if ((tracee.passed & signal_bit(signal)) != 0 || !tracee.traced.load(Order::acquire)) return false;
  SignalInfo info;
  if (!signals::take(thread, signal_bit(signal), info)) return true;  // another thread of the process was first
  if (!stop(thread, {Tracee::Place::signal, signal, info})) signals::pass_on(thread, info);  // let go of a moment ago
  return true;
}

bool traps(Thread& thread) {
  if (!signals::trap_raised(thread)) return false;
  {
    LockGuard guard{processes::lock()};
    const Tracee& tracee = of(thread);
    if (tracee.tracer == nullptr || !(tracee.trap_wanted || tracee.trap_for_news)) {
      signals::withdraw_trap(thread);
      return false;
    }
  }
  return stop(thread, event_report(thread, Tracee::Place::trap, Tracee::stop_event, 0));
}

Errno stop_with_process(Thread& thread) {
  Process& process = thread.process();
  for (;;) {
    if (holds(thread)) return thread.wait_for_resume();
    const i32 signal = process.stopped_by();
    if (signal == 0 || process.ending() || thread.end_wanted) {
      set_out(thread);
      return Errno{};
    }
    process.thread_stops(thread);
    Tracee& tracee = of(thread);
    Report report{Tracee::Place::trap, signal, {}, 0, 0, false};
    if (tracee.seized.load(Order::relaxed)) report = event_report(thread, Tracee::Place::trap, Tracee::stop_event, 0, signal);
    report.with_process = true;
    if (!stop(thread, report)) return thread.wait_for_resume();
  }
}

void come_in(Thread& thread) {
  Tracee& tracee = of(thread);
  if (!tracee.stepped || !thread.frame.stepping()) return;
  tracee.stepping = true;
  thread.frame.set_stepping(false);
}

void set_out(Thread& thread) {
  Tracee& tracee = of(thread);
  if (!tracee.stepping) return;
  tracee.stepping = false;
  thread.frame.set_stepping(true);
}

bool stops_at_end(Thread& thread) {
  Tracee& tracee = of(thread);
  if (tracee.end_told) return holds(thread);
  tracee.end_told = true;
  if (!wants(tracee, Tracee::exit)) return false;
  const Process& process = thread.process();
  const i32 status = process.ending() ? process.exit_status : tracee.exit_status;
  return stop(thread, event_report(thread, Tracee::Place::end, Tracee::exit, static_cast<u32>(status)));
}

// ---- system calls ----------------------------------------------------------------------------------------------------------

Turn before_call(Thread& thread, bool begins) {
  Tracee& tracee = of(thread);
  if (begins) {
    tracee.call = Tracee::Call::none;
    tracee.event_noted = Tracee::none;
    if (!tracee.traced.load(Order::acquire)) return Turn::run;
    tracee.call = Tracee::Call::inside;
    tracee.call_number = static_cast<i64>(thread.frame.system_call_number());
    const Tracee::Go go = tracee.go.load(Order::relaxed);
    if (go == Tracee::Go::on) return Turn::run;
    tracee.emulated = go == Tracee::Go::past_next_call;
    thread.frame.set_result(-static_cast<i64>(Errno::enosys));  // what Linux shows until there is a result
    if (!stop(thread, call_report(thread, Tracee::entry))) return Turn::run;
    tracee.call = Tracee::Call::entering;
    return Turn::wait;
  }
  switch (tracee.call) {
    case Tracee::Call::none:
    case Tracee::Call::inside: return Turn::run;
    case Tracee::Call::passed:
    case Tracee::Call::leaving: return Turn::skip;
    case Tracee::Call::entering: break;
  }
  if (holds(thread)) return Turn::wait;
  thread.begin_waits();
  const bool refused = static_cast<i64>(thread.frame.system_call_number()) < 0;
  const bool passes = tracee.emulated || refused || must_end(thread, Tracee::Place::call);
  tracee.call = passes ? Tracee::Call::passed : Tracee::Call::inside;
  return passes ? Turn::skip : Turn::run;
}

bool after_call(Thread& thread) {
  Tracee& tracee = of(thread);
  if (tracee.call == Tracee::Call::none) return false;
  if (tracee.call == Tracee::Call::inside) {
    tracee.call = Tracee::Call::passed;
    if (stops_for_event(thread)) return true;
  }
  if (holds(thread)) return true;
  if (tracee.call == Tracee::Call::passed) {
    tracee.call = Tracee::Call::leaving;
    const bool wanted = tracee.go.load(Order::relaxed) == Tracee::Go::to_next_call;
    if (wanted && stop(thread, call_report(thread, Tracee::leave))) return true;
    if (tracee.stepping || (tracee.stepped && thread.frame.stepping())) {  // the call was the instruction
      tracee.stepping = tracee.stepped = false;
      thread.frame.set_stepping(false);
      signals::force(thread, {.number = sigtrap, .code = code_breakpoint, .value = thread.frame.program_counter().value});
    }
  }
  set_out(thread);
  tracee.call = Tracee::Call::none;
  return false;
}

void note_event(Thread& thread, Tracee::Event event, u64 message) {
  Tracee& tracee = of(thread);
  if (tracee.call != Tracee::Call::inside || !wants(tracee, event)) return;
  tracee.event_noted = event;
  tracee.message_noted = message;
}

bool stops_for_event(Thread& thread) {
  Tracee& tracee = of(thread);
  const u32 event = tracee.event_noted;
  if (event == Tracee::none) return holds(thread);
  tracee.event_noted = Tracee::none;
  return stop(thread, event_report(thread, Tracee::Place::event, event, tracee.message_noted));
}

void executed(Thread& thread, ThreadId former) {
  if (!is_traced(thread)) return;
  Tracee& tracee = of(thread);
  tracee.stepped = false;
  if (tracee.call != Tracee::Call::none) thread.frame.set_call_number(tracee.call_number);  // the new program is still in it
  note_event(thread, Tracee::exec, static_cast<u64>(former.value));
  if (tracee.event_noted != Tracee::exec && !tracee.seized.load(Order::relaxed))
    (void)signals::send(thread, {.number = sigtrap, .code = code_user, .sender = thread.process().id().value});
}

}  // namespace corral::tracees

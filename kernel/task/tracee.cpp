// See tracee.h. Locks: processes::lock(), then a process's; signals are sent with the first held (as when a process ends).
#include "task/tracee.h"

#include "memory/heap.h"
#include "task/authority.h"
#include "task/process.h"
#include "task/process_table.h"

namespace corral::tracees {

namespace {

// It has a Tracee from now on, with which it ends.
Result<void> equip(Thread& thread) {
  if (thread.tracee.load(Order::acquire) != nullptr) return {};
  Tracee* made = TRY(memory::make<Tracee>());
  Tracee* none = nullptr;
  if (!thread.tracee.compare_exchange(none, made, Order::acq_rel, Order::acquire)) delete made;  // another one was faster
  return {};
}

// eperm: it is traced already.
Result<void> begin(Thread& thread, const Process* tracer) {
  TRY(equip(thread));
  Process& process = thread.process();
  LockGuard guard{processes::lock()};
  Tracee& tracee = *thread.tracee.load(Order::relaxed);
  if (tracee.traced.load(Order::relaxed)) return Errno::eperm;
  if (process.parent == nullptr || (tracer != nullptr && process.parent != tracer)) return Errno::eperm;
  tracee.ends_with_tracer = false;
  tracee.traced.store(true, Order::release);
  process.traced.fetch_add(1, Order::relaxed);
  return {};
}

// processes::lock() is held.
void end(Thread& thread, Tracee& tracee) {
  tracee.traced.store(false, Order::release);
  tracee.news = 0;
  thread.process().traced.fetch_sub(1, Order::relaxed);
}

// processes::lock() is held, and the thread is stopped.
void go_on(Thread& thread, Tracee& tracee, i32 signal, bool step) {
  tracee.news = 0;
  tracee.resumed_with = signal;
  tracee.stepping = tracee.stepped = step;
  tracee.stop.store(Tracee::Stop::resumed, Order::release);
  thread.request(Request::resume);
}

// The Tracee, if `tracer` traces it and it is stopped. processes::lock() is held.
Tracee* stopped_for(const Process& tracer, const Thread& thread) {
  Tracee* tracee = thread.tracee.load(Order::acquire);
  const bool is = tracee != nullptr && tracee->traced.load(Order::relaxed) && thread.process().parent == &tracer &&
                  tracee->stop.load(Order::relaxed) == Tracee::Stop::stopped && !thread.process().ending();
  return is ? tracee : nullptr;
}

void tell_tracer(Thread& thread, i32 signal) {
  Process& tracer = *thread.process().parent;
  tracer.child_changed.wake_all();
  (void)signals::send(tracer, {.number = sigchld,
                               .code = child_trapped,
                               .sender = thread.id().value,
                               .sender_user = 0,
                               .value = static_cast<u64>(signal)});
}

}  // namespace

Result<void> offer(Thread& thread) {
  return begin(thread, nullptr);
}

Result<void> attach(Thread& tracer, Thread& target) {
  Process& process = target.process();
  if (&process == &tracer.process()) return Errno::eperm;
  TRY(authority::may_look_into(tracer, process, authority::As::real));
  if (process.ending() || target.ended) return Errno::esrch;
  TRY(begin(target, &tracer.process()));
  return signals::send(target, {.number = sigstop, .code = code_user});
}

bool holds(Thread& thread) {
  Tracee& tracee = *thread.tracee.load(Order::relaxed);
  if (tracee.stop.load(Order::relaxed) == Tracee::Stop::none) return false;
  SignalInfo info;
  {
    LockGuard guard{processes::lock()};
    if (tracee.stop.load(Order::relaxed) == Tracee::Stop::stopped) return true;
    tracee.stop.store(Tracee::Stop::none, Order::relaxed);
    if (tracee.resumed_with == 0) return false;
    info = {.number = tracee.resumed_with, .code = code_user};
    if (tracee.resumed_with == tracee.info.number) {
      info = tracee.info;
    } else if (const Process* tracer = thread.process().parent; tracer != nullptr) {
      info.sender = tracer->id().value;
    }
  }
  signals::pass_on(thread, info);
  return false;
}

bool stops_for(Thread& thread, int signal) {
  Tracee& tracee = *thread.tracee.load(Order::relaxed);
  // `passed` changes only by this thread.
  if ((tracee.passed & signal_bit(signal)) != 0 || !tracee.traced.load(Order::acquire)) return false;
  SignalInfo info;
  if (!signals::take(thread, signal_bit(signal), info)) return true;  // another thread of the process was first
  LockGuard guard{processes::lock()};
  tracee.info = info;
  thread.frame.set_stepping(false);
  if (tracee.traced.load(Order::relaxed)) {
    tracee.news = signal << 8 | 0x7f;
    tracee.stop.store(Tracee::Stop::stopped, Order::release);
    tell_tracer(thread, signal);
  } else {  // let go of a moment ago
    tracee.resumed_with = signal;
    tracee.stepping = false;
    tracee.stop.store(Tracee::Stop::resumed, Order::release);
  }
  return true;
}

void set_out(Thread& thread) {
  Tracee& tracee = *thread.tracee.load(Order::relaxed);
  if (!tracee.stepping) return;
  tracee.stepping = false;
  thread.frame.set_stepping(true);
}

void executed(Thread& thread) {
  if (!is_traced(thread)) return;
  (void)signals::send(thread, {.number = sigtrap, .code = code_user, .sender = thread.process().id().value});
}

Result<Ref<Thread>> stopped(Process& tracer, ThreadId id) {
  Ref<Thread> thread = processes::find_thread(id);
  if (!thread) return Errno::esrch;
  LockGuard guard{processes::lock()};
  if (stopped_for(tracer, *thread) == nullptr) return Errno::esrch;
  return thread;
}

Result<void> resume(Process& tracer, ThreadId id, Resumption how) {
  const Ref<Thread> thread = processes::find_thread(id);
  if (!thread) return Errno::esrch;
  LockGuard guard{processes::lock()};
  Tracee* tracee = stopped_for(tracer, *thread);
  if (tracee == nullptr) return Errno::esrch;
  if (how.leave) end(*thread, *tracee);
  if (how.signal == sigkill) thread->process().end(sigkill);
  go_on(*thread, *tracee, how.signal == sigkill ? 0 : how.signal, how.step);
  return {};
}

Result<void> set_end_with_tracer(Process& tracer, ThreadId id, bool wanted) {
  const Ref<Thread> thread = processes::find_thread(id);
  if (!thread) return Errno::esrch;
  LockGuard guard{processes::lock()};
  Tracee* tracee = stopped_for(tracer, *thread);
  if (tracee == nullptr) return Errno::esrch;
  tracee->ends_with_tracer = wanted;
  return {};
}

void let_go_all(Process& process) {
  bool ends = false;
  process.for_each_thread([&](Thread& thread) {
    Tracee* tracee = thread.tracee.load(Order::acquire);
    if (tracee == nullptr || !tracee->traced.load(Order::relaxed)) return;
    ends = ends || tracee->ends_with_tracer;
    const bool told = tracee->news == 0;  // then the signal is the tracer's, which does not give it
    end(thread, *tracee);
    if (tracee->stop.load(Order::relaxed) == Tracee::Stop::stopped)
      go_on(thread, *tracee, told ? 0 : tracee->info.number, tracee->stepped);
  });
  if (ends) process.end(sigkill);
}

void forget(Thread& thread) {
  Tracee* tracee = thread.tracee.load(Order::relaxed);
  if (tracee != nullptr && tracee->traced.load(Order::relaxed)) end(thread, *tracee);
}

}  // namespace corral::tracees

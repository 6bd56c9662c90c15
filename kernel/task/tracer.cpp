// Tracing, the tracer's part: whom it traces, and how those go on. See tracees.h.
#include "task/tracees.h"

#include "memory/heap.h"
#include "task/authority.h"
#include "task/exit.h"

namespace corral::tracees {

namespace {

constinit void (*listener)(bool any) = nullptr;
constinit u32 in_all = 0;  // table: threads that are traced in the machine

// It has a Tracee from now on, with which it ends.
Result<void> equip(Thread& thread) {
  if (thread.tracee.load(Order::acquire) != nullptr) return {};
  Tracee* made = TRY(memory::make<Tracee>());
  made->thread = &thread;
  Tracee* none = nullptr;
  if (!thread.tracee.compare_exchange(none, made, Order::acq_rel, Order::acquire)) delete made;  // another one was faster
  return {};
}

// processes::lock() is held, and nobody traces the thread.
void link(Process& tracer, Thread& thread, Tracee& tracee, Attachment how) {
  Process& process = thread.process();
  thread.retain();
  tracee.tracer = &tracer;
  tracee.has_news = false;
  tracee.seized.store(how.seized, Order::relaxed);
  tracee.trap_wanted = tracee.trap_for_news = false;
  tracee.options.store(how.options, Order::relaxed);
  tracee.go.store(Tracee::Go::on, Order::relaxed);
  tracer.tracees.push_back(tracee);
  if (thread.id().value == process.id().value) process.traced_leader = &tracee;
  process.traced.fetch_add(1, Order::relaxed);
  if (in_all++ == 0 && listener != nullptr) listener(true);
  tracee.traced.store(true, Order::release);
}

// `tracer` null: its parent. eperm: it is traced already, or ends.
Result<void> begin(Thread& thread, Process* tracer, Attachment how) {
  TRY(equip(thread));
  Process& process = thread.process();
  ProcessTable& table = process_table();
  LockGuard guard{table.lock};
  Tracee& tracee = *thread.tracee.load(Order::relaxed);
  if (tracer == nullptr) tracer = process.parent;
  if (tracee.tracer != nullptr || tracee.ended || tracer == nullptr) return Errno::eperm;
  if (process.state != ProcessState::alive || table.find(thread.id()) != &thread) return Errno::eperm;
  link(*tracer, thread, tracee, how);
  if (process.stopped()) thread.request(Request::resume);  // its stop becomes one for the tracer
  return {};
}

// processes::lock() is held, and the thread is stopped.
void go_on(Thread& thread, Tracee& tracee, const Resumption& how) {
  tracee.has_news = false;
  tracee.resumed_with = how.signal;
  tracee.go.store(how.go, Order::relaxed);
  tracee.stepping = tracee.stepped = how.step;
  tracee.stop.store(Tracee::Stop::resumed, Order::release);
  thread.request(Request::resume);
}

bool is_held(const Tracee& tracee) {
  const Tracee::Stop stop = tracee.stop.load(Order::relaxed);
  return stop == Tracee::Stop::stopped || stop == Tracee::Stop::listening;
}

// processes::lock() is held.
void raise_trap(Thread& thread, Tracee& tracee) {
  signals::raise_trap(thread);
  if (tracee.stop.load(Order::relaxed) == Tracee::Stop::listening) thread.request(Request::resume);
}

void tell(Process& tracer, const Thread& thread, i32 status) {
  const EndDetails end = end_details(status);
  tracer.child_changed.wake_all();
  (void)signals::send(tracer, {.number = sigchld,
                               .code = end.code,
                               .sender = thread.id().value,
                               .sender_user = thread.credentials_for_others()->user.real,
                               .value = end.value});
}

// The tracer ends. Answers what must be done without the lock.
struct LetGo {
  Ref<Thread> thread;
  LateWord word;
  bool ends = false;
};
LetGo let_go(Tracee& tracee) {
  Thread& thread = *tracee.thread;
  Process& process = thread.process();
  LetGo done;
  done.ends = (tracee.options.load(Order::relaxed) & Tracee::end_with_tracer) != 0 && !tracee.ended;
  // A signal that its tracer has not heard of; once it has, the signal is the tracer's, which does not give it.
  const bool passes = tracee.has_news && tracee.place == Tracee::Place::signal;
  const bool was_leader = process.traced_leader == &tracee;
  const bool hidden = end_is_hidden(process);
  done.thread = unlink(tracee);
  if (is_held(tracee)) go_on(thread, tracee, {.signal = passes ? tracee.info.number : 0, .step = tracee.stepped});
  if (was_leader && hidden && process.state == ProcessState::zombie) done.word = tell_parent_of_end(process);
  return done;
}

}  // namespace

void set_listener(void (*function)(bool any)) {
  listener = function;
}

bool is_stopped(const Thread& thread) {
  const Tracee* tracee = thread.tracee.load(Order::acquire);
  return tracee != nullptr && is_held(*tracee);
}

i32 tracer_of(const Thread& thread) {
  LockGuard guard{processes::lock()};
  const Tracee* tracee = thread.tracee.load(Order::acquire);
  return tracee != nullptr && tracee->tracer != nullptr ? tracee->tracer->id().value : 0;
}

Tracee* stopped_for(const Process& tracer, const Thread& thread) {
  Tracee* tracee = thread.tracee.load(Order::acquire);
  const bool is = tracee != nullptr && tracee->tracer == &tracer && tracee->stop.load(Order::relaxed) == Tracee::Stop::stopped;
  return is && (tracee->place == Tracee::Place::end || !thread.process().ending()) ? tracee : nullptr;
}

Result<void> offer(Thread& thread) {
  return begin(thread, nullptr, {});
}

Result<void> attach(Thread& tracer, Thread& target, Attachment how) {
  Process& process = target.process();
  if (&process == &tracer.process()) return Errno::eperm;
  TRY(authority::may_look_into(tracer, process, authority::As::real));
  if (process.ending() || target.ended) return Errno::esrch;
  TRY(begin(target, &tracer.process(), how));
  if (how.seized) return {};
  return signals::send(target, {.number = sigstop, .code = code_kernel});
}

Result<void> await_stop(Thread& tracer, const Thread& target) {
  LockGuard guard{processes::lock()};
  const Tracee& tracee = *target.tracee.load(Order::relaxed);
  Process& process = target.process();
  const bool here = tracee.tracer == &tracer.process() && tracee.stop.load(Order::relaxed) == Tracee::Stop::none &&
                    !tracee.ended && !process.ending() && process.has_stopped(target);
  return here ? Result<void>{tracer.process().child_changed.wait_uninterruptible(tracer)} : Result<void>{};
}

Result<Ref<Thread>> stopped(Process& tracer, ThreadId id) {
  Ref<Thread> found;
  TRY(with_stopped(tracer, id, [&](Thread& thread, Tracee&) { found = Ref<Thread>::share(thread); }));
  return found;
}

Result<void> resume(Process& tracer, ThreadId id, Resumption how) {
  Ref<Thread> gone;
  return with_stopped(tracer, id, [&](Thread& thread, Tracee& tracee) {
    Process& process = thread.process();
    if (how.leave) {
      gone = unlink(tracee);
    } else if (tracee.place == Tracee::Place::trap) {
      i32 signal = 0;
      (void)process.end_stop(signal);  // one thread of a process cannot go on alone
    }
    if (how.signal == sigkill) {
      process.end(sigkill);
      how.signal = 0;
    }
    go_on(thread, tracee, how);
  });
}

Result<void> interrupt(Process& tracer, ThreadId id) {
  const Ref<Thread> thread = processes::find_thread(id);
  if (!thread) return Errno::esrch;
  LockGuard guard{processes::lock()};
  Tracee* tracee = thread->tracee.load(Order::acquire);
  if (tracee == nullptr || tracee->tracer != &tracer) return Errno::esrch;
  if (!tracee->seized.load(Order::relaxed)) return Errno::eio;
  tracee->trap_wanted = true;
  raise_trap(*thread, *tracee);
  return {};
}

Result<void> listen(Process& tracer, ThreadId id) {
  bool right = false;
  TRY(with_stopped(tracer, id, [&](Thread& thread, Tracee& tracee) {
    right = tracee.seized.load(Order::relaxed) && tracee.place == Tracee::Place::trap;
    if (!right) return;
    tracee.stop.store(Tracee::Stop::listening, Order::release);
    if (tracee.trap_wanted || tracee.trap_for_news) thread.request(Request::resume);
  }));
  return right ? Result<void>{} : Errno::eio;
}

void let_go_all(Process& tracer) {
  for (;;) {
    LetGo done;
    {
      LockGuard guard{processes::lock()};
      Tracee* tracee = tracer.tracees.front();
      if (tracee == nullptr) return;
      done = let_go(*tracee);
    }
    if (done.ends) done.thread->process().end(sigkill);
    done.word.send();
  }
}

Result<void> NewTracee::prepare(const Thread& maker, Tracee::Event event, bool always) {
  if (!is_traced(maker)) return {};
  const u32 options = maker.tracee.load(Order::relaxed)->options.load(Order::relaxed);
  if (!always && (event == Tracee::none || (options >> event & 1) == 0)) return {};
  made_ = TRY(memory::make<Tracee>());
  return {};
}

void NewTracee::join(Thread& maker, Thread& thread) {
  if (made_ == nullptr) return;
  Tracee& tracee = *std::exchange(made_, nullptr);
  tracee.thread = &thread;
  thread.tracee.store(&tracee, Order::release);
  LockGuard guard{processes::lock()};
  const Tracee& like = *maker.tracee.load(Order::relaxed);
  if (like.tracer == nullptr || like.tracer->ending() || tracee.ended) return;
  link(*like.tracer, thread, tracee, {like.seized.load(Order::relaxed), like.options.load(Order::relaxed)});
  if (like.seized.load(Order::relaxed)) {
    tracee.trap_wanted = true;
    signals::raise_trap(thread);
  } else {
    signals::begin_stopped(thread);
  }
}

// ---- with processes::lock() held -----------------------------------------------------------------------------------------

Ref<Thread> unlink(Tracee& tracee) {
  Process& process = tracee.thread->process();
  TraceeList::remove(tracee);
  tracee.tracer = nullptr;
  tracee.has_news = false;
  tracee.traced.store(false, Order::release);
  if (process.traced_leader == &tracee) process.traced_leader = nullptr;
  process.traced.fetch_sub(1, Order::relaxed);
  if (--in_all == 0 && listener != nullptr) listener(false);
  return Ref<Thread>::adopt(tracee.thread);
}

void thread_ended(Thread& thread) {
  Tracee* tracee = thread.tracee.load(Order::acquire);
  if (tracee == nullptr) return;
  tracee->ended = true;
  tracee->stop.store(Tracee::Stop::none, Order::relaxed);
  tracee->has_news = false;
  Process& process = thread.process();
  if (tracee->tracer == nullptr || process.traced_leader == tracee) return;  // the process's end is told instead
  const i32 status = process.ending() ? process.exit_status : tracee->exit_status;
  tracee->news = status;
  tracee->has_news = true;
  tell(*tracee->tracer, thread, status);
}

void process_continues(Process& process) {
  if (process.traced.load(Order::relaxed) == 0) return;
  process.for_each_thread([](Thread& thread) {
    Tracee* tracee = thread.tracee.load(Order::acquire);
    if (tracee == nullptr || tracee->tracer == nullptr) return;
    tracee->tracer->child_changed.wake_all();  // it may wait for the stop that is over
    if (!tracee->seized.load(Order::relaxed)) return;
    tracee->trap_for_news = true;
    raise_trap(thread, *tracee);
  });
}

void tell_end(Process& process) {
  Tracee* leader = process.traced_leader;
  if (leader == nullptr || process.state != ProcessState::zombie) return;
  tell(*leader->tracer, *leader->thread, process.exit_status);
}

}  // namespace corral::tracees

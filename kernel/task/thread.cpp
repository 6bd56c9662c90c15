// Threads: requests from other cores, waiting and waking. See thread.h for who may call what.
#include "task/thread.h"

#include "core/core.h"
#include "device/clock.h"
#include "lib/container.h"
#include "lib/multiply_divide.h"
#include "lib/planted.h"
#include "memory/heap.h"
#include "task/credential_rules.h"
#include "task/executive.h"
#include "task/process.h"
#include "task/reservations.h"
#include "task/signal_queue.h"
#include "task/thread_trace.h"
#include "task/tracees.h"
#include "trace/panic.h"

namespace corral {

char letter_of(const Thread& thread) {
  const ThreadState state = thread.state();
  // Its tracer, or its parent, was told already, though it may be on its way to sleep still.
  if (state != ThreadState::terminated && tracees::is_stopped(thread)) return 't';
  if (state != ThreadState::terminated && thread.process().stop_was_told()) return 'T';
  switch (state) {
    case ThreadState::created:
    case ThreadState::runnable:
    case ThreadState::running: return 'R';
    case ThreadState::sleeping: return thread.process().stopped() ? 'T' : 'S';
    case ThreadState::terminated: return 'Z';
  }
  return '?';
}

Thread::Thread(Process& process, ThreadId id, Credentials& credentials)
    : id_{id}, process_{&process}, credentials_{Ref<Credentials>::share(credentials)}, timeout_{on_timeout} {
  set_home(this_core().id());
  process.retain();
  wanted_cores_.assign(CoreSet::all(), Order::relaxed);
}

// Who knew it still may have sent it a signal, or reserved time for it, when it had given up everything already.
Thread::~Thread() {
  signals::drop_pending(signals.pending, signals.waiting, ~SignalSet{0});
  if (!reservation.none()) {
    LockGuard guard{reservations::lock};
    (void)reservations::assign(*this, {});
  }
  delete tracee.load(Order::relaxed);
  process_->drop();
}

Result<Ref<Thread>> Thread::create(Process& process, ThreadId id, Credentials& credentials) {
  Ref<Thread> thread = Ref<Thread>::adopt(new (std::nothrow) Thread(process, id, credentials));
  if (!thread) return Errno::enomem;
  TRY(thread->fp.allocate());
  thread->start_ns.store(clock::now().ns, Order::relaxed);
  return thread;
}

Thread& Thread::of(sched::SchedulingEntity& entity) {
  return container_of(entity, &Thread::entity);
}

Thread::RunTime Thread::run_time() const {
  // Its core changes both in a few instructions: so few tries are enough, and the last one is good but for those.
  constexpr u32 tries = 16;
  for (u32 i = 0;; ++i) {
    const i64 charged = __atomic_load_n(&entity.charged.ns, __ATOMIC_ACQUIRE);
    const i64 counted = __atomic_load_n(&entity.run_time.ns, __ATOMIC_ACQUIRE);
    const bool same = charged == __atomic_load_n(&entity.charged.ns, __ATOMIC_ACQUIRE);
    if (charged == 0 || (i == tries && (!same || charged == never.ns))) return {counted, 0};
    if (!same || charged == never.ns) continue;
    const i64 since = clock::now().ns - charged;
    return {counted, since > 0 ? since : 0};
  }
}

i64 Thread::user_share(i64 counted) const {
  const u64 user = user_cycles.load(Order::relaxed);
  const u64 all = user + system_cycles.load(Order::relaxed);
  if (all == 0) return 0;
  return static_cast<i64>(multiply_divide(static_cast<u64>(counted), user, all));
}

i64 Thread::run_ns() const {
  const RunTime time = run_time();
  return time.counted + time.since;
}

i64 Thread::user_ns() const {
  const RunTime time = run_time();
  return user_share(time.counted) + time.since;
}

i64 Thread::system_ns() const {
  const i64 counted = run_time().counted;
  return counted - user_share(counted);
}

Ref<Credentials> Thread::credentials_for_others() const {
  LockGuard guard{process_->lock()};
  return credentials_;
}

void Thread::set_credentials(Ref<Credentials> fresh) {
  // What follows from other users than before: a file of /proc, and a signal at the parent's end, belong to nobody else.
  if (credential_rules::gained(*credentials_, *fresh)) {
    process_->manners.dumpable.store(false, Order::relaxed);
    process_->manners.death_signal.store(0, Order::relaxed);
  }
  fresh->account().threads.fetch_add(1, Order::relaxed);
  credentials_->account().threads.fetch_sub(1, Order::relaxed);
  LockGuard guard{process_->lock()};
  std::swap(credentials_, fresh);  // the old ones are let go of after the lock
}

void Thread::request(Request what) {
  Core& here = this_core();
  const u32 bits = static_cast<u32>(what);
  if (settled_home() == here.id()) {  // only this core can change that
    requests_.fetch_or(bits, Order::acq_rel);
    here.executive->look_later(*this);
    return;
  }
  retain();  // for the message; before the request is visible, because then the thread may run and end
  if ((requests_.fetch_or(bits | message_on_its_way, Order::acq_rel) & message_on_its_way) != 0) {
    drop();  // home is being told already
    return;
  }
  request_letter_.message = {MessageType::thread, {reinterpret_cast<u64>(this), 0, 0}};
  here.outbox().send_to(cores::get(settled_home()), request_letter_);
}

CoreId Thread::settled_home() {
  for (;;) {
    const CoreId home = this->home();
    if (is_core(home)) [[likely]]
      return home;
    const CoreId here = this_core().id();
    CoreId expected = anybody;
    const bool taken = home == anybody ? home_.compare_exchange(expected, here, Order::acquire, Order::relaxed)
                                       : this_core().executive->take_from_global(*this);
    if (taken) return here;
  }
}

void Thread::change_affinity(const CoreSet& cores) {
  wanted_cores_.assign(cores, Order::relaxed);
  request(Request::placement);
}

CoreSet Thread::shown_affinity() const {
  return scheduling().shown_mask(affinity(), effective_priority() != 0);
}

Thread::ShownSchedule Thread::shown_schedule() const {
  const u32 ended_with = policy_at_end_.load(Order::relaxed);
  return {ended_with != 0 ? unpack(ended_with) : policy_and_priority(), nice(), shown_affinity(), reservations::of(*this)};
}

void Thread::give_up_reservation() {
  if (policy_and_priority().priority != sched::deadline_priority) return;
  policy_at_end_.store(policy_.load(Order::relaxed), Order::relaxed);
  (void)change_policy({});
}

void Thread::change_nice(i32 nice) {
  wanted_nice_.store(nice, Order::relaxed);
  request(Request::placement);
}

Result<void> Thread::change_policy(Policy wanted, const sched::Reservation& wanted_reservation) {
  {
    LockGuard guard{reservations::lock};  // both change at once
    TRY(reservations::assign(*this, wanted_reservation));
    // Before futex::priority_changed() looks whether it waits.
    policy_.store(wanted.policy | wanted.priority << priority_shift, Order::seq_cst);
  }
  request(Request::placement);
  return {};
}

void Thread::inherit_priority(u32 priority) {
  inherited_.store(priority, Order::relaxed);
  request(Request::placement);
}

void Thread::inherit_wishes(const Thread& parent) {
  wanted_cores_.assign(parent.affinity(), Order::relaxed);
  entity.asked = entity.allowed = parent.affinity();  // its group is looked at when it is placed
  Policy wanted = parent.policy_and_priority();
  i32 nice = parent.nice();
  // A reservation is not inherited: who asked for none may have got one only a moment ago.
  if ((wanted.policy & reset_on_fork) != 0 || wanted.priority == sched::deadline_priority) {
    if (wanted.priority != 0) {
      wanted = {};
      nice = 0;
    }
    if (nice < 0) nice = 0;
    wanted.policy &= ~reset_on_fork;
  }
  wanted_nice_.store(nice, Order::relaxed);
  policy_.store(wanted.policy | wanted.priority << priority_shift, Order::relaxed);
  entity.nice = nice;
  entity.policy = static_cast<sched::SchedulingPolicy>(wanted.policy);
  entity.weight = sched::weight_of(nice, entity.policy);
  entity.real_time = static_cast<u8>(wanted.priority);
  renew_trace_head();
}

void Thread::renew_trace_head() {
  i32 priority = trace::usual_priority + entity.nice;
  if (entity.has_deadline()) {
    priority = trace::deadline_priority;
  } else if (entity.real_time != 0) {
    priority = trace::real_time_priority - entity.real_time;
  }
  trace_head_.store(trace::head_of(trace::Event::called, 0, id_.value, priority), Order::relaxed);
}

void Thread::take_wishes(Scheduler& scheduler) {
  if (const CoreSet cores = affinity(); !cores.empty()) entity.asked = cores;
  take_class_wishes(scheduler);
  if (!planted(Plant::mask_not_taken)) scheduling().renew_mask(entity);
}

bool Thread::waits_for_something() const {
  if (bare_wait_.load(Order::relaxed) || waits()) return true;
  return futex.bucket.load(Order::relaxed) != nullptr || pi.enlisted.load(Order::relaxed) ||
         waits_on_words.load(Order::relaxed);
}

void Thread::take_class_wishes(Scheduler& scheduler) {
  const auto policy = static_cast<sched::SchedulingPolicy>(this->policy() & ~reset_on_fork);
  const u32 priority = effective_priority();
  sched::RunQueue::Wishes wishes{nice(), policy, priority};
  if (priority == sched::deadline_priority) {
    wishes.reservation = reservations::of(*this);
    if (wishes.reservation.none()) return;  // its policy has changed since, and the next request is under way
  }
  const bool has_all = entity.nice == wishes.nice && entity.policy == policy && entity.real_time == priority &&
                       (!entity.has_deadline() || entity.server.reservation() == wishes.reservation);
  if (has_all) return;
  scheduler.change(entity, wishes);
  renew_trace_head();
}

void Thread::wake(WakeReason reason) {
  trace::wake(trace::Event::waking, *this);
  pending_reason_.store(reason, Order::relaxed);  // made visible by the release of requests_
  request(Request::wake);
}

bool Thread::interrupted() const {
  return signals::ends_wait(*this);
}

void Thread::set_timeout(Deadline deadline) {
  deadline_ = deadline;
  this_core().timers().add(timeout_, clock::instant_of(deadline), deadline.by_wall());
}

Errno Thread::sleep_until(Deadline deadline) {
  if (interrupted()) return Errno::restart;
  bare_wait_.store(true, Order::relaxed);
  if (!deadline.is_never()) set_timeout(deadline);
  return Errno::blocked;
}

Errno Thread::wait_for_resume() {
  bare_wait_.store(true, Order::relaxed);
  resumable_ = true;
  return Errno::blocked;
}

Errno Thread::pause_until(Instant when) {
  bare_wait_.store(true, Order::relaxed);
  set_timeout(when);
  return Errno::blocked;
}

void Thread::abandon_wait() {
  this_core().timers().cancel(timeout_);
  wait_place_ = nullptr;
}

Errno Thread::wait_at(WaitPlace& place, Deadline deadline) {
  wait_place_ = &place;
  if (!deadline.is_never()) set_timeout(deadline);
  return Errno::blocked;
}

void Thread::on_timeout(TimerEvent& event) {
  Thread& thread = container_of(event, &Thread::timeout_);
  if (thread.deadline_.by_wall() && clock::instant_of(thread.deadline_) > clock::now()) {  // the clock was set back
    thread.set_timeout(thread.deadline_);
  } else {
    thread.end_wait_early(WakeReason::timed_out);
  }
}

void Thread::end_wait_early(WakeReason reason) {
  if (bare_wait_.load(Order::relaxed)) {
    bare_wait_.store(false, Order::relaxed);
    wake(reason);
  } else if (wait_place_ != nullptr) {
    WaitPlace* place = wait_place_;
    wait_place_ = nullptr;  // one cancellation at most
    place->cancel(*this, reason);
  } else if (WaitQueue::take_off(*this, reason == WakeReason::interrupted)) {
    wake(reason);
  }
}

void Thread::finish_wait() {
  this_core().timers().cancel(timeout_);
  bare_wait_.store(false, Order::relaxed);
  resumable_ = false;
  wait_place_ = nullptr;
  wake_reason_ = pending_reason_.load(Order::relaxed);
}

}  // namespace corral

// The event executive. See executive.h.
//
// Why a thread never runs on two cores: it runs only on its home; only home changes home, and only while the thread neither
// runs nor waits in a queue; it hands it over by a message, after saving the registers that were still loaded here. Or home leaves it
// to nobody, in the global queue or asleep, and of all who want it one becomes its home.
// Why a blocked thread is never "still on a stack": its registers are in its TrapFrame from the moment of entry, and home
// handles its wake-up only between steps.
#include "task/executive.h"

#include "arch/guarded_call.h"
#include "arch/tls.h"
#include "arch/traps.h"
#include "device/clock.h"
#include "device/interrupts.h"
#include "lib/container.h"
#include "lib/planted.h"
#include "memory/canary.h"
#include "sched/engine/manager.h"
#include "sync/interleave.h"
#include "task/exit.h"
#include "task/faults.h"
#include "task/process.h"
#include "trace/log.h"
#include "trace/panic.h"

namespace corral {

using sched::MigrationReason;

namespace {

// What is filled with the pattern below a step's frame: half of a kernel stack, and more than any step needs.
constexpr u64 canary_stack = 2 * page_size;

constinit Atomic<Step> system_call_step{nullptr};

void add(Atomic<u64>& counter, u64 amount) {  // only the thread's own core writes
  counter.store(counter.load(Order::relaxed) + amount, Order::relaxed);
}

// The step of a thread that has no system call or fault left, only signals to take.
Errno take_signals(Thread& thread) {
  return signals::deliver_pending(thread);
}

}  // namespace

void set_system_call_step(Step step) {
  system_call_step.store(step, Order::seq_cst);
}

void Executive::initialise() {
  set_message_handler(MessageType::thread, on_thread_message);
  set_message_handler(MessageType::arrive, on_arrival);
  set_message_handler(MessageType::pull_request, on_pull_request);
  set_message_handler(MessageType::pull_refused, on_pull_refused);
  set_message_handler(MessageType::core_groups, on_core_groups);
  set_message_handler(MessageType::queues, on_queues);
}

// ---- entries ---------------------------------------------------------------------------------------------------------

inline bool Executive::may_return() const {
  const Thread& thread = *current_;
  return !core_.has_mail() && !core_.attention && core_.outbox().empty() && !thread.has_requests() && !thread.end_wanted &&
         !signals::any_pending(thread, ~thread.signals.blocked) && thread.call_interruption == Errno{} &&
         !thread.signals.restore_blocked;
}

void Executive::system_call() {
  charge_user();
  if (!run_new_step(system_call_step.load(Order::acquire)) || !(may_return() || finish_step())) schedule();
  charge_system();
}

void Executive::user_trap(arch::TrapFrame& frame) {
  charge_user();
  if (frame.vector >= arch::exception_count) {
    in_interrupt_ = true;
    interrupts::dispatch(static_cast<u32>(frame.vector));
    in_interrupt_ = false;
  } else if (const Step step = prepare_fault_step(*current_, frame); step != nullptr && !run_new_step(step)) {
    schedule();
  }
  if (!may_return() && !finish_step()) schedule();
  charge_system();
}

void Executive::run() {
  arch::set_mode_changed(arch::cycle_counter());
  rounds_.begin();
  schedule();
}

// ---- steps -----------------------------------------------------------------------------------------------------------

bool Executive::run_new_step(Step step) {
  Thread& thread = *current_;
  thread.step = {};
  thread.begin_waits();
  if (step(thread) != Errno::blocked) return true;
  thread.current_step = step;
  block_current();
  return false;
}

bool Executive::run_step(Step step) {
  Thread& thread = *current_;
  if (step == nullptr) return true;
  if (thread.current_step != step) {  // a new step, not one that goes on after a wait
    thread.current_step = step;
    thread.step = {};
    thread.begin_waits();
  }
  if (memory::canaries_used()) [[unlikely]]
    arch::fill_free_stack(canary_stack, memory::canary_word);
  if (thread.step.kept) thread.step.kept->begin_run();
  const Errno result = step(thread);
  if (result == Errno::blocked) {
    block_current();
    return false;
  }
  if (thread.step.kept) thread.step.kept = {};
  thread.current_step = nullptr;
  return true;
}

bool Executive::finish_step() {
  for (;;) {
    read_mail();
    core_.attention = interleave::active();
    // When another thread is to run here anyway, that is settled first.
    if (core_.scheduler->real_time_changed() && !core_.scheduler->reschedule_wanted()) [[unlikely]]
      balance_real_time();
    if (core_.scheduler->may_have_to_spare() && !core_.scheduler->reschedule_wanted()) offer_spare();
    Thread& thread = *current_;
    if (thread.has_requests()) {  // it is awake; signals are looked at below
      if ((thread.take_requests() & static_cast<u32>(Request::placement)) != 0) thread.take_wishes(*core_.scheduler);
    }
    if (thread.ended) {
      let_go_of_current();
      return false;
    }
    if (thread.end_wanted || thread.process().ending()) {
      if (!run_step(end_thread_step)) return false;
      continue;
    }
    if (thread.process().stopped()) {  // an interrupted call stays interrupted: a handler may run when it goes on
      if (!run_step(stop_step)) return false;
      continue;
    }
    if (signals::deliverable(thread) || thread.call_interruption != Errno{} || thread.signals.restore_blocked) {
      if (!run_step(take_signals)) return false;
      continue;
    }
    if (!thread.entity.allowed.contains(core_.id()) || core_.scheduler->reschedule_wanted() || yield_wanted_) {
      preempt_current();
      return false;
    }
    if (thread.process().cpu_timers.armed() && !cpu_time_look_.pending()) {
      core_.timers().add(cpu_time_look_, clock::now() + CpuTimers::look_interval);
      core_.rearm_timer();
    }
    return true;
  }
}

[[gnu::noinline]] void Executive::block_current() {
  Thread& thread = *current_;
  thread.set_state(ThreadState::sleeping);
  switches_.leaves(thread, 'S');
  counters_.leaves(thread);
  add(thread.voluntary_switches, 1);
  charge_system();
  core_.scheduler->leave(thread.entity, sched::LeaveReason::blocked);
  current_ = nullptr;
  if (thread.has_requests()) {  // woken, or a signal came, while the step was running
    thread.entity.woken_by_interrupt = false;
    look_at(thread);
  } else if (scheduling().wakers_place() && thread.may_be_anybodys()) {
    leave_to_wakers(thread);
  }
}

void Executive::preempt_current() {
  Thread& thread = *current_;
  const bool yielded = yield_wanted_;
  yield_wanted_ = false;
  charge_system();
  add(yielded ? thread.voluntary_switches : thread.involuntary_switches, 1);
  switches_.leaves(thread, yielded ? 'R' : 'R' | trace::not_by_itself);
  counters_.leaves(thread);
  const auto reason = yielded ? sched::LeaveReason::yielded : sched::LeaveReason::preempted;
  thread.set_state(ThreadState::runnable);
  current_ = nullptr;
  if (planted_now_and_then(Plant::preempted_and_forgotten, 20)) {
    return core_.scheduler->leave(thread.entity, sched::LeaveReason::blocked);
  }
  if (!thread.entity.allowed.contains(core_.id())) {
    core_.scheduler->leave(thread.entity, sched::LeaveReason::migrating);
    send_to(thread, choose_core(thread, sched::PlacementReason::woken), sched::EnqueueReason::migrated, MigrationReason::mask);
  } else if (scheduling().waits_globally(thread.entity)) {
    core_.scheduler->leave(thread.entity, sched::LeaveReason::migrating);
    enter_global(thread, yielded ? sched::EnqueueReason::yielded : sched::EnqueueReason::preempted);
  } else if (yielded || !scheduling().migrator().pushes() || !push_elsewhere(thread)) {
    core_.scheduler->leave(thread.entity, reason);  // puts it back into the queue
  }
}

void Executive::let_go_of_current() {
  Thread& thread = *current_;
  charge_system();
  switches_.leaves(thread, 'X');
  counters_.leaves(thread);
  core_.scheduler->leave(thread.entity, sched::LeaveReason::ended);
  thread.set_state(ThreadState::terminated);
  current_ = nullptr;
  if (floating_point_owner_ == &thread) floating_point_owner_ = nullptr;
  forget_look(thread);
  thread.drop();  // the reference that ran
}

void Executive::schedule() {
  bool slept = false;
  for (;;) {
    read_mail();
    sched::GlobalQueue& global = scheduling().global_queue();
    if (global.waiting() != 0) [[unlikely]]
      invite_guest();
    sched::SchedulingEntity* next = planted_now_and_then(Plant::idle_with_work, 100) ? nullptr : core_.scheduler->pick_next();
    if (core_.scheduler->real_time_changed()) [[unlikely]]
      balance_real_time();
    if (core_.scheduler->may_have_to_spare()) offer_spare();
    if (next == nullptr) {
      vm::AddressSpace::rest();
      switches_.sleeps();
      look_for_work();
      if (!to_look_at_.empty()) continue;  // the last address space, which was let go of, kept something that others wait for
      if (global.in_use() && !may_sleep_beside_global()) continue;
      core_.scheduler->check_before_sleep();
      core_.sleep();
      slept = true;
      if (global.in_use()) global.end_idle(core_.id());
      arch::set_mode_changed(arch::cycle_counter());
      continue;
    }
    if (slept) {
      slept = false;
      rounds_.begin();
    }
    if (migrations_.hungry()) stop_looking_for_work();
    Thread& thread = Thread::of(*next);
    current_ = &thread;
    switches_.runs(thread);
    thread.set_state(ThreadState::running);
    if (global.in_use()) [[unlikely]]
      begin_global_turn(thread);
    load(thread);
    counters_.runs(thread);
    if (!run_step(thread.current_step) || !finish_step()) continue;
    interleave::point();
    charge_system();
    arch::enter_user(thread.frame);
  }
}

void Executive::load(Thread& thread) {
  thread.space->activate();
  if (floating_point_owner_ != &thread) {
    if (floating_point_owner_ != nullptr) floating_point_owner_->fp.save();
    thread.fp.restore();
    floating_point_owner_ = &thread;
  }
  reload_bases();
  arch::set_entry_frame(thread.frame);
}

void Executive::reload_bases() {
  arch::set_user_tls(current_->tls);
  if (loaded_second_base_ != current_->second_base) {
    arch::set_user_gs(current_->second_base);
    loaded_second_base_ = current_->second_base;
  }
}

void Executive::reload_space() {
  current_->space->activate();
  reload_bases();
}

void Executive::save_floating_point(Thread& thread) {
  if (floating_point_owner_ == &thread) thread.fp.save();
}

void Executive::reclaim_floating_point(Thread& thread) {
  if (floating_point_owner_ == &thread) return;
  thread.fp.restore();
  floating_point_owner_ = &thread;
}

void Executive::reload_floating_point(Thread& thread) {
  if (floating_point_owner_ == &thread) thread.fp.restore();
}

// ---- requests, wake-ups, arrivals ------------------------------------------------------------------------------------------

void Executive::read_mail() {
  interleave::point();
  if (!core_.outbox().empty()) core_.outbox().flush();
  for (;;) {
    if (core_.has_mail()) core_.drain_mailbox();
    Thread* thread = to_look_at_.pop_front();
    if (thread == nullptr) return;
    look_at(*thread);
  }
}

// Requests are often made under a lock (a wait queue's, a process's); what they lead to takes others. So never at once.
void Executive::look_later(Thread& thread) {
  if (&thread == current_ || thread.to_be_looked_at()) return;
  if (planted_now_and_then(Plant::look_forgotten, 10)) return;
  if (planted(Plant::left_with_requests) && thread.state() == ThreadState::sleeping && scheduling().wakers_place())
    return thread.set_home(Thread::anybody);
  thread.entity.woken_by_interrupt = in_interrupt_ || current_ == nullptr;
  to_look_at_.push_back(thread);
  core_.attention = true;
}

void Executive::forget_look(Thread& thread) {
  if (thread.to_be_looked_at()) Thread::LookList::remove(thread);
}

void Executive::look_at(Thread& thread) {
  if (&thread == current_) return;  // when its step is over
  forget_look(thread);
  const u32 bits = thread.take_requests();
  // First, because a woken thread goes only to where it may run, and may be another core's from then on.
  if ((bits & static_cast<u32>(Request::placement)) != 0) thread.take_wishes(*core_.scheduler);
  if ((bits & static_cast<u32>(Request::wake)) != 0) {
    thread.finish_wait();
    make_runnable(thread);
    return;  // what else was asked, it finds when it runs
  }
  if ((bits & static_cast<u32>(Request::look_at_signals)) != 0 && thread.state() == ThreadState::sleeping &&
      signals::ends_wait(thread)) {
    thread.end_wait_early(WakeReason::interrupted);
  }
  if ((bits & static_cast<u32>(Request::resume)) != 0 && thread.waits_for_resume() && thread.state() == ThreadState::sleeping) {
    thread.end_wait_early(WakeReason::woken);
  }
  if (!enter_global_again(thread)) send_away_unless_allowed(thread);
}

void Executive::send_away_unless_allowed(Thread& thread) {
  using Place = sched::SchedulingEntity::Place;
  const bool is_here = thread.entity.place == Place::queued || thread.entity.place == Place::resting;
  if (thread.state() != ThreadState::runnable || !is_here || thread.entity.allowed.contains(core_.id())) return;
  (void)core_.scheduler->remove(thread.entity);
  send_to(thread, choose_core(thread, sched::PlacementReason::woken), sched::EnqueueReason::migrated, MigrationReason::mask);
}

void Executive::make_runnable(Thread& thread) {
  thread.set_state(ThreadState::runnable);
  if (scheduling().waits_globally(thread.entity)) return enter_global(thread, sched::EnqueueReason::woken);
  const CoreId target = choose_core(thread, sched::PlacementReason::woken);
  if (target == core_.id()) {
    note_migration(thread, thread.entity.last_core, target, MigrationReason::placed);
    (void)enqueue_here(thread, sched::EnqueueReason::woken);
  } else {
    send_to(thread, target, sched::EnqueueReason::woken, MigrationReason::placed);
  }
}

void Executive::start(Thread& thread) {
  KERNEL_ASSERT(thread.home() == core_.id());
  thread.retain();  // the reference that runs
  thread.set_state(ThreadState::runnable);
  if (scheduling().waits_globally(thread.entity)) return enter_global(thread, sched::EnqueueReason::created);
  const CoreId target = choose_core(thread, sched::PlacementReason::created);
  if (target == core_.id()) {
    (void)enqueue_here(thread, sched::EnqueueReason::created);
  } else {
    send_to(thread, target, sched::EnqueueReason::created, MigrationReason::placed);
  }
}

void Executive::send_to(Thread& thread, CoreId target, sched::EnqueueReason reason, MigrationReason why) {
  if (target == core_.id()) {
    (void)enqueue_here(thread, reason);
  } else {
    hand_over(thread, target, reason, why);
  }
}

bool Executive::enqueue_here(Thread& thread, sched::EnqueueReason reason) {
  if (const CoreId elsewhere = scheduling().turn_away(thread.entity); elsewhere.value < max_cores) [[unlikely]] {
    hand_over(thread, elsewhere, reason, MigrationReason::mask);
    return false;
  }
  core_.scheduler->enqueue(thread.entity, reason);
  if (planted_now_and_then(Plant::double_enqueue, 50)) core_.scheduler->enqueue(thread.entity, reason);
  if (reason != sched::EnqueueReason::migrated) note_enqueued(thread, reason);
  return true;
}

// ---- times -----------------------------------------------------------------------------------------------------------

void Executive::on_cpu_time_look(TimerEvent& event) {
  Executive& executive = container_of(event, &Executive::cpu_time_look_);
  if (executive.current_ == nullptr) return;
  executive.current_->process().cpu_timers.look();
  executive.core_.attention = true;  // so the event is set again on the way to user mode
}

void Executive::charge_user() {
  const u64 now = arch::cycle_counter();
  const u64 used = now - arch::mode_changed();
  arch::set_mode_changed(now);
  add(current_->user_cycles, used);
  add(core_.counters.user_cycles, used);
}

void Executive::charge_system() {
  const u64 now = arch::cycle_counter();
  const u64 used = now - arch::mode_changed();
  arch::set_mode_changed(now);
  add(current_->system_cycles, used);
  add(core_.counters.system_cycles, used);
}

}  // namespace corral

// ---- what the entry code calls (arch/traps.h) ---------------------------------------------------------------------------------

extern "C" void corral_system_call(corral::arch::TrapFrame&) {
  corral::this_core().executive->system_call();
}

extern "C" void corral_user_trap(corral::arch::TrapFrame& frame) {
  corral::this_core().executive->user_trap(frame);
}

extern "C" void corral_kernel_trap(corral::arch::TrapFrame& frame) {
  if (frame.vector >= corral::arch::exception_count) {
    corral::this_core().note_awake();
    corral::interrupts::dispatch(static_cast<corral::u32>(frame.vector));
  } else if (!corral::arch::leave_guarded_call(frame, corral::arch::CallFailure::fault)) {
    corral::kernel_fault(frame);
  }
}

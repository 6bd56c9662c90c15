// The event executive: one kernel stack for each core, system calls and faults as steps that run to completion
// (architecture, idea 4; paper 002's LAKE). One object for each core; everything here runs on that core, interrupts off.
//
// The life of a core: a thread enters the kernel; its step runs; it ends, or the thread blocks and leaves nothing behind;
// on the way out the core reads its mailbox, looks at signals, lets the scheduler choose, and goes to user mode or sleeps.
#pragma once

#include "core/core.h"
#include "sched/engine/manager.h"
#include "task/check_rounds.h"
#include "task/migration.h"
#include "task/thread.h"
#include "task/thread_counters.h"
#include "task/thread_trace.h"

namespace corral {

class Executive {
 public:
  explicit Executive(Core& core) : core_{core}, migrations_{core.id()}, rounds_{core} {}

  // The thread that this core runs; null while idle.
  [[nodiscard]] Thread* current() const { return current_; }

  // Runs threads for ever. The core has its scheduler, timer and mailbox.
  [[noreturn]] void run();

  // ---- entries from user mode; the frame is current()'s ----
  void system_call();
  void user_trap(arch::TrapFrame& frame);

  // ---- for a thread whose home this core is ----
  // A new thread (state created), made in the same step: chooses its core and sends it there.
  void start(Thread& thread);
  // Its requests are not empty: they are looked at as soon as the current step is over. Any context on this core, any lock.
  void look_later(Thread& thread);
  // current() stops being eligible for this core or gives way: takes effect when its step is over.
  void yield_current() {
    yield_wanted_ = true;
    core_.attention = true;
  }
  // A thread that waits in the global queue is this core's from now on, and looked at later. False: it does not wait there any more.
  // Any context on this core, any lock below the queue's.
  bool take_from_global(Thread& thread);
  // Brings the floating-point registers of current() into its FpState (they stay loaded).
  void save_floating_point(Thread& thread);
  // The thread's FpState has been changed in memory: load it before user mode.
  void reload_floating_point(Thread& thread);
  // The thread is current() and is about to wait; its FpState has been saved, and others may change it there meanwhile.
  void part_with_floating_point(Thread& thread) {
    if (floating_point_owner_ == &thread) floating_point_owner_ = nullptr;
  }
  // It did not wait, or has waited: its FpState is loaded, if it is not.
  void reclaim_floating_point(Thread& thread);
  // current()'s segment bases were changed.
  void reload_bases();
  // current()'s address space was replaced (exec): load the new one now.
  void reload_space();

  // Boot context: message handlers.
  static void initialise();

 private:
  // Until a thread is ready for user mode: reads mail, picks, runs its step. Answers the thread to return to.
  [[noreturn]] void schedule();
  // Everything that must happen before current() may return to user mode; false: it does not return now.
  bool finish_step();
  // The usual case at the end of a step that did not wait: current() may return to user mode at once. What others want of
  // it comes as a request, so that nothing more needs to be looked at.
  [[nodiscard]] bool may_return() const;
  // Runs current()'s step; false: it blocked.
  bool run_step(Step step);
  // The same for a step that begins now, of a thread that comes from user mode.
  bool run_new_step(Step step);
  void block_current();
  void leave_to_wakers(Thread& thread);  // it sleeps
  void let_go_of_current();  // it has ended
  void preempt_current();
  void load(Thread& thread);
  void read_mail();
  // Real-time threads that wait here go where they run at once; cores where some wait hear that there is room here.
  void balance_real_time();
  // ---- the migration policy: task/migration.cpp ----
  // The thread that runs here, of the timeline, must give way: to an emptier core. False: not so, nothing was done.
  bool push_elsewhere(Thread& thread);
  // Nothing is to be run here: another core may have something. Before this core sleeps.
  void look_for_work();
  void stop_looking_for_work();
  // What waits here and may go, goes to cores that have nothing to run.
  void offer_spare();
  // One thread to one of `targets`; false: none may go, or they need none.
  bool give(const CoreSet& targets, sched::MigrationReason why);
  void look_when_cooled_down(Instant when);
  static void on_pull_request(Core& core, const Message& message);
  static void on_pull_refused(Core& core, const Message& message);
  // Does what is asked of a thread of this core. It may be another core's afterwards.
  void look_at(Thread& thread);
  // ---- the global queue: task/global_queue.cpp ----
  // A runnable thread of this core, in no queue, waits in the global one.
  void enter_global(Thread& thread, sched::EnqueueReason reason);
  // The same for one that was taken out of it, which may have to wait in a core's queue by now, or that waits in this core's and may
  // leave it by now. False: it is none of those.
  bool enter_global_again(Thread& thread);
  // The first one is this core's from now on, in no queue; null: none.
  Thread* take_first_from_global();
  [[nodiscard]] bool takes_from_global() const;
  // Somebody waits there: may be who is to run here next.
  void invite_guest();
  // The thread runs from now on.
  void begin_global_turn(Thread& thread);
  // The guest, if he waits still, goes back when another core has nothing to run.
  void offer_guest();
  // This core has nothing to run. False: perhaps it has.
  [[nodiscard]] bool may_sleep_beside_global();
  // There is no global queue any more.
  void empty_global();
  // The arrangement of the queues was changed.
  void take_arrangement();
  static void on_queues(Core& core, const Message& message);
  // A thread that waits here, but may not run here any more, goes elsewhere.
  void send_away_unless_allowed(Thread& thread);
  static void forget_look(Thread& thread);
  void make_runnable(Thread& thread);
  // The core where a thread of this core goes; it is accounted as on the way there.
  static CoreId choose_core(Thread& thread, sched::PlacementReason reason) {
    if (trace::wants(trace::Event::placed)) [[unlikely]]
      return trace::place(thread, reason);
    return scheduling().place(thread.entity, reason);
  }
  void send_to(Thread& thread, CoreId target, sched::EnqueueReason reason, sched::MigrationReason why);
  void let_go_of(Thread& thread);  // it becomes another core's, or nobody's
  // Counts and traces that it goes on somewhere else; not if that is where it was.
  static void note_migration(Thread& thread, CoreId from, CoreId to, sched::MigrationReason why);
  static void note_enqueued(const Thread& thread, sched::EnqueueReason reason) {
    trace::wake(reason == sched::EnqueueReason::created ? trace::Event::created : trace::Event::woken, thread);
  }
  void hand_over(Thread& thread, CoreId target, sched::EnqueueReason reason, sched::MigrationReason why);  // to another core
  // `thread` goes to `target`, which is not in its mask.
  [[gnu::cold]] void check_mask(const Thread& thread, CoreId target);
  // False: this core's queue did not let it in, and it is another core's already.
  bool enqueue_here(Thread& thread, sched::EnqueueReason reason);
  // The groups of cores have changed: whoever may not stay here goes.
  void take_core_groups();
  static void on_core_groups(Core& core, const Message& message);
  void charge_user();
  void charge_system();
  static void on_thread_message(Core& core, const Message& message);
  static void on_cpu_time_look(TimerEvent& event);
  static void on_arrival(Core& core, const Message& message);

  Core& core_;
  Thread* current_ = nullptr;
  Thread* floating_point_owner_ = nullptr;  // whose registers are in the processor
  u64 loaded_second_base_ = 0;  // GS base that the processor has for user mode
  Thread::LookList to_look_at_;  // threads of this core with requests made on this core
  bool yield_wanted_ = false;
  bool in_interrupt_ = false;  // the handler of one that interrupted current() runs
  trace::Switches switches_;
  ThreadCounters counters_;
  Migrations migrations_;
  CheckRounds rounds_;
  TimerEvent cpu_time_look_{on_cpu_time_look};  // pending while a thread runs whose process's time is watched
};

// The step that runs system calls: set by abi/ at start-up, and when calls begin or cease to be traced. Any core.
void set_system_call_step(Step step);

}  // namespace corral

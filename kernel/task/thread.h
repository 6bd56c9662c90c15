// A thread: user context, scheduling entity, and what it waits for (paper 000, section 3.5; paper 004, section 2.1.1).
//
// Who may touch what:
//  - "home": only the core whose id is in home_. A thread's home changes only by that core, when the thread does not run:
//    it hands the thread over in an `arrive` message, or leaves it without a home, in the global queue until some core takes it out,
//    or asleep (`anybody`) until some core wants something of it. Queue state, wait state and timers belong to home. The first home
//    is the core whose step makes the thread, so what others ask meanwhile waits in that core's mailbox until it is started.
//  - "thread": only code running as the thread, in one of its steps (which runs on its home, interrupts off).
//  - "any": atomics. Another core never changes a thread: it sets a bit of requests_ and sends home a message to look.
#pragma once

#include "arch/fp_state.h"
#include "arch/trap_frame.h"
#include "arch/traps.h"
#include "core/outbox.h"
#include "core/remote_call.h"
#include "core/timer_queue.h"
#include "lib/atomic.h"
#include "lib/ref.h"
#include "lib/types.h"
#include "sched/engine/scheduler.h"
#include "sched/scheduling_entity.h"
#include "sync/waiter.h"
#include "task/credentials.h"
#include "task/futex_operation.h"
#include "task/pi_operation.h"
#include "task/reservations.h"
#include "task/signals.h"
#include "vm/caller.h"

namespace corral {

class Process;
struct Tracee;

enum class ThreadState : u8 { created, runnable, running, sleeping, terminated };
class Thread;
[[nodiscard]] char letter_of(const Thread& thread);  // as in /proc/[pid]/stat: R S T t Z

// What other cores ask of a thread; bits of requests_.
enum class Request : u32 {
  wake = 1,  // its wait has ended
  look_at_signals = 2,  // a signal was added: end an interruptible wait, or deliver before the next return to user mode
  placement = 4,  // its set of allowed cores, its nice value or its policy changed
  resume = 8,  // its process is no longer stopped
};

// The step that a thread is in: run again after each wait until it does not answer blocked.
using Step = Errno (*)(Thread& thread);

class Thread final : public RefCounted<Thread>, public Waiter {
 public:
  static Result<Ref<Thread>> create(Process& process, ThreadId id, Credentials& credentials);
  ~Thread();

  [[nodiscard]] ThreadId id() const { return id_; }
  [[nodiscard]] Process& process() const { return *process_; }
  // sched::no_core: it waits in the global queue (sched/engine/global_queue.h). `anybody`: it sleeps, and the first core that
  // wants something of it becomes its home.
  [[nodiscard]] CoreId home() const { return home_.load(Order::acquire); }
  static constexpr CoreId anybody{sched::no_core.value + 1};
  [[nodiscard]] static constexpr bool is_core(CoreId home) { return home.value < sched::no_core.value; }
  [[nodiscard]] ThreadState state() const { return state_.load(Order::relaxed); }

  // ---- any core --------------------------------------------------------------------------------------------------
  void request(Request what);
  void wake(WakeReason reason) override;

  // ---- thread: inside its own step -----------------------------------------------------------------------------------
  [[nodiscard]] bool interrupted() const override;
  [[nodiscard]] u64 blocked_so_often() const override { return voluntary_switches.load(Order::relaxed); }
  void set_timeout(Deadline deadline) override;
  // Waits for nothing but time or a signal. Returns blocked (or restart when a signal is pending already).
  [[nodiscard]] Errno sleep_until(Deadline deadline);
  // For waits outside WaitQueue (futexes): how home ends the wait early. Set before the step answers blocked, cleared by
  // the wake-up. `cancel` must lead to exactly one wake().
  struct WaitPlace {
    virtual void cancel(Thread& thread, WakeReason reason) = 0;

   protected:
    ~WaitPlace() = default;
  };
  // Waits until home is asked to resume; other requests may end it early, too, the process's end among them.
  [[nodiscard]] Errno wait_for_resume();
  // Waits for a time only; other reasons may end it early too.
  [[nodiscard]] Errno pause_until(Instant when);
  // Undoes wait_at() in the same step: the wait did not begin.
  void abandon_wait();
  [[nodiscard]] bool waits_for_resume() const { return resumable_; }  // home
  void begin_waits() { wake_reason_ = WakeReason::none; }
  [[nodiscard]] Errno wait_at(WaitPlace& place, Deadline deadline);

  arch::TrapFrame frame;  // thread; the entry code writes it
  arch::FpState fp;  // thread; valid in memory unless this thread is its core's fp owner
  u64 tls = 0;  // thread: FS base
  u64 second_base = 0;  // thread: GS base (arch_prctl)
  vm::Caller caller{*this};  // thread
  Step current_step = nullptr;  // thread: not null while a step is under way (blocked or running)
  // Any core: the head of the trace's records of its calls (trace/head.h), in which its number and its priority are.
  [[nodiscard]] u64 trace_head() const { return trace_head_.load(Order::relaxed); }

  // Linux's per-thread pointers
  VirtualAddress clear_child_tid{};  // thread: CLONE_CHILD_CLEARTID
  Atomic<u64> robust_list{0};  // thread: set_robust_list; others may ask for it
  ThreadSignals signals;  // see task/signals.h
  RemoteCall remote_call{*this};  // thread: a question to another core
  futex::Operation futex{*this};  // see task/futex.h
  futex::PiOperation pi{*this};  // see task/pi_futex.h
  Atomic<bool> waits_on_words{false};  // thread; cleared by who wakes it: it sleeps in futex_waitv (task/futex_vector.h)
  Errno call_interruption{};  // thread: restart code of a system call that a signal ended, else Errno{}
  struct {  // thread: the call that restart_syscall goes on with; number 0: none
    u64 number = 0;
    StepState step;
  } restart;
  u32 stop_counted = 0;  // the process's lock: the last stop in which it was counted
  bool end_wanted = false;  // thread: it called exit, or another thread's exec ends it
  vm::AddressSpace* space = nullptr;  // thread: its process's; changed only by exec, when it is the only thread
  bool ended = false;  // thread: its end is complete; the executive lets go of it
  arch::PageFault fault{};  // thread: the page fault that the current step resolves
  u32 end_phase = 0;  // thread: how far end_thread_step has come

  // ---- times, in cycles, split at kernel entry and exit; written by the thread's core, read by any
  Atomic<u64> user_cycles{0};
  Atomic<u64> system_cycles{0};
  // Run time, exact, and divided as the cycles are. Any core; of a thread that runs elsewhere what its core has not counted yet
  // is user time.
  [[nodiscard]] i64 run_ns() const;
  [[nodiscard]] i64 user_ns() const;
  [[nodiscard]] i64 system_ns() const;
  Atomic<bool> times_counted{false};  // they are in the process's sums: the thread has ended
  Atomic<u64> faults{0};  // pages that were brought into its address space; written by its core
  Atomic<u64> voluntary_switches{0};
  Atomic<u64> involuntary_switches{0};
  Atomic<u64> migrations{0};
  Atomic<i64> start_ns{0};
  // What it did since it began, as far as somebody counted (sched/counters.h); by sched::Figure, written by its core.
  Atomic<u64> counted_figures[sched::figures];
  Atomic<u64> counted_in_kernel[sched::figures];  // of these, in kernel mode, where the source tells
  // ---- who it is; see task/credentials.h
  [[nodiscard]] const Credentials& credentials() const { return *credentials_; }  // thread
  [[nodiscard]] bool may(Capability capability) const { return credentials_->may(capability); }  // thread
  [[nodiscard]] Ref<Credentials> credentials_for_others() const;  // any; takes the process's lock
  [[nodiscard]] UserAccount& account() const { return credentials_->account(); }  // with the process's lock held
  void set_credentials(Ref<Credentials> fresh);  // thread; counts it where it belongs now
  Atomic<bool> no_new_privileges{false};  // thread writes, any reads: programs that it executes give it no new rights

  i64 timer_slack_ns = 50'000, usual_timer_slack_ns = 50'000;  // thread: kept to be told (prctl); usual: its creator's
  u16 node_policy = 0;  // thread: kept to be told (set_mempolicy)
  Atomic<u32> io_priority{0};  // any: kept to be told (ioprio_set)
  sched::Reservation reservation GUARDED_BY(reservations::lock);  // of SCHED_DEADLINE

  alignas(cache_line) sched::SchedulingEntity entity;  // home
  [[nodiscard]] static Thread& of(sched::SchedulingEntity& entity);

  // ---- home: called by the executive --------------------------------------------------------------------------------
  // Ends the wait of a sleeping thread for a time-out or a signal, unless it has been ended already.
  void end_wait_early(WakeReason reason);
  // The wait is over: forgets its time-out and place and notes why.
  void finish_wait();
  // Makes wished affinity and nice value effective.
  void take_wishes(Scheduler& scheduler);
  void set_state(ThreadState state) { state_.store(state, Order::relaxed); }
  void set_home(CoreId core) { home_.store(core, Order::release); }
  // For those who look: its home, or where it ran last.
  [[nodiscard]] CoreId shown_core() const {
    const CoreId home = this->home();
    return is_core(home) ? home : entity.last_core;
  }
  // Any core: home(), where the calling core becomes home if nobody is.
  [[nodiscard]] CoreId settled_home();
  // Of one that sleeps: no timer of this core's is to end its wait.
  [[nodiscard]] bool may_be_anybodys() const { return !timeout_.pending() && !entity.has_deadline(); }
  [[nodiscard]] u32 take_requests() { return requests_.fetch_and(~all_requests, Order::acq_rel) & all_requests; }
  [[nodiscard]] bool has_requests() const { return (requests_.load(Order::relaxed) & all_requests) != 0; }
  // The message that told home to look has arrived: the letter may be used again.
  void message_arrived() { requests_.fetch_add(one_message - message_on_its_way, Order::acq_rel); }
  [[nodiscard]] bool to_be_looked_at() const { return look_link_.linked(); }
  // ---- any core, for checks: as it is at this moment -------------------------------------------------------------------
  [[nodiscard]] bool message_on_the_way() const { return (requests_.load(Order::relaxed) & message_on_its_way) != 0; }
  [[nodiscard]] u32 messages_arrived() const { return requests_.load(Order::relaxed) / one_message; }  // the lower bits
  // While it sleeps: it is in some queue, or waits for time or a signal. False for a moment after it was taken off, and while
  // other cores are asked for something.
  [[nodiscard]] bool waits_for_something() const;
  [[nodiscard]] Letter& arrival_letter() { return arrival_; }
  [[nodiscard]] Letter& request_letter() { return request_letter_; }

  // Affinity and nice value as wished, from any core; the home core makes them effective (entity).
  void change_affinity(const CoreSet& cores);
  [[nodiscard]] CoreSet affinity() const { return wanted_cores_.snapshot(Order::relaxed); }
  // The same as the kernel tells it: with a grouping of cores by masks, cut down to the thread's group.
  [[nodiscard]] CoreSet shown_affinity() const;
  void change_nice(i32 nice);
  void inherit_wishes(const Thread& parent);  // before it runs
  [[nodiscard]] i32 nice() const { return wanted_nice_.load(Order::relaxed); }
  // Linux's scheduling policy as the program asked for it (sched::SchedulingPolicy), with reset_on_fork, and the real-time
  // priority that belongs to it: 1 … 99, deadline_priority, or 0.
  static constexpr u32 reset_on_fork = 0x4000'0000;  // SCHED_RESET_ON_FORK: no child is real-time or above nice 0
  struct Policy {
    u32 policy = 0;
    u32 priority = 0;
  };
  // `reservation`: with the deadline_priority (SCHED_DEADLINE); ebusy then: that much is not to be had.
  Result<void> change_policy(Policy wanted, const sched::Reservation& reservation = {});
  // While it has a deadline, no child can be made that would have it too.
  [[nodiscard]] bool may_have_children() const {
    return policy_and_priority().priority != sched::deadline_priority || (policy() & reset_on_fork) != 0;
  }
  [[nodiscard]] Policy policy_and_priority() const { return unpack(policy_.load(Order::relaxed)); }
  [[nodiscard]] u32 policy() const { return policy_and_priority().policy; }
  // How it is scheduled, as it is told to those who ask.
  struct ShownSchedule {
    Policy policy{};
    i32 nice = 0;
    CoreSet cores{};
    sched::Reservation reservation{};  // none: it has no deadline
    [[nodiscard]] bool has_deadline() const { return policy.priority == sched::deadline_priority; }
  };
  [[nodiscard]] ShownSchedule shown_schedule() const;
  // Part of its end: what it has reserved is for others now. Who asks is still told that it had a deadline, as on Linux.
  void give_up_reservation();
  // The highest real-time priority of those who wait for futexes that it has (task/pi_futex.h); 0: none.
  void inherit_priority(u32 priority);
  [[nodiscard]] u32 inherited_priority() const { return inherited_.load(Order::relaxed); }
  // What counts: the higher one of its own and the inherited. Who has a deadline lends the highest priority, not the deadline.
  [[nodiscard]] u32 effective_priority() const {
    const u32 own = unpack(policy_.load(Order::seq_cst)).priority;
    const u32 inherited = inherited_priority();
    if (own >= inherited) [[likely]]
      return own;
    return inherited < sched::real_time_highest ? inherited : sched::real_time_highest;
  }

  Atomic<Tracee*> tracee{nullptr};  // any: of one that is or was traced; see task/tracee.h

  char name[16] = {};  // comm: task/thread_names.h writes; any reads without its lock (torn reads are harmless)

 private:
  friend class Process;
  friend class ProcessTable;
  Thread(Process& process, ThreadId id, Credentials& credentials);
  static void on_timeout(TimerEvent& event);
  // Run time that its core has counted, and how long it has run since; user time is that share of the first, and the second.
  struct RunTime {
    i64 counted, since;
  };
  [[nodiscard]] RunTime run_time() const;
  void take_class_wishes(Scheduler& scheduler);
  void renew_trace_head();  // home: its number, its nice value or its real-time priority has changed
  [[nodiscard]] i64 user_share(i64 counted) const;

  ThreadId id_;
  Atomic<u64> trace_head_{0};  // home writes
  Process* process_;  // kept alive by the thread's own reference
  ListLink process_link_;  // guarded by the process's lock
  Ref<Credentials> credentials_;  // never null; changed by the thread with the process's lock held
  TreeLink table_link_;  // guarded by processes::lock()

  // ---- home ----
  TimerEvent timeout_;
  Deadline deadline_;  // own: of the wait under way that has a time-out
  WaitPlace* wait_place_ = nullptr;
  Atomic<bool> bare_wait_{false};  // waits for time or signals only; checks of other cores read it
  bool resumable_ = false;  // the same, for being resumed
  Letter arrival_;
  ListLink look_link_;  // in home's list of threads to be looked at

 public:
  using LookList = IntrusiveList<Thread, &Thread::look_link_>;

 private:
  AtomicCoreSet wanted_cores_;  // any
  Atomic<i32> wanted_nice_{0};  // any
  Atomic<u32> policy_{0};  // any; the priority is in bits 8 … 15, so that both change at once
  Atomic<u32> policy_at_end_{
      0};  // thread; read by any: policy_ as it was when the thread gave up its reservation at its end; 0: it had none
  Atomic<u32> inherited_{0};  // any, inside the section of PI futexes
  static constexpr u32 priority_shift = 8, priority_mask = 0xff << priority_shift;
  static constexpr Policy unpack(u32 word) { return {word & ~priority_mask, (word & priority_mask) >> priority_shift}; }

  // ---- own cache lines: read by wakers on other cores
  alignas(cache_line) Atomic<CoreId> home_{CoreId{0}};
  Atomic<ThreadState> state_{ThreadState::created};  // home writes
  // Bits of Request, and message_on_its_way while request_letter_ is in use: set by the sender that uses it, cleared by home
  // when the message has arrived. So home may take requests at any time without freeing the letter under a sender. Above them,
  // how many messages have arrived, modulo 2^24: in the same word, so that counting costs nothing.
  static constexpr u32 all_requests = 0xf, message_on_its_way = 1u << 4, one_message = 1u << 8;
  alignas(cache_line) Atomic<u32> requests_{0};  // any
  Atomic<WakeReason> pending_reason_{WakeReason::none};  // who took the thread off its wait, before Request::wake
  Letter request_letter_;  // the sender that made requests_ non-zero
};

}  // namespace corral

// A thread: user context, scheduling entity, and what it waits for (paper 000, section 3.5; paper 004, section 2.1.1).
//
// Who may touch what:
//  - "home": only the core whose id is in home_. A thread's home changes only by that core, when the thread does not run:
//    it hands the thread over in an `arrive` message. Queue state, wait state and timers belong to home.
//  - "thread": only code running as the thread, in one of its steps (which runs on its home, interrupts off).
//  - "any": atomics. Another core never changes a thread: it sets a bit of requests_ and sends home a message to look.
#pragma once

#include "arch/fp_state.h"
#include "arch/trap_frame.h"
#include "core/outbox.h"
#include "core/timer_queue.h"
#include "lib/atomic.h"
#include "lib/ref.h"
#include "lib/types.h"
#include "sched/engine/scheduler.h"
#include "sched/scheduling_entity.h"
#include "sync/waiter.h"
#include "task/signals.h"
#include "vm/caller.h"

namespace corral {

class Process;

enum class ThreadState : u8 { created, runnable, running, sleeping, stopped, terminated };
[[nodiscard]] char letter_of(ThreadState state);  // as in /proc/[pid]/stat: R S T Z

// What other cores ask of a thread; bits of requests_.
enum class Request : u32 {
  wake = 1,          // its wait has ended
  look_at_signals = 2,  // a signal was added: end an interruptible wait, or deliver before the next return to user mode
  affinity = 4,      // its set of allowed cores changed
};

// The step that a thread is in: run again after each wait until it does not answer blocked.
using Step = Errno (*)(Thread& thread);

class Thread final : public RefCounted<Thread>, public Waiter {
 public:
  static Result<Ref<Thread>> create(Process& process, ThreadId id);
  ~Thread();

  [[nodiscard]] ThreadId id() const { return id_; }
  [[nodiscard]] Process& process() const { return *process_; }
  [[nodiscard]] CoreId home() const { return home_.load(Order::acquire); }
  [[nodiscard]] ThreadState state() const { return state_.load(Order::relaxed); }

  // ---- any core --------------------------------------------------------------------------------------------------
  void request(Request what);
  void wake(WakeReason reason) override;

  // ---- thread: inside its own step -----------------------------------------------------------------------------------
  [[nodiscard]] bool interrupted() const override;
  void set_timeout(Instant when) override;
  // Waits for nothing but time or a signal. Returns blocked (or restart when a signal is pending already).
  [[nodiscard]] Errno sleep_until(Instant when);
  // For waits outside WaitQueue (futexes): how home ends the wait early. Set before the step answers blocked, cleared by
  // the wake-up. `cancel` must lead to exactly one wake().
  struct WaitPlace {
    virtual void cancel(Thread& thread, WakeReason reason) = 0;
  };
  void wait_at(WaitPlace& place, bool interruptible);

  arch::TrapFrame frame;   // thread; the entry code writes it
  arch::FpState fp;        // thread; valid in memory unless this thread is its core's fp owner
  u64 tls = 0;             // thread: FS base
  vm::Caller caller{*this};  // thread
  Step current_step = nullptr;  // thread: not null while a step is under way (blocked or running)

  // Linux's per-thread pointers
  VirtualAddress clear_child_tid{};   // thread: CLONE_CHILD_CLEARTID
  VirtualAddress robust_list{};       // thread: set_robust_list
  ThreadSignals signals;              // see task/signals.h
  bool in_system_call = false;        // thread: the step is a system call (for restarts)
  bool ended = false;                 // thread: exit has run; the executive lets go of it

  // ---- times, in cycles, split at kernel entry and exit; written by the thread's core, read by any
  Atomic<u64> user_cycles{0};
  Atomic<u64> system_cycles{0};
  Atomic<i64> run_ns{0};              // total time on a core
  Atomic<u64> voluntary_switches{0};
  Atomic<u64> involuntary_switches{0};
  Atomic<u64> migrations{0};
  Atomic<i64> start_ns{0};

  alignas(cache_line) sched::SchedulingEntity entity;  // home
  [[nodiscard]] static Thread& of(sched::SchedulingEntity& entity);

  char name[16] = {};  // thread writes, any reads (torn reads are harmless): comm

 private:
  friend class Executive;
  friend class Process;
  explicit Thread(Process& process, ThreadId id);

  ThreadId id_;
  Process* process_;  // kept alive by the thread's own reference
  ListLink process_link_;  // guarded by the process's lock

  // ---- home ----
  TimerEvent timeout_;
  WaitPlace* wait_place_ = nullptr;
  bool bare_wait_ = false;       // waits for time or signals only
  bool wait_interruptible_ = false;
  Letter arrival_;

  // ---- own cache lines: read by wakers on other cores
  alignas(cache_line) Atomic<CoreId> home_{CoreId{0}};
  Atomic<ThreadState> state_{ThreadState::created};  // home writes
  alignas(cache_line) Atomic<u32> requests_{0};      // any
  Atomic<WakeReason> pending_reason_{WakeReason::none};  // who took the thread off its wait, before Request::wake
  Letter request_letter_;                            // the sender that made requests_ non-zero
};

}  // namespace corral

// A process: an address space, resources and threads (paper 000, section 3.5: distinct from threads).
// Fields say who protects them; lock_ has rank process, the table of all processes rank process_table.
#pragma once

#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "sync/waiter.h"
#include "task/cpu_timers.h"
#include "task/process_listener.h"
#include "task/process_manners.h"
#include "task/process_timers.h"
#include "task/program_places.h"
#include "task/resource_limits.h"
#include "task/signals.h"
#include "task/thread.h"
#include "task/tracee.h"
#include "vm/address_space.h"

// A process's life: created → alive (threads) → zombie (no threads, status kept for the parent) → reaped (out of the table).

namespace corral {

class CoreDump;

// What fs/ keeps for a process (open files, working directory, umask): owned here, known there.
class ProcessResources : public RefCounted<ProcessResources> {
 public:
  virtual ~ProcessResources() = default;
  virtual Result<Ref<ProcessResources>> duplicate() = 0;  // fork; enomem
  [[nodiscard]] bool shared() const { return references() > 1; }  // with another process; or one that looks at it just now
  virtual void before_exec() = 0;                         // close-on-exec
  virtual void release_all() = 0;                         // the process ends: close everything now
};

enum class ProcessState : u8 { alive, zombie, reaped };

class Process final : public RefCounted<Process> {
 public:
  // A process without threads, in the table, child of `creator` (null: the first one), or `as_sibling` of its parent, with its signal at
  // the end (CLONE_PARENT; not in the first process). enomem, eagain (no id left, or the creator is ending).
  static Result<Ref<Process>> create(Process* creator, bool as_sibling);
  ~Process();

  [[nodiscard]] ProcessId id() const { return id_; }
  [[nodiscard]] SpinLock& lock() RETURN_CAPABILITY(lock_) { return lock_; }

  // Adds a thread with the credentials of `creator`, which is running (null: root's); the first has the process's id as its own.
  // eagain: its user has as many threads as the process's limit allows, or the process is ending.
  Result<Ref<Thread>> add_thread(const Thread* creator);
  // Who it is for others: as its first thread, or another while that one is not there; the last one's after its end. Never null.
  [[nodiscard]] Ref<Credentials> credentials() EXCLUDES(lock_);
  // Where its signals are counted: as its first thread's.
  [[nodiscard]] UserAccount& account() REQUIRES(lock_);
  // It is reaped: its user has one less. Until then a process without threads counts as one (RLIMIT_NPROC).
  void forget_count() EXCLUDES(lock_);
  // Calls visit for each thread under lock_.
  template <class Visitor>
  void for_each_thread(Visitor&& visit) EXCLUDES(lock_) {
    LockGuard guard{lock_};
    for_each_thread_locked(visit);
  }
  template <class Visitor>
  void for_each_thread_locked(Visitor&& visit) REQUIRES(lock_) {
    threads_.for_each([&](Thread& thread) { visit(thread); });
  }
  [[nodiscard]] u32 thread_count() EXCLUDES(lock_);
  [[nodiscard]] Ref<Thread> find_thread(ThreadId id) EXCLUDES(lock_);
  // How its first thread was scheduled when it ended, which others may still ask (sched_getscheduler); esrch: it has not ended.
  [[nodiscard]] Result<Thread::ShownSchedule> last_schedule() EXCLUDES(lock_);
  // The one with the next higher number; null at the end.
  [[nodiscard]] Ref<Thread> next_thread(ThreadId after) EXCLUDES(lock_);

  // The address space in use. exec replaces it; holders of the Ref keep the old one alive.
  [[nodiscard]] Ref<vm::AddressSpace> space() EXCLUDES(lock_);
  void set_space(Ref<vm::AddressSpace> space) EXCLUDES(lock_);

  // Asks every thread except `except` to end; `status` is in wait4's form and counts if this is the first request.
  void end(i32 wait_status) EXCLUDES(lock_);
  // The same for a signal that `thread`, which runs, has taken; before that the process may write a dump of itself (core_dump.h).
  void end_with_dump(Thread& thread, const SignalInfo& info) EXCLUDES(lock_);
  // A thread's end begins: it waits until the dump is over, or writes it. Its step has nothing else noted yet. blocked, else Errno{}.
  Errno attend_dump(Thread& thread) EXCLUDES(lock_);
  [[nodiscard]] bool leaves_dump() const { return dump_.load(Order::acquire) != nullptr; }
  // The status if the process ends because its last thread calls exit.
  void note_status(i32 wait_status) EXCLUDES(lock_);
  // Before the first thread runs. `only_ignored`: handlers are not inherited.
  void inherit_actions(Process& from, bool only_ignored) EXCLUDES(lock_);
  // A process that has been created but whose first thread could not be made: undoes create().
  void abandon();
  // The peak of memory in use so far counts for getrusage, also when the address space goes.
  void note_peak();
  // A vfork child no longer uses its parent's memory (it executed a program or ended): the parent goes on.
  void give_back_space();
  // exec: asks all other threads to end. ok: `thread` is alone; blocked: run the step again; eagain: someone else ends the
  // process or executes a program already.
  Result<void> become_alone(Thread& thread) EXCLUDES(lock_);
  // Gives the only thread the process's id (after exec by a thread that was not the first).
  void adopt_leader_id(Thread& thread) EXCLUDES(lock_);
  [[nodiscard]] bool ending() const { return ending_.load(Order::acquire); }
  [[nodiscard]] bool killed() const { return killed_.load(Order::acquire); }  // by SIGKILL, perhaps when it was ending already
  // The running thread ends itself; the last one ends the process: resources released, children handed to the first
  // process, parent told. Thread context; then answer Errno{} from the step with thread.ended set.
  void thread_ends(Thread& thread) EXCLUDES(lock_);

  // Set before the first thread runs, and changed by the only thread alone; its own locks inside. Others take a reference.
  Ref<ProcessResources> resources;
  [[nodiscard]] Ref<ProcessResources> resources_for_others() EXCLUDES(lock_);
  // What it shares with other processes becomes its own. einval: it has other threads, which share it too; enomem.
  Result<void> unshare_resources() EXCLUDES(lock_);
  SignalAction actions[signal_count + 1] GUARDED_BY(lock_) = {};
  Atomic<SignalSet> pending{0};  // signals for the process as a whole: any reads, changed under lock_
  PendingSignals waiting GUARDED_BY(lock_);
  // Default actions apply: always, but in the first process, until it causes a fault that it does not handle.
  Atomic<bool> has_defaults{true};
  // Takes the first pending signal of `set`, the thread's own before the process's; false: there is none.
  bool take_signal(Thread& thread, SignalSet set, SignalInfo& info) REQUIRES(lock_);
  // Job control (job_control.cpp). stop(): a stop signal has been taken; unless SIGCONT came since, every thread stops
  // before its next return to user mode, and the last one tells the parent. go_on(): they continue.
  void stop(int signal) EXCLUDES(lock_);
  void go_on() EXCLUDES(lock_);
  // The same, but nobody is told; processes::lock() is held. True: the parent knew that it was stopped, by `signal`.
  bool end_stop(i32& signal) EXCLUDES(lock_);
  void forget_stop() EXCLUDES(lock_);  // it ends
  // The running thread is about to stop.
  void thread_stops(Thread& thread) EXCLUDES(lock_);
  [[nodiscard]] bool has_stopped(const Thread& thread) EXCLUDES(lock_);  // in the stop that lasts still
  [[nodiscard]] i32 stopped_by() EXCLUDES(lock_);  // the signal; 0: it is not stopped
  [[nodiscard]] bool stopped() const { return stopped_.load(Order::acquire); }
  // … and the parent was told; threads may be on their way to sleep still.
  [[nodiscard]] bool stop_was_told() const { return stopped() && stop_told_.load(Order::relaxed); }
  Atomic<i32> group{0};  // process group
  Atomic<i32> session{0};
  Atomic<bool> without_terminal{false};  // it has given up its session's controlling terminal
  Atomic<i32> hung_up_group{0};  // of a session's leader: in front of its terminal when that was hung up
  Atomic<bool> hang_up_marked{false};  // see process_group.h
  Atomic<u32> barriers{0};  // membarrier's commands that it has registered for; exec forgets them
  Atomic<bool> undoes_at_end{false};  // it has asked for something to be undone when it ends (ipc/sysv/semaphore_set.h)
  Atomic<u32> traced{0};  // how many of its threads are; changed under processes::lock()
  Atomic<bool> executed{false};  // a program since it was made: its parent may no longer move it to a group
  char name[16] = {};  // comm of the main program
  ProgramPlaces places;  // set by exec; others read each word by itself
  Atomic<i32> memory_score{0};  // /proc/[pid]/oom_score_adj: kept and told, nobody is ended for want of memory
  char executable[256] = {};  // path, for /proc/[pid]/exe
  Atomic<bool> borrows_space{false};  // a vfork child that has neither executed a program nor ended: its parent waits

  // Who listens is told from now on. False: it has ended already.
  bool add_listener(ProcessListener& listener) EXCLUDES(lock_);
  void remove_listener(ProcessListener& listener) EXCLUDES(lock_);  // nothing if it is not there
  void tell_listeners(int signal) REQUIRES(lock_) {
    if (!listeners_.empty()) [[unlikely]]
      listeners_.for_each([&](ProcessListener& listener) { listener.signal_added(signal); });
  }
  void tell_ended() EXCLUDES(lock_);

  using Manners = ProcessManners;
  Manners manners;
  ProcessTimers timers{*this};  // lock_
  CpuTimers cpu_timers{*this};  // lock_

  // Times of threads that ended, and of children that were waited for (ns).
  Atomic<i64> user_ns{0}, system_ns{0}, children_user_ns{0}, children_system_ns{0};
  // Faults, switches and the most pages in memory at once: the same.
  struct Counts {
    Atomic<u64> faults{0}, voluntary{0}, involuntary{0}, peak_pages{0};
  } counts, children_counts;
  Atomic<i64> start_ns{0};

  ResourceLimits limits;  // any thread reads; prlimit changes

 private:
  friend class ProcessTable;
  Process(ProcessId id, Process* creator);
  void remove_thread(Thread& thread) EXCLUDES(lock_);
  void end_locked(i32 wait_status) REQUIRES(lock_);
  // One thread less has to be waited for, or nobody at all.
  void tell_dump() REQUIRES(lock_);
  // What it used goes over into the sums of the process, at once for those who look at both.
  void count_ended(Thread& thread) REQUIRES(lock_);

  ProcessId id_;
  SpinLock lock_{Rank::process, "process"};
  IntrusiveList<Thread, &Thread::process_link_> threads_ GUARDED_BY(lock_);
  Ref<vm::AddressSpace> space_ GUARDED_BY(lock_);
  Ref<Credentials> last_credentials_ GUARDED_BY(lock_);  // of the thread that left last; null while there are threads
  Thread::ShownSchedule last_schedule_ GUARDED_BY(lock_){};
  bool first_thread_ended_ GUARDED_BY(lock_) = false;  // last_schedule_ is that of the first thread
  IntrusiveList<ProcessListener, &ProcessListener::listener_link> listeners_ GUARDED_BY(lock_);
  bool ended_ GUARDED_BY(lock_) = false;  // and the listeners have been told
  Atomic<bool> ending_{false};
  Atomic<bool> killed_{false};
  Atomic<CoreDump*> dump_{nullptr};  // owned; set once, with lock_ held, before ending_
  Atomic<bool> stopped_{false};
  bool stop_taken_ GUARDED_BY(lock_) = false;  // a stop signal was taken and is still valid
  Atomic<bool> stop_told_{false};  // the parent knows that all threads have stopped; written with lock_ held
  u32 stops_ GUARDED_BY(lock_) = 0;  // how often the process was stopped
  u32 stopped_threads_ GUARDED_BY(lock_) = 0;  // that have stopped since
  i32 stopped_by_ GUARDED_BY(lock_) = 0;  // signal
  void tell_stopped() EXCLUDES(lock_);
  [[nodiscard]] bool all_stopped() const REQUIRES(lock_);
  u32 live_threads_ GUARDED_BY(lock_) = 0;  // in threads_
  u32 running_threads_ GUARDED_BY(lock_) =
      0;  // of those, the ones that have not ended; the one that makes it 0 ends the process
  WaitQueue alone_{lock_};  // exec waits here until the other threads have ended

 public:  // kinship: guarded by processes::lock()
  Process* parent = nullptr;
  ListLink sibling_link;
  TreeLink table_link;
  IntrusiveList<Process, &Process::sibling_link> children;
  ProcessState state = ProcessState::alive;
  i32 exit_status = 0;  // wait4's form
  i32 exit_signal = sigchld;  // 0: none
  i32 stop_signal = 0;  // not 0: stopped, and wait4(WUNTRACED) has not told yet
  TraceeList tracees;  // threads that it traces
  Tracee* traced_leader = nullptr;  // of its first thread, also after that one's end; null: nobody traces it
  bool continued = false;  // wait4(WCONTINUED) has not told yet
  WaitQueue child_changed;  // threads of this process in wait4, and who waits for it to give back memory (vfork)
};

namespace signals {
// A signal of `open` is pending for the thread or its process. Own core. On every way out of the kernel, hence here and not
// in signals.cpp.
[[nodiscard]] inline bool any_pending(const Thread& thread, SignalSet open) {
  return ((thread.signals.pending.load(Order::acquire) | thread.process().pending.load(Order::acquire)) & open) != 0;
}
// The same, or its process stops or ends.
[[nodiscard]] inline bool has_to_look(const Thread& thread, SignalSet open) {
  const Process& process = thread.process();
  return thread.end_wanted || process.ending() || process.stopped() || any_pending(thread, open);
}
// Something is to be done before it returns to user mode: a signal is pending that it does not block, its process stops or
// ends.
[[nodiscard]] inline bool deliverable(const Thread& thread) {
  return has_to_look(thread, ~thread.signals.blocked);
}
}  // namespace signals

namespace processes {
[[nodiscard]] SpinLock& lock();
// The first process: adopts orphans; its end is the machine's.
[[nodiscard]] Process* first();
[[nodiscard]] Ref<Process> find(ProcessId id);
[[nodiscard]] Ref<Process> next(ProcessId after);  // the one with the next higher id; null at the end
[[nodiscard]] Ref<Thread> find_thread(ThreadId id);
// How the thread is scheduled, or was when it ended, if it is the first one of a process that is still there. esrch.
[[nodiscard]] Result<Thread::ShownSchedule> schedule_of(ThreadId id);
// Calls visit(process) for each, in order of ids, with a reference held and no lock. False from visit ends the walk.
template <class Visitor>
void for_each(Visitor&& visit) {
  for (Ref<Process> process = next(ProcessId{0}); process; process = next(process->id())) {
    if (!visit(*process)) return;
  }
}
[[nodiscard]] u32 count();
// A user with these credentials has fewer threads than `limit`, or may have more than that. It binds root's own processes, too.
[[nodiscard]] bool may_add_thread(const Credentials& credentials, u64 limit);
[[nodiscard]] u32 thread_count();
[[nodiscard]] u64 created_total();  // forks since boot, for /proc/stat
}  // namespace processes

}  // namespace corral

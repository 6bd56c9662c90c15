// A process: an address space, resources and threads (paper 000, section 3.5: distinct from threads).
// Fields say who protects them; lock_ has rank process, the table of all processes rank process_table.
#pragma once

#include "lib/intrusive_list.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "sync/waiter.h"
#include "task/signals.h"
#include "task/thread.h"
#include "vm/address_space.h"

namespace corral {

// What fs/ keeps for a process (open files, working directory, umask): owned here, known there.
class ProcessResources : public RefCounted<ProcessResources> {
 public:
  virtual ~ProcessResources() = default;
  virtual Result<Ref<ProcessResources>> duplicate() = 0;  // fork; enomem
  virtual void before_exec() = 0;                         // close-on-exec
  virtual void release_all() = 0;                         // the process ends: close everything now
};

enum class ProcessState : u8 { alive, zombie, reaped };

class Process final : public RefCounted<Process> {
 public:
  // A process without threads, in the table, child of `parent` (null: the first one). enomem, eagain (no id left).
  static Result<Ref<Process>> create(Process* parent);
  ~Process();

  [[nodiscard]] ProcessId id() const { return id_; }
  [[nodiscard]] SpinLock& lock() RETURN_CAPABILITY(lock_) { return lock_; }

  // Adds a thread; the first has the process's id as its own. eagain: limit reached or the process is ending.
  Result<Ref<Thread>> add_thread();
  // Calls visit for each thread under lock_.
  void for_each_thread(void (*visit)(void* context, Thread& thread), void* context) EXCLUDES(lock_);
  [[nodiscard]] u32 thread_count() EXCLUDES(lock_);
  [[nodiscard]] Ref<Thread> find_thread(ThreadId id) EXCLUDES(lock_);

  // The address space in use. exec replaces it; holders of the Ref keep the old one alive.
  [[nodiscard]] Ref<vm::AddressSpace> space() EXCLUDES(lock_);
  void set_space(Ref<vm::AddressSpace> space) EXCLUDES(lock_);

  // Asks every thread except `except` to end; `status` is in wait4's form and counts if this is the first request.
  void end(i32 wait_status, Thread* except = nullptr) EXCLUDES(lock_);
  [[nodiscard]] bool ending() const { return ending_.load(Order::acquire); }
  // The running thread ends itself; the last one ends the process: resources released, children handed to the first
  // process, parent told. Thread context; then answer Errno{} from the step with thread.ended set.
  void thread_ends(Thread& thread) EXCLUDES(lock_);

  Ref<ProcessResources> resources;  // set before the first thread runs; its own locks inside
  SignalAction actions[signal_count + 1] GUARDED_BY(lock_) = {};
  Atomic<SignalSet> pending{0};     // any: signals for the process as a whole
  Atomic<i32> group{0};             // process group
  Atomic<i32> session{0};
  char name[16] = {};               // comm of the main program
  VirtualAddress arguments_start{}, arguments_end{};  // for /proc/[pid]/cmdline; set by exec
  char executable[256] = {};        // path, for /proc/[pid]/exe
  bool is_vfork_child = false;

  // Times of threads that ended, and of children that were waited for (ns).
  Atomic<i64> user_ns{0}, system_ns{0}, children_user_ns{0}, children_system_ns{0};
  Atomic<i64> start_ns{0};

  struct Limits {  // RLIMIT_* that are enforced
    u64 processes = 4096, open_files = 1024, address_space = ~u64{0}, stack = 8u << 20;
  } limits;  // thread: changed by prlimit of own threads

 private:
  friend class ProcessTable;
  friend class Processes;
  explicit Process(ProcessId id);

  ProcessId id_;
  SpinLock lock_{Rank::process, "process"};
  IntrusiveList<Thread, &Thread::process_link_> threads_ GUARDED_BY(lock_);
  Ref<vm::AddressSpace> space_ GUARDED_BY(lock_);
  Atomic<bool> ending_{false};

 public:  // kinship: guarded by the process table's lock (processes::lock())
  Process* parent = nullptr;
  ListLink sibling_link;
  IntrusiveList<Process, &Process::sibling_link> children;
  ProcessState state = ProcessState::alive;
  i32 exit_status = 0;       // wait4's form
  i32 exit_signal = sigchld;
  bool stop_reported = false, stopped = false, continue_reported = true;
  WaitQueue child_changed;   // parents waiting in wait4
};

namespace processes {
[[nodiscard]] SpinLock& lock();
[[nodiscard]] Ref<Process> find(ProcessId id);
[[nodiscard]] Ref<Thread> find_thread(ThreadId id);
void for_each(void (*visit)(void* context, Process& process), void* context);
[[nodiscard]] u32 count();
[[nodiscard]] u32 thread_count();
[[nodiscard]] u64 created_total();  // forks since boot, for /proc/stat
}  // namespace processes

}  // namespace corral

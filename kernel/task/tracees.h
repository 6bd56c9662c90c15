// Tracing: a process stops threads of others, looks at them and changes them. See tracee.h for the data; Linux ptrace(2).
//
// A stop is a wait of a step of the thread: on its way back to user mode (task/signal_delivery.cpp, task/exit.cpp), in the step that
// runs system calls while anybody is traced (abi/linux/table.cpp), or in the step that ends it. The thread's registers are in
// its frame and its FpState meanwhile, where the tracer reads and changes them.
// Lock order: processes::lock(), then a process's; signals are sent with the first held.
#pragma once

#include "lib/ref.h"
#include "lib/result.h"
#include "task/process.h"
#include "task/process_table.h"
#include "task/tracee.h"

namespace corral::tracees {

// ---- any -----------------------------------------------------------------------------------------------------------------
[[nodiscard]] inline bool is_traced(const Thread& thread) {
  const Tracee* tracee = thread.tracee.load(Order::acquire);
  return tracee != nullptr && tracee->traced.load(Order::acquire);
}
[[nodiscard]] bool is_stopped(const Thread& thread);
// The number of the process that traces it; 0: none does.
[[nodiscard]] i32 tracer_of(const Thread& thread);
// Told with the table's lock held when the first thread is traced in the machine, and when the last one is traced no more: system
// calls are followed meanwhile. Boot context, once.
void set_listener(void (*listener)(bool any));

// ---- the thread itself, in a step; from holds() on only where it has a Tracee --------------------------------------------------
// Its parent traces it from now on. eperm: somebody does already, or there is none; enomem.
Result<void> offer(Thread& thread);
// It is stopped and must wait to be resumed (Thread::wait_for_resume). False: it goes on, and what it was resumed with is pending.
[[nodiscard]] bool holds(Thread& thread);
// It is about to take `signal`. True: it does not, but has to look again (at holds() first).
[[nodiscard]] bool stops_for(Thread& thread, int signal);
// Its tracer wants it to stop (signals::trap_bit). True: it has to look again.
[[nodiscard]] bool traps(Thread& thread);
// Its process is stopped: as stop_step.
[[nodiscard]] Errno stop_with_process(Thread& thread);
// It was about to return to user mode, and takes signals first: a handler does not inherit its single step, and ends it.
void come_in(Thread& thread);
// It is about to return to user mode: for one instruction, if that is wanted.
void set_out(Thread& thread);
// Its end begins. True: it has to wait, and to look again.
[[nodiscard]] bool stops_at_end(Thread& thread);

// ---- the same, in a system call ---------------------------------------------------------------------------------------------
enum class Turn : u8 { wait, run, skip };
[[nodiscard]] Turn before_call(Thread& thread, bool begins);
// The call is over, or was skipped. True: it has to wait, and to look again; before_call() answers skip then.
[[nodiscard]] bool after_call(Thread& thread);
// Its tracer is to hear of this before the call is over, if it asked for that and the call is followed.
void note_event(Thread& thread, Tracee::Event event, u64 message);
// Stops at once for what was noted. True: it has to wait, and to look again.
[[nodiscard]] bool stops_for_event(Thread& thread);
// It has executed a program; its number was `former` before. The tracer hears of it, one way or the other.
void executed(Thread& thread, ThreadId former);

// A thread that is being made. It is traced from its beginning by who traces its maker, if that one wants it.
class NewTracee {
 public:
  NewTracee() = default;
  NewTracee(const NewTracee&) = delete;
  NewTracee& operator=(const NewTracee&) = delete;
  ~NewTracee() { delete made_; }
  // Before anything else is made. `event`: what its maker's tracer asks for such threads by, or none; `always`: it need not ask
  // (CLONE_PTRACE). enomem.
  Result<void> prepare(const Thread& maker, Tracee::Event event, bool always);
  // `thread` is made, and has not run. It will stop first of all.
  void join(Thread& maker, Thread& thread);

 private:
  Tracee* made_ = nullptr;  // null: it is not to be traced
};

// ---- the tracer, in a step -----------------------------------------------------------------------------------------------
// Somebody else's thread. It is sent SIGSTOP; with `seized` it runs on, with these options. esrch, eperm, enomem.
struct Attachment {
  bool seized = false;
  u32 options = 0;
};
Result<void> attach(Thread& tracer, Thread& target, Attachment how);
// After attach(): if the thread is stopped with its process, that has become a stop for the tracer when this answers. blocked.
Result<void> await_stop(Thread& tracer, const Thread& target);
// Calls act(thread, tracee) for the thread of that number with the table's lock held, if `tracer` traces it and it is stopped; esrch.
template <class Action>
Result<void> with_stopped(Process& tracer, ThreadId id, Action&& act);
// The same thread, which goes on only by its tracer, or to end. esrch.
Result<Ref<Thread>> stopped(Process& tracer, ThreadId id);
struct Resumption {
  i32 signal = 0;
  bool step = false;  // for one instruction
  bool leave = false;  // and it is traced no more
  Tracee::Go go = Tracee::Go::on;
};
Result<void> resume(Process& tracer, ThreadId id, Resumption how);  // esrch as above
// It stops, wherever it is: PTRACE_INTERRUPT. eio: it was not seized; esrch: it is not traced by `tracer`.
Result<void> interrupt(Process& tracer, ThreadId id);
// It stays stopped with its process until that goes on: PTRACE_LISTEN. eio: it is not stopped in that way; esrch.
Result<void> listen(Process& tracer, ThreadId id);
// The process ends: those that it traces go on (by single steps if those were the last; as on Linux that is their end), or end with
// it. No lock is held.
void let_go_all(Process& tracer);

// ---- with processes::lock() held ---------------------------------------------------------------------------------------
// The thread has left its process, and its tracer hears of it.
void thread_ended(Thread& thread);
// It is not traced any more. The answer keeps it, and is to be let go of without the lock.
[[nodiscard]] Ref<Thread> unlink(Tracee& tracee);
// The process is stopped no more.
void process_continues(Process& process);
// The process has become a zombie, or one less of its threads is traced: whoever traces its first thread has to look.
void tell_end(Process& process);
// Who is told of the process's end: its parent, or first the tracer of its first thread.
[[nodiscard]] inline bool end_is_hidden(const Process& process) {
  return process.traced_leader != nullptr && process.traced_leader->tracer != process.parent;
}
// The Tracee, if `tracer` traces it and it is stopped.
[[nodiscard]] Tracee* stopped_for(const Process& tracer, const Thread& thread);

template <class Action>
Result<void> with_stopped(Process& tracer, ThreadId id, Action&& act) {
  const Ref<Thread> thread = processes::find_thread(id);
  if (!thread) return Errno::esrch;
  LockGuard guard{processes::lock()};
  Tracee* tracee = stopped_for(tracer, *thread);
  if (tracee == nullptr) return Errno::esrch;
  act(*thread, *tracee);
  return {};
}

}  // namespace corral::tracees

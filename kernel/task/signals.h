// Signals: who has which pending, what is to be done with each, and delivery on the way back to user mode.
// Source: POSIX.1-2017, 2.4; Linux signal(7).
#pragma once

#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "lib/result.h"
#include "lib/types.h"
#include "task/alternate_stack.h"
#include "task/signal_information.h"
#include "task/user_account.h"

namespace corral {

class Process;
class Thread;

inline constexpr int signal_count = 64;  // 1 … 64
enum Signal : int {
  sighup = 1,
  sigint = 2,
  sigquit = 3,
  sigill = 4,
  sigtrap = 5,
  sigabrt = 6,
  sigbus = 7,
  sigfpe = 8,
  sigkill = 9,
  sigusr1 = 10,
  sigsegv = 11,
  sigusr2 = 12,
  sigpipe = 13,
  sigalrm = 14,
  sigterm = 15,
  sigstkflt = 16,
  sigchld = 17,
  sigcont = 18,
  sigstop = 19,
  sigtstp = 20,
  sigttin = 21,
  sigttou = 22,
  sigurg = 23,
  sigxcpu = 24,
  sigxfsz = 25,
  sigvtalrm = 26,
  sigprof = 27,
  sigwinch = 28,
  sigio = 29,
  sigpwr = 30,
  sigsys = 31,
};

using SignalSet = u64;  // bit n-1: signal n
constexpr SignalSet signal_bit(int signal) {
  return SignalSet{1} << (signal - 1);
}

struct SignalAction {
  u64 handler = 0;  // 0 default, 1 ignore
  u64 flags = 0;
  u64 restorer = 0;
  SignalSet mask = 0;
};

// Something that owns the information of a signal it sends again and again (a timer), and wants to know when it is taken.
class SignalOwner {
 public:
  // The signal has been taken and will be told with `info`, which may be completed. With the process's lock held.
  virtual void signal_taken(SignalInfo& info) = 0;
  // The signal was thrown away. With the process's lock held.
  virtual void signal_dropped() = 0;

 protected:
  ~SignalOwner() = default;
};

// A signal that waits to be taken, with its information. Where there is none, the bit in `pending` still stands and the
// signal arrives without information.
struct PendingSignal {
  SignalInfo info;
  ListLink link;
  SignalOwner* owner = nullptr;  // null: on the heap
  Thread* thread = nullptr;      // of an owned signal that is pending: for whom; null: the process
  SignalRoom room{};             // of what counts against RLIMIT_SIGPENDING
};
using PendingSignals = IntrusiveList<PendingSignal, &PendingSignal::link>;

// A thread's own part. Masks are changed by the thread alone, with the process's lock held; so it reads them without.
struct ThreadSignals {
  SignalSet blocked = 0;
  SignalSet awaited = 0;                // sigtimedwait waits for these, although they are blocked
  SignalSet saved_blocked = 0;          // thread: to put back after sigsuspend
  bool restore_blocked = false;         // thread
  Atomic<SignalSet> pending{0};         // any: bits; changed under the process's lock
  PendingSignals waiting;               // the process's lock
  AlternateStack alternate_stack;       // thread
};

namespace signals {

inline constexpr SignalSet never_blocked = signal_bit(sigkill) | signal_bit(sigstop);
inline constexpr SignalSet stop_signals = signal_bit(sigstop) | signal_bit(sigtstp) | signal_bit(sigttin) | signal_bit(sigttou);

// ---- sending: any core; the caller holds no lock of rank process or above ----------------------------------------------
// To one thread (tkill, faults) or to the process (kill, terminal). einval: no such number. eagain: a real-time signal with a
// value, and RLIMIT_SIGPENDING is reached.
Result<void> send(Thread& thread, const SignalInfo& info);
Result<void> send(Process& process, const SignalInfo& info);
// The same with information that the sender owns and that is not pending yet: never fails, allocates nothing. `thread` null:
// to the process. False: the process ignores it.
// The caller holds the process's lock.
bool send_owned_locked(Process& process, Thread* thread, PendingSignal& signal);
// Takes it back, if it is pending. The caller holds the process's lock.
void withdraw_locked(Process& process, PendingSignal& signal);
// Every process of a process group. esrch when there is none.
Result<void> send_to_group(i32 group, const SignalInfo& info);

// ---- the thread itself -------------------------------------------------------------------------------------------------
// It may not go on waiting: as deliverable() (task/process.h), or a signal came that it waits for.
[[nodiscard]] bool ends_wait(const Thread& thread);
// Changes the mask; signals of the process that this thread can no longer take are given to another.
void set_blocked(Thread& thread, SignalSet blocked);
// A mask for the time of one call: the old one is put back when the call returns to the program.
void set_blocked_for_call(Thread& thread, SignalSet blocked);
// A fault that the thread cannot block: forces the default when it is blocked or ignored.
void force(Thread& thread, const SignalInfo& info);
// Takes one pending signal of `set`, the thread's own first; false when none is pending. From then until stop_awaiting() the
// arrival of such a signal ends the thread's waits.
bool take_or_await(Thread& thread, SignalSet set, SignalInfo& info);
void stop_awaiting(Thread& thread);
// Takes one pending signal of `set`; false when none is pending.
bool take(Thread& thread, SignalSet set, SignalInfo& info);
// A signal that its tracer lets this thread take is pending for it, and is not to be stopped for again.
void pass_on(Thread& thread, const SignalInfo& info);
// A tracer wants the thread to stop: as a signal that cannot be blocked it ends waits, and is looked at before the return to user
// mode. Its bit in `pending` is that of SIGKILL, which acts at once and is never pending. Written with processes::lock() held.
inline constexpr SignalSet trap_bit = signal_bit(sigkill);
void raise_trap(Thread& thread);
void withdraw_trap(Thread& thread);
[[nodiscard]] bool trap_raised(const Thread& thread);
// The thread takes SIGSTOP first of all, which nobody has sent.
void begin_stopped(Thread& thread);
// Another thread is to look at what is pending for the process: this one ends.
void hand_over(Thread& thread);

// Before the return to user mode: takes pending signals in order, ends or stops the process, or changes the frame so that
// the handler runs. Uses up thread.call_interruption: the system call is restarted or ends with EINTR.
// Answers blocked when the user's stack page needs a wait (run again), else Errno{}.
Errno deliver_pending(Thread& thread);

// ---- actions -----------------------------------------------------------------------------------------------------------
// rt_sigaction: the old action is returned. einval: no such signal, or SIGKILL, SIGSTOP.
Result<SignalAction> set_action(Process& process, int signal, const SignalAction* action);
// What becomes of a child that ends.
struct ChildWishes {
  bool zombie = true;  // false: SIGCHLD is ignored, or SA_NOCLDWAIT
  bool signal = true;  // false: SIGCHLD is ignored
};
[[nodiscard]] ChildWishes wishes_about_children(Process& process);

}  // namespace signals
}  // namespace corral

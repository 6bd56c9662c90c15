// Signals: who has which pending, what is to be done with each, and delivery on the way back to user mode.
// Source: POSIX.1-2017, 2.4; Linux signal(7).
#pragma once

#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "lib/result.h"
#include "lib/types.h"

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

// What a handler is told (the kernel's part of siginfo_t).
struct SignalInfo {
  i32 number = 0;
  i32 code = 0;      // SI_USER 0, SI_KERNEL 0x80, SI_TKILL -6, SEGV_MAPERR 1, CLD_EXITED 1 …
  i32 sender = 0;    // pid
  u32 sender_user = 0;
  u64 value = 0;     // fault address, exit status, or sigval
};

struct SignalAction {
  u64 handler = 0;  // 0 default, 1 ignore
  u64 flags = 0;
  u64 restorer = 0;
  SignalSet mask = 0;
};

// A signal that waits to be taken, with its information. When there is no memory for one, the bit in `pending` still
// stands and the signal arrives without information.
struct PendingSignal {
  SignalInfo info;
  ListLink link;
};
using PendingSignals = IntrusiveList<PendingSignal, &PendingSignal::link>;

// A thread's own part.
struct ThreadSignals {
  SignalSet blocked = 0;                // thread
  SignalSet saved_blocked = 0;          // thread: to put back after sigsuspend
  bool restore_blocked = false;         // thread
  Atomic<SignalSet> pending{0};         // any: bits; changed under the process's lock
  PendingSignals waiting;               // the process's lock
  VirtualAddress alternate_stack{};     // thread
  u64 alternate_stack_size = 0;         // thread; 0: none
};

namespace signals {

// Sends to one thread (tkill, faults) or to the process (kill, terminal): any core, allocates nothing that it cannot do
// without. einval: no such number.
Result<void> send(Thread& thread, const SignalInfo& info);
Result<void> send(Process& process, const SignalInfo& info);
// Every process of a process group. esrch when there is none.
Result<void> send_to_group(i32 group, const SignalInfo& info);

// A signal is waiting that the thread does not block and does not ignore. Own core.
[[nodiscard]] bool deliverable(const Thread& thread);

// A fault of the running thread that it cannot block: forces the default when blocked or ignored.
void force(Thread& thread, const SignalInfo& info);

// Before the return to user mode: takes pending signals in order, ends or stops the process, or changes the frame so that
// the handler runs. Uses up thread.call_interruption: the system call is restarted or ends with EINTR.
// Answers blocked when the user's stack page needs a wait (run again), else Errno{}.
Errno deliver_pending(Thread& thread);

// rt_sigaction: the old action is returned. einval: no such signal, or SIGKILL, SIGSTOP.
Result<SignalAction> set_action(Process& process, int signal, const SignalAction* action);
// The process ignores SIGCHLD or has SA_NOCLDWAIT: its children leave no zombies.
[[nodiscard]] bool child_status_unwanted(Process& process);
// Drops pending signals of `set` (their action became "ignore").
void forget(Process& process, SignalSet set);
// Takes one pending signal of `set` for sigtimedwait and signal descriptors; false when none is pending.
bool take(Thread& thread, SignalSet set, SignalInfo& info);

}  // namespace signals
}  // namespace corral

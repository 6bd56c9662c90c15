// Sending signals, masks, and what the process does with signals. Delivery is in signal_delivery.cpp, stopping in job_control.cpp.
// Locks: a process's lock; the caller holds none of rank process or above.
#include "task/signals.h"

#include "task/process.h"
#include "task/process_table.h"
#include "task/signal_queue.h"
#include "task/tracees.h"

namespace corral::signals {

namespace {

constexpr u64 action_default = 0;
constexpr u64 action_ignore = 1;
constexpr u64 flag_no_child_stop = 1;  // SA_NOCLDSTOP
constexpr u64 flag_no_child_wait = 2;  // SA_NOCLDWAIT
// Every flag that a program may set; others are forgotten, so that it can find out (sigaction(2), SA_UNSUPPORTED).
constexpr u64 known_flags = 0xdc00'0807;

constexpr SignalSet ignored_by_default = signal_bit(sigchld) | signal_bit(sigurg) | signal_bit(sigwinch) | signal_bit(sigcont);

bool ignores(const SignalAction& action, int signal) {
  return action.handler == action_ignore ||
         (action.handler == action_default && (ignored_by_default & signal_bit(signal)) != 0);
}

// Nobody would ever notice the signal: it is not even kept. What is blocked is kept, since its action may change.
bool unnoticed(Process& process, const Thread* taker, const SignalInfo& info) REQUIRES(process.lock()) {
  const SignalAction& action = process.actions[info.number];
  const bool of_stop = info.code == child_stopped || info.code == child_continued || info.code == child_trapped;
  if (info.number == sigchld && of_stop && (action.handler == action_ignore || (action.flags & flag_no_child_stop) != 0)) {
    return true;
  }
  if (taker == nullptr || process.traced.load(Order::relaxed) != 0) return false;  // its tracer hears of all
  // The first process has no default actions: it cannot be ended by a signal that it does not handle.
  return ignores(action, info.number) || (!process.has_defaults.load(Order::relaxed) && action.handler == action_default);
}

// A thread that would take the signal: neither blocking it nor ending; null when there is none.
Thread* taker_of(Process& process, int signal) REQUIRES(process.lock()) {
  Thread* found = nullptr;
  process.for_each_thread_locked([&](Thread& thread) {
    const SignalSet open = ~thread.signals.blocked | thread.signals.awaited;
    if (found == nullptr && (open & signal_bit(signal)) != 0 && !thread.end_wanted && !thread.ended) found = &thread;
  });
  return found;
}

// A thread that waits for the signal in sigtimedwait gets it even if it is one that would be ignored.
bool is_open(const Thread& thread, int signal) {
  return (thread.signals.blocked & signal_bit(signal)) == 0;
}

void drop_everywhere(Process& process, SignalSet set) REQUIRES(process.lock()) {
  drop_pending(process.pending, process.waiting, set);
  process.for_each_thread_locked([&](Thread& thread) { drop_pending(thread.signals.pending, thread.signals.waiting, set); });
}

// The parts that happen at sending whatever the receiver does. True: nothing more is to be done.
bool act_at_once(Process& process, const SignalInfo& info) {
  if (info.number == sigkill) {
    if (process.has_defaults.load(Order::relaxed)) process.end(sigkill);
    return true;
  }
  if (info.number == sigcont) {
    {
      LockGuard guard{process.lock()};
      drop_everywhere(process, stop_signals);
    }
    process.go_on();
  } else if ((stop_signals & signal_bit(info.number)) != 0) {
    LockGuard guard{process.lock()};
    drop_everywhere(process, signal_bit(sigcont));
  }
  return false;
}

bool is_member(Process& process, const Thread& wanted) REQUIRES(process.lock()) {
  bool found = false;
  process.for_each_thread_locked([&](Thread& thread) { found = found || &thread == &wanted; });
  return found;
}

// For the thread alone.
Result<void> add_for(Process& process, Thread& thread, const SignalInfo& info) REQUIRES(process.lock()) {
  ThreadSignals& own = thread.signals;
  return add_pending(own.pending, own.waiting, info, thread.account(), process.limits.pending_signals);
}

// Threads that can take what is pending for the process, and was to be taken by another, look at it.
void retarget(Process& process, SignalSet set) REQUIRES(process.lock()) {
  for (; set != 0; set &= set - 1) {
    Thread* thread = taker_of(process, __builtin_ctzll(set) + 1);
    if (thread != nullptr) thread->request(Request::look_at_signals);
  }
}

}  // namespace

Result<void> send(Thread& thread, const SignalInfo& info) {
  if (info.number < 1 || info.number > signal_count) return Errno::einval;
  Process& process = thread.process();
  if (act_at_once(process, info)) return {};
  LockGuard guard{process.lock()};
  if (unnoticed(process, is_open(thread, info.number) ? &thread : nullptr, info)) return {};
  TRY(add_for(process, thread, info));
  process.tell_listeners(info.number);
  thread.request(Request::look_at_signals);
  return {};
}

Result<void> send(Process& process, const SignalInfo& info) {
  if (info.number < 1 || info.number > signal_count) return Errno::einval;
  if (act_at_once(process, info)) return {};
  LockGuard guard{process.lock()};
  Thread* thread = taker_of(process, info.number);
  if (unnoticed(process, thread != nullptr && is_open(*thread, info.number) ? thread : nullptr, info)) return {};
  TRY(add_pending(process.pending, process.waiting, info, process.account(), process.limits.pending_signals));
  process.tell_listeners(info.number);
  if (thread != nullptr) thread->request(Request::look_at_signals);
  return {};
}

bool send_owned_locked(Process& process, Thread* thread, PendingSignal& signal) NO_THREAD_SAFETY_ANALYSIS {
  if (thread != nullptr && !is_member(process, *thread)) return false;  // it has ended
  const int number = signal.info.number;
  Thread* taker = thread != nullptr ? thread : taker_of(process, number);
  if (unnoticed(process, taker != nullptr && is_open(*taker, number) ? taker : nullptr, signal.info)) return false;
  signal.thread = thread;
  if (thread != nullptr) {
    add_owned(thread->signals.pending, thread->signals.waiting, signal);
  } else {
    add_owned(process.pending, process.waiting, signal);
  }
  process.tell_listeners(number);
  if (taker != nullptr) taker->request(Request::look_at_signals);
  return true;
}

void withdraw_locked(Process& process, PendingSignal& signal) NO_THREAD_SAFETY_ANALYSIS {
  if (!signal.link.linked()) return;
  PendingSignals::remove(signal);
  if (signal.thread != nullptr) {  // it lives: a thread that ends drops what waits for it
    settle(signal.thread->signals.pending, signal.thread->signals.waiting, signal.info.number);
  } else {
    settle(process.pending, process.waiting, signal.info.number);
  }
}

Result<void> send_to_group(i32 group, const SignalInfo& info) {
  bool any = false;
  processes::for_each([&](Process& process) {
    if (process.group.load(Order::relaxed) == group) {
      any = true;
      (void)send(process, info);
    }
    return true;
  });
  if (!any) return Errno::esrch;
  return {};
}

bool ends_wait(const Thread& thread) {
  return has_to_look(thread, ~thread.signals.blocked | thread.signals.awaited);
}

void set_blocked(Thread& thread, SignalSet blocked) {
  blocked &= ~never_blocked;
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  const SignalSet news = blocked & ~thread.signals.blocked;
  thread.signals.blocked = blocked;
  if (news != 0) retarget(process, news & process.pending.load(Order::relaxed));
}

void set_blocked_for_call(Thread& thread, SignalSet blocked) {
  thread.signals.saved_blocked = thread.signals.blocked;
  thread.signals.restore_blocked = true;
  set_blocked(thread, blocked);
}

void hand_over(Thread& thread) {
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  retarget(process, process.pending.load(Order::relaxed) & ~thread.signals.blocked);
}

void force(Thread& thread, const SignalInfo& info) {
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  SignalAction& action = process.actions[info.number];
  const SignalSet bit = signal_bit(info.number);
  if ((thread.signals.blocked & bit) != 0 || action.handler == action_ignore) {
    action = {};
    thread.signals.blocked &= ~bit;
  }
  if (action.handler == action_default) process.has_defaults.store(true, Order::relaxed);
  (void)add_for(process, thread, info);
}

Result<SignalAction> set_action(Process& process, int signal, const SignalAction* action) {
  if (signal < 1 || signal > signal_count) return Errno::einval;
  if (action != nullptr && (signal == sigkill || signal == sigstop)) return Errno::einval;
  LockGuard guard{process.lock()};
  const SignalAction old = process.actions[signal];
  if (action == nullptr) return old;
  process.actions[signal] = *action;
  process.actions[signal].flags &= known_flags;
  process.actions[signal].mask &= ~never_blocked;
  if (ignores(*action, signal)) drop_everywhere(process, signal_bit(signal));
  return old;
}

ChildWishes wishes_about_children(Process& process) {
  LockGuard guard{process.lock()};
  const SignalAction& action = process.actions[sigchld];
  const bool ignored = action.handler == action_ignore;
  return {.zombie = !ignored && (action.flags & flag_no_child_wait) == 0, .signal = !ignored};
}

bool take(Thread& thread, SignalSet set, SignalInfo& info) {
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  if (!process.take_signal(thread, set, info)) return false;
  if (Tracee* tracee = thread.tracee.load(Order::relaxed); tracee != nullptr) [[unlikely]]
    tracee->passed &= ~signal_bit(info.number);
  return true;
}

void pass_on(Thread& thread, const SignalInfo& info) {
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  thread.tracee.load(Order::relaxed)->passed |= signal_bit(info.number);
  if (!add_for(process, thread, info)) (void)add_for(process, thread, {.number = info.number});  // needs no room
}

void raise_trap(Thread& thread) {
  thread.signals.pending.fetch_or(trap_bit, Order::release);
  thread.request(Request::look_at_signals);
}

void withdraw_trap(Thread& thread) {
  thread.signals.pending.fetch_and(~trap_bit, Order::relaxed);
}

bool trap_raised(const Thread& thread) {
  return (thread.signals.pending.load(Order::acquire) & trap_bit) != 0;
}

void begin_stopped(Thread& thread) {
  LockGuard guard{thread.process().lock()};
  thread.signals.pending.fetch_or(signal_bit(sigstop), Order::release);
  thread.request(Request::look_at_signals);
}

bool take_or_await(Thread& thread, SignalSet set, SignalInfo& info) {
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  const bool taken = process.take_signal(thread, set, info);
  thread.signals.awaited = taken ? 0 : set;
  return taken;
}

void stop_awaiting(Thread& thread) {
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  const SignalSet set = thread.signals.awaited;
  thread.signals.awaited = 0;
  retarget(process, set & process.pending.load(Order::relaxed));
}

}  // namespace corral::signals

namespace corral {

bool Process::take_signal(Thread& thread, SignalSet set, SignalInfo& info) {
  int number = signals::first_of(thread.signals.pending.load(Order::relaxed) & set);
  if (number != 0) {
    info = signals::take_number(thread.signals.pending, thread.signals.waiting, number);
  } else {
    number = signals::first_of(pending.load(Order::relaxed) & set);
    if (number == 0) return false;
    info = signals::take_number(pending, waiting, number);
  }
  if ((signals::stop_signals & signal_bit(number)) != 0) stop_taken_ = true;
  return true;
}

}  // namespace corral

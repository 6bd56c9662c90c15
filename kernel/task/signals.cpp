// Sending signals and what the process does with them. Delivery is in signal_delivery.cpp.
// Locks: a process's lock; the caller holds none of rank process or above.
#include "task/signals.h"

#include <new>

#include "task/process.h"
#include "task/process_table.h"

namespace corral::signals {

namespace {

constexpr u64 action_default = 0;
constexpr u64 action_ignore = 1;
constexpr u64 flag_no_child_wait = 2;  // SA_NOCLDWAIT
constexpr u64 flag_no_child_stop = 1;  // SA_NOCLDSTOP

constexpr SignalSet stop_signals = signal_bit(sigstop) | signal_bit(sigtstp) | signal_bit(sigttin) | signal_bit(sigttou);
constexpr SignalSet ignored_by_default = signal_bit(sigchld) | signal_bit(sigurg) | signal_bit(sigwinch) | signal_bit(sigcont);

bool ignores(const SignalAction& action, int signal) {
  return action.handler == action_ignore ||
         (action.handler == action_default && (ignored_by_default & signal_bit(signal)) != 0);
}

void drop_pending(Atomic<SignalSet>& pending, PendingSignals& waiting, SignalSet set) {
  pending.fetch_and(~set, Order::relaxed);
  waiting.for_each([&](PendingSignal& signal) {
    if ((signal_bit(signal.info.number) & set) == 0) return;
    PendingSignals::remove(signal);
    delete &signal;
  });
}

// Adds it; a standard signal that is pending already is not added twice.
void add_pending(Atomic<SignalSet>& pending, PendingSignals& waiting, const SignalInfo& info) {
  constexpr int first_real_time = 32;
  const SignalSet bit = signal_bit(info.number);
  if (info.number < first_real_time && (pending.load(Order::relaxed) & bit) != 0) return;
  if (auto* signal = new (std::nothrow) PendingSignal{info, {}}) waiting.push_back(*signal);
  pending.fetch_or(bit, Order::release);
}

// Takes the oldest one of this number out.
SignalInfo take_number(Atomic<SignalSet>& pending, PendingSignals& waiting, int number) {
  SignalInfo info{};
  info.number = number;
  bool found = false;
  bool more = false;
  waiting.for_each([&](PendingSignal& signal) {
    if (signal.info.number != number) return;
    if (found) {
      more = true;
      return;
    }
    found = true;
    info = signal.info;
    PendingSignals::remove(signal);
    delete &signal;
  });
  if (!more) pending.fetch_and(~signal_bit(number), Order::relaxed);
  return info;
}

// A thread that would take the signal at once: not blocking it; null when all block it.
Thread* taker(Process& process, int signal) REQUIRES(process.lock()) {
  Thread* found = nullptr;
  process.for_each_thread_locked([&](Thread& thread) {
    if (found == nullptr && (thread.signals.blocked & signal_bit(signal)) == 0) found = &thread;
  });
  return found;
}

// The parts that happen at sending whatever the receiver does. True: nothing more is to be done.
bool act_at_once(Process& process, const SignalInfo& info) {
  if (info.number == sigkill) {
    process.end(sigkill);
    return true;
  }
  if (info.number == sigcont) {
    {
      LockGuard guard{process.lock()};
      drop_pending(process.pending, process.waiting, stop_signals);
      process.for_each_thread_locked(
          [](Thread& thread) { drop_pending(thread.signals.pending, thread.signals.waiting, stop_signals); });
    }
    process.go_on();
  } else if ((stop_signals & signal_bit(info.number)) != 0) {
    LockGuard guard{process.lock()};
    drop_pending(process.pending, process.waiting, signal_bit(sigcont));
  }
  return false;
}

}  // namespace

Result<void> send(Thread& thread, const SignalInfo& info) {
  if (info.number < 1 || info.number > signal_count) return Errno::einval;
  Process& process = thread.process();
  if (act_at_once(process, info)) return {};
  LockGuard guard{process.lock()};
  if (ignores(process.actions[info.number], info.number) && (thread.signals.blocked & signal_bit(info.number)) == 0) {
    return {};
  }
  add_pending(thread.signals.pending, thread.signals.waiting, info);
  thread.request(Request::look_at_signals);
  return {};
}

Result<void> send(Process& process, const SignalInfo& info) {
  if (info.number < 1 || info.number > signal_count) return Errno::einval;
  if (act_at_once(process, info)) return {};
  LockGuard guard{process.lock()};
  Thread* thread = taker(process, info.number);
  const SignalAction& action = process.actions[info.number];
  if (info.number == sigchld && (info.code == 5 || info.code == 6) && (action.flags & flag_no_child_stop) != 0) return {};
  if (ignores(action, info.number) && thread != nullptr) return {};
  // The first process has no default actions: it cannot be ended by a signal that it does not handle.
  if (process.id().value == 1 && action.handler == action_default) return {};
  add_pending(process.pending, process.waiting, info);
  if (thread != nullptr) thread->request(Request::look_at_signals);
  return {};
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

bool deliverable(const Thread& thread) {
  if (thread.end_wanted || thread.process().ending()) return true;
  const SignalSet pending = thread.signals.pending.load(Order::acquire) | thread.process().pending.load(Order::acquire);
  return (pending & ~thread.signals.blocked) != 0;
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
  add_pending(thread.signals.pending, thread.signals.waiting, info);
}

Result<SignalAction> set_action(Process& process, int signal, const SignalAction* action) {
  if (signal < 1 || signal > signal_count) return Errno::einval;
  if (action != nullptr && (signal == sigkill || signal == sigstop)) return Errno::einval;
  LockGuard guard{process.lock()};
  const SignalAction old = process.actions[signal];
  if (action == nullptr) return old;
  process.actions[signal] = *action;
  process.actions[signal].mask &= ~(signal_bit(sigkill) | signal_bit(sigstop));
  if (ignores(*action, signal)) {
    drop_pending(process.pending, process.waiting, signal_bit(signal));
    process.for_each_thread_locked(
        [&](Thread& thread) { drop_pending(thread.signals.pending, thread.signals.waiting, signal_bit(signal)); });
  }
  return old;
}

bool child_status_unwanted(Process& process) {
  LockGuard guard{process.lock()};
  const SignalAction& action = process.actions[sigchld];
  return action.handler == action_ignore || (action.flags & flag_no_child_wait) != 0;
}

bool take(Thread& thread, SignalSet set, SignalInfo& info) {
  Process& process = thread.process();
  LockGuard guard{process.lock()};
  if (const SignalSet own = thread.signals.pending.load(Order::relaxed) & set; own != 0) {
    info = take_number(thread.signals.pending, thread.signals.waiting, __builtin_ctzll(own) + 1);
    return true;
  }
  if (const SignalSet all = process.pending.load(Order::relaxed) & set; all != 0) {
    info = take_number(process.pending, process.waiting, __builtin_ctzll(all) + 1);
    return true;
  }
  return false;
}

}  // namespace corral::signals

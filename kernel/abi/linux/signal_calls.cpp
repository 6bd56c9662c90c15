// Signals: actions, masks, the alternate stack, waiting. Source: Linux signal(7) and the calls' pages. Sending: send_calls.cpp;
// returning from a handler: signal_return.cpp.
#include "abi/linux/call.h"
#include "abi/linux/time_values.h"
#include "device/clock.h"

namespace corral::abi {

namespace {

constexpr u64 set_size = sizeof(SignalSet);

struct UserAction {  // struct kernel_sigaction
  u64 handler, flags, restorer, mask;
};

Result<i64> sys_rt_sigaction(Call& call) {
  if (call.argument[3] != set_size) return Errno::einval;
  SignalAction action;
  const bool set = call.argument[1] != 0;
  if (set) {
    const UserAction user = TRY(call.read<UserAction>(call.address(1)));
    action = {user.handler, user.flags, user.restorer, user.mask};
  }
  if (call.argument[2] != 0) {
    TRY(vm::prepare(call.space, call.thread.caller, call.address(2), sizeof(UserAction), vm::Access::write));
  }
  const SignalAction old = TRY(signals::set_action(call.process, call.number(0), set ? &action : nullptr));
  if (call.argument[2] != 0) TRY(call.write(call.address(2), UserAction{old.handler, old.flags, old.restorer, old.mask}));
  return 0;
}

Result<i64> sys_rt_sigprocmask(Call& call) {
  if (call.argument[3] != set_size) return Errno::einval;
  const SignalSet old = call.thread.signals.blocked;
  SignalSet wanted = old;
  if (call.argument[1] != 0) {
    const SignalSet set = TRY(call.read<SignalSet>(call.address(1)));
    switch (call.number(0)) {
      case 0: wanted = old | set; break;
      case 1: wanted = old & ~set; break;
      case 2: wanted = set; break;
      default: return Errno::einval;
    }
  }
  if (call.argument[2] != 0) TRY(call.write(call.address(2), old));
  if (wanted != old) signals::set_blocked(call.thread, wanted);
  return 0;
}

Result<i64> sys_rt_sigpending(Call& call) {
  if (call.argument[1] > set_size) return Errno::einval;
  const SignalSet pending = (call.thread.signals.pending.load(Order::acquire) | call.process.pending.load(Order::acquire)) &
                            call.thread.signals.blocked;
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(0), &pending, call.argument[1]));
  return 0;
}

Result<i64> sys_rt_sigsuspend(Call& call) {
  if (call.argument[1] != set_size) return Errno::einval;
  if (call.thread.step.phase == 0) {
    signals::set_blocked_for_call(call.thread, TRY(call.read<SignalSet>(call.address(0))));
    call.thread.step.phase = 1;
  }
  const Errno result = call.thread.sleep_until(never);
  return result == Errno::blocked ? result : Errno::restart_without_handler;
}

Result<i64> sys_pause(Call& call) {
  const Errno result = call.thread.sleep_until(never);
  return result == Errno::blocked ? result : Errno::restart_without_handler;
}

// What sigtimedwait takes or waits for; word 0: the deadline.
Result<SignalInfo> await_signal(Thread& thread, SignalSet set, Instant deadline) {
  SignalInfo info;
  const bool may_wait = thread.wake_reason() == WakeReason::none && deadline > clock::now();
  for (bool again = may_wait;; again = false) {
    if (again ? signals::take_or_await(thread, set, info) : signals::take(thread, set, info)) break;
    const Errno result = again ? thread.sleep_until(deadline) : Errno{};
    if (result == Errno::blocked) return Errno::blocked;
    if (again) continue;  // a signal came since: one of the set, or another
    return may_wait || thread.wake_reason() == WakeReason::interrupted ? Errno::eintr : Errno::eagain;
  }
  return info;
}

Result<i64> wait_for_signal(Call& call) {
  if (call.argument[3] != set_size) return Errno::einval;
  Thread& thread = call.thread;
  const SignalSet set = TRY(call.read<SignalSet>(call.address(0))) & ~signals::never_blocked;
  if (call.argument[1] != 0) {
    TRY(vm::prepare(call.space, thread.caller, call.address(1), sizeof(UserSignalInfo), vm::Access::write));
  }
  if (thread.step.phase == 0) {
    thread.step.word[0] = static_cast<u64>(never.ns);
    if (call.argument[2] != 0) {
      const TimeSpec spec = TRY(call.read<TimeSpec>(call.address(2)));
      const Duration wait = TRY(duration_of(spec));
      thread.step.word[0] = static_cast<u64>(deadline_after(clock::now(), wait).ns);
    }
    thread.step.phase = 1;
  }
  const SignalInfo info = TRY(await_signal(thread, set, Instant{static_cast<i64>(thread.step.word[0])}));
  if (call.argument[1] != 0) TRY(call.write(call.address(1), for_user(info)));
  return info.number;
}

Result<i64> sys_rt_sigtimedwait(Call& call) {
  Result<i64> result = wait_for_signal(call);
  const bool goes_on = !result && result.error() == Errno::blocked;
  if (!goes_on && call.thread.signals.awaited != 0) signals::stop_awaiting(call.thread);
  return result;
}

Result<i64> sys_sigaltstack(Call& call) {
  AlternateStack& stack = call.thread.signals.alternate_stack;
  const VirtualAddress sp = call.thread.frame.stack_pointer();
  UserStack wanted{};
  if (call.argument[0] != 0) wanted = TRY(call.read<UserStack>(call.address(0)));
  if (call.argument[1] != 0) {
    TRY(vm::prepare(call.space, call.thread.caller, call.address(1), sizeof(UserStack), vm::Access::write));
  }
  const UserStack old = stack.state(sp);
  if (call.argument[0] != 0) TRY(stack.set(wanted, sp));
  if (call.argument[1] != 0) TRY(call.write(call.address(1), old));
  return 0;
}

constexpr Entry entries[] = {
    {13, "rt_sigaction", sys_rt_sigaction},
    {14, "rt_sigprocmask", sys_rt_sigprocmask},
    {34, "pause", sys_pause},
    {127, "rt_sigpending", sys_rt_sigpending},
    {128, "rt_sigtimedwait", sys_rt_sigtimedwait},
    {130, "rt_sigsuspend", sys_rt_sigsuspend},
    {131, "sigaltstack", sys_sigaltstack},
};

}  // namespace

std::span<const Entry> signal_calls() {
  return entries;
}

}  // namespace corral::abi

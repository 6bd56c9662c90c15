// Signals: actions, masks, sending, waiting, returning from a handler. Source: Linux signal(7) and the calls' pages.
#include "abi/linux/call.h"
#include "abi/linux/time_values.h"
#include "arch/signal_frame.h"
#include "core/core.h"
#include "device/clock.h"
#include "task/executive.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

constexpr u64 set_size = sizeof(SignalSet);
constexpr SignalSet never_blocked = signal_bit(sigkill) | signal_bit(sigstop);
constexpr i32 code_user = 0, code_tkill = -6;

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
  SignalSet& blocked = call.thread.signals.blocked;
  const SignalSet old = blocked;
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
  blocked = wanted & ~never_blocked;
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
  ThreadSignals& s = call.thread.signals;
  if (call.thread.step.phase == 0) {
    const SignalSet set = TRY(call.read<SignalSet>(call.address(0)));
    s.saved_blocked = s.blocked;
    s.restore_blocked = true;
    s.blocked = set & ~never_blocked;
    call.thread.step.phase = 1;
  }
  const Errno result = call.thread.sleep_until(never);
  return result == Errno::blocked ? result : Errno::restart_without_handler;
}

Result<i64> sys_pause(Call& call) {
  const Errno result = call.thread.sleep_until(never);
  return result == Errno::blocked ? result : Errno::restart_without_handler;
}

Result<i64> sys_rt_sigtimedwait(Call& call) {
  struct Information {
    i32 number, error, code, padding;
    u64 fields[14];
  };
  if (call.argument[3] != set_size) return Errno::einval;
  Thread& thread = call.thread;
  const SignalSet set = TRY(call.read<SignalSet>(call.address(0))) & ~never_blocked;
  if (call.argument[1] != 0) {
    TRY(vm::prepare(call.space, thread.caller, call.address(1), sizeof(Information), vm::Access::write));
  }
  if (thread.step.phase == 0) {
    thread.step.word[0] = static_cast<u64>(never.ns);
    if (call.argument[2] != 0) {
      const TimeSpec spec = TRY(call.read<TimeSpec>(call.address(2)));
      const Duration wait = TRY(duration_of(spec));
      thread.step.word[0] = static_cast<u64>(deadline_after(clock::now(), wait).ns);
    }
    thread.step.word[1] = thread.signals.blocked;
    thread.step.phase = 1;
  }
  // While it waits the signals of the set are open, so that their arrival ends the wait; they are taken here, not delivered.
  thread.signals.blocked = thread.step.word[1];
  SignalInfo info;
  if (signals::take(thread, set, info)) {
    if (call.argument[1] != 0) {
      Information out{};
      out.number = info.number;
      out.code = info.code;
      out.fields[0] = static_cast<u32>(info.sender) | (u64{info.sender_user} << 32);
      out.fields[1] = info.value;
      TRY(call.write(call.address(1), out));
    }
    return info.number;
  }
  if (thread.interrupted()) return Errno::eintr;
  const Instant deadline{static_cast<i64>(thread.step.word[0])};
  if (deadline <= clock::now()) return Errno::eagain;
  thread.signals.blocked &= ~set;
  const Errno result = thread.sleep_until(deadline);
  if (result != Errno::blocked) thread.signals.blocked = thread.step.word[1];
  return result == Errno::blocked ? result : Errno::eintr;
}

Result<i64> sys_sigaltstack(Call& call) {
  struct Stack {
    u64 base;
    i32 flags;
    u32 padding;
    u64 size;
  };
  constexpr i32 on_stack = 1, disabled = 2;
  constexpr u64 smallest = 2048;
  ThreadSignals& s = call.thread.signals;
  const u64 sp = call.thread.frame.stack_pointer().value;
  const bool on_it = s.alternate_stack_size != 0 && sp - s.alternate_stack.value < s.alternate_stack_size;
  const Stack old{s.alternate_stack.value,
                  s.alternate_stack_size == 0 ? disabled
                  : on_it                     ? on_stack
                                              : 0,
                  0, s.alternate_stack_size};
  Stack wanted{};
  if (call.argument[0] != 0) {
    wanted = TRY(call.read<Stack>(call.address(0)));
    if (on_it) return Errno::eperm;
    if ((wanted.flags & ~(disabled | on_stack)) != 0) return Errno::einval;
    if ((wanted.flags & disabled) == 0 && wanted.size < smallest) return Errno::enomem;
  }
  if (call.argument[1] != 0) TRY(call.write(call.address(1), old));
  if (call.argument[0] != 0) {
    const bool off = (wanted.flags & disabled) != 0;
    s.alternate_stack = {off ? 0 : wanted.base};
    s.alternate_stack_size = off ? 0 : wanted.size;
  }
  return 0;
}

Result<i64> sys_rt_sigreturn(Call& call) {
  Thread& thread = call.thread;
  const arch::SignalFrame frame = TRY(call.read<arch::SignalFrame>(arch::signal_frame_at(thread.frame)));
  const auto& context = frame.user_context;
  if (context.context.floating_point != 0) {
    const size_t size = arch::FpState::image_size();
    const VirtualAddress image_at{context.context.floating_point};
    Result<void> in = vm::prepare(call.space, thread.caller, image_at, size, vm::Access::read);
    if (!in && in.error() == Errno::blocked) return Errno::blocked;
    if (in) {
      Executive& executive = *this_core().executive;
      executive.save_floating_point(thread);
      (void)vm::copy_in(call.space, thread.caller, thread.fp.image(), image_at, size);
      in = Result<void>{thread.fp.accept_image()};
      executive.reload_floating_point(thread);
    }
    if (!in) {
      signals::force(thread, {sigsegv, 0x80, 0, 0, 0});
      return 0;
    }
  }
  if (!arch::restore_from_context(thread.frame, context.context)) {
    signals::force(thread, {sigsegv, 0x80, 0, 0, 0});
    return 0;
  }
  thread.signals.blocked = context.blocked & ~never_blocked;
  return static_cast<i64>(thread.frame.rax);
}

SignalInfo from_caller(const Call& call, int signal, i32 code) {
  return {signal, code, call.process.id().value, 0, 0};
}

Result<i64> sys_kill(Call& call) {
  const i32 target = call.number(0);
  const int signal = call.number(1);
  if (signal < 0 || signal > signal_count) return Errno::einval;
  const SignalInfo info = from_caller(call, signal, code_user);
  if (target > 0) {
    const Ref<Process> process = processes::find({target});
    if (!process) return Errno::esrch;
    if (signal != 0) TRY(signals::send(*process, info));
    return 0;
  }
  const i32 group = target == 0 ? call.process.group.load(Order::relaxed) : -target;
  bool any = false;
  processes::for_each([&](Process& process) {
    const bool meant =
        target == -1 ? process.id().value != 1 && &process != &call.process : process.group.load(Order::relaxed) == group;
    if (meant) {
      any = true;
      if (signal != 0) (void)signals::send(process, info);
    }
    return true;
  });
  return any ? Result<i64>{0} : Result<i64>{Errno::esrch};
}

Result<i64> send_to_thread(i32 group, i32 id, int signal, const SignalInfo& info) {
  if (id <= 0 || group == 0) return Errno::einval;
  if (signal < 0 || signal > signal_count) return Errno::einval;
  const Ref<Thread> thread = processes::find_thread({id});
  if (!thread || (group > 0 && thread->process().id().value != group)) return Errno::esrch;
  if (signal != 0) TRY(signals::send(*thread, info));
  return 0;
}

Result<i64> sys_tkill(Call& call) {
  return send_to_thread(-1, call.number(0), call.number(1), from_caller(call, call.number(1), code_tkill));
}

Result<i64> sys_tgkill(Call& call) {
  if (call.number(0) <= 0) return Errno::einval;
  return send_to_thread(call.number(0), call.number(1), call.number(2), from_caller(call, call.number(2), code_tkill));
}

struct QueuedInformation {
  i32 number, error, code, padding;
  i32 process;
  u32 user;
  u64 value;
};

Result<SignalInfo> queued(Call& call, VirtualAddress at, int signal, bool to_other) {
  const QueuedInformation q = TRY(call.read<QueuedInformation>(at));
  if (to_other && (q.code >= 0 || q.code == code_tkill)) return Errno::eperm;
  return SignalInfo{signal, q.code, q.process, q.user, q.value};
}

Result<i64> sys_rt_sigqueueinfo(Call& call) {
  const Ref<Process> process = processes::find({call.number(0)});
  if (!process) return Errno::esrch;
  const SignalInfo info = TRY(queued(call, call.address(2), call.number(1), process.get() != &call.process));
  if (call.number(1) == 0) return 0;
  TRY(signals::send(*process, info));
  return 0;
}

Result<i64> sys_rt_tgsigqueueinfo(Call& call) {
  if (call.number(0) <= 0) return Errno::einval;
  const SignalInfo info = TRY(queued(call, call.address(3), call.number(2), call.number(0) != call.process.id().value));
  return send_to_thread(call.number(0), call.number(1), call.number(2), info);
}

constexpr Entry entries[] = {
    {13, "rt_sigaction", sys_rt_sigaction},
    {14, "rt_sigprocmask", sys_rt_sigprocmask},
    {15, "rt_sigreturn", sys_rt_sigreturn},
    {34, "pause", sys_pause},
    {62, "kill", sys_kill},
    {127, "rt_sigpending", sys_rt_sigpending},
    {128, "rt_sigtimedwait", sys_rt_sigtimedwait},
    {129, "rt_sigqueueinfo", sys_rt_sigqueueinfo},
    {130, "rt_sigsuspend", sys_rt_sigsuspend},
    {131, "sigaltstack", sys_sigaltstack},
    {200, "tkill", sys_tkill},
    {234, "tgkill", sys_tgkill},
    {297, "rt_tgsigqueueinfo", sys_rt_tgsigqueueinfo},
};

}  // namespace

std::span<const Entry> signal_calls() {
  return entries;
}

}  // namespace corral::abi

// Taking signals on the way back to user mode: default actions, or a frame on the user's stack and a call of the handler.
// Thread context, part of a step: everything that may wait comes before anything is changed.
#include "arch/signal_frame.h"
#include "core/core.h"
#include "task/executive.h"
#include "task/process.h"
#include "task/signals.h"
#include "trace/log.h"

namespace corral::signals {

namespace {

constexpr u64 flag_on_stack = 0x0800'0000;    // SA_ONSTACK
constexpr u64 flag_restart = 0x1000'0000;     // SA_RESTART
constexpr u64 flag_no_defer = 0x4000'0000;    // SA_NODEFER
constexpr u64 flag_reset_hand = 0x8000'0000;  // SA_RESETHAND
constexpr i32 stack_disabled = 2;             // SS_DISABLE
constexpr u64 context_flags = 0x1 | 0x2 | 0x4;  // UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS

constexpr SignalSet ends_with_core_dump = signal_bit(sigquit) | signal_bit(sigill) | signal_bit(sigtrap) | signal_bit(sigabrt) |
                                          signal_bit(sigbus) | signal_bit(sigfpe) | signal_bit(sigsegv) | signal_bit(sigxcpu) |
                                          signal_bit(sigxfsz) | signal_bit(sigsys);
constexpr SignalSet caused_by_the_thread = signal_bit(sigill) | signal_bit(sigtrap) | signal_bit(sigbus) | signal_bit(sigfpe) |
                                           signal_bit(sigsegv) | signal_bit(sigsys);

// The signal that is to be taken first: those that the thread caused itself, then by number; 0: none.
int next_signal(const Thread& thread) {
  const SignalSet open = ~thread.signals.blocked;
  const SignalSet own = thread.signals.pending.load(Order::acquire) & open;
  if ((own & caused_by_the_thread) != 0) return __builtin_ctzll(own & caused_by_the_thread) + 1;
  const SignalSet all = own | (thread.process().pending.load(Order::acquire) & open);
  return all == 0 ? 0 : __builtin_ctzll(all) + 1;
}

void interrupt_call(Thread& thread, bool handler_runs, u64 handler_flags) {
  const Errno code = thread.call_interruption;
  thread.call_interruption = Errno{};
  if (code == Errno{}) return;
  const bool again = !handler_runs || (code == Errno::restart && (handler_flags & flag_restart) != 0);
  if (again) {
    thread.frame.rewind_system_call();
  } else {
    thread.frame.set_result(-static_cast<i64>(Errno::eintr));
  }
}

void put_back_mask(Thread& thread) {
  if (!thread.signals.restore_blocked) return;
  thread.signals.blocked = thread.signals.saved_blocked;
  thread.signals.restore_blocked = false;
}

VirtualAddress stack_top_for(const Thread& thread, u64 flags) {
  const VirtualAddress sp = thread.frame.stack_pointer();
  const ThreadSignals& s = thread.signals;
  const bool on_it = s.alternate_stack_size != 0 && sp.value - s.alternate_stack.value < s.alternate_stack_size;
  if ((flags & flag_on_stack) != 0 && s.alternate_stack_size != 0 && !on_it) {
    return s.alternate_stack + s.alternate_stack_size;
  }
  return {sp.value - arch::red_zone};
}

// Builds the frame and calls the handler. blocked: nothing changed, run again. Other errors: the stack cannot take it.
Result<void> run_handler(Thread& thread, int signal, const SignalAction& action) {
  const size_t image_size = arch::FpState::image_size();
  const VirtualAddress top = stack_top_for(thread, action.flags);
  if (top.value < image_size + sizeof(arch::SignalFrame) + page_size) return Errno::efault;
  const arch::SignalFramePlace place = arch::place_signal_frame(top, image_size);
  TRY(vm::prepare(*thread.space, thread.caller, place.frame, top.value - place.frame.value, vm::Access::write));

  SignalInfo info;
  if (!take(thread, signal_bit(signal), info)) return {};  // another thread of the process was first
  interrupt_call(thread, true, action.flags);

  Executive& executive = *this_core().executive;
  executive.save_floating_point(thread);
  TRY(vm::copy_out(*thread.space, thread.caller, place.floating_point, thread.fp.image(), image_size));
  thread.fp.reset();  // the handler starts with a clean state
  executive.reload_floating_point(thread);

  arch::SignalFrame frame{};
  frame.return_address = action.restorer;
  auto& context = frame.user_context;
  context.flags = context_flags;
  context.stack_base = thread.signals.alternate_stack.value;
  context.stack_size = thread.signals.alternate_stack_size;
  context.stack_flags = thread.signals.alternate_stack_size == 0 ? stack_disabled : 0;
  context.blocked = thread.signals.restore_blocked ? thread.signals.saved_blocked : thread.signals.blocked;
  arch::save_to_context(thread.frame, context.context);
  context.context.floating_point = place.floating_point.value;
  context.context.old_mask = context.blocked;
  context.context.cr2 = thread.fault.address.value;
  frame.information.number = signal;
  frame.information.code = info.code;
  if ((caused_by_the_thread & signal_bit(signal)) != 0 && info.code > 0) {
    frame.information.fields[0] = info.value;  // si_addr
  } else {
    frame.information.fields[0] = static_cast<u32>(info.sender) | (static_cast<u64>(info.sender_user) << 32);
    frame.information.fields[1] = info.value;  // si_status or si_value
  }
  TRY(vm::copy_out(*thread.space, thread.caller, place.frame, &frame, sizeof frame));

  arch::call_handler(thread.frame, {action.handler}, place.frame, signal);
  thread.signals.restore_blocked = false;
  thread.signals.blocked |= action.mask;
  if ((action.flags & flag_no_defer) == 0) thread.signals.blocked |= signal_bit(signal);
  if ((action.flags & flag_reset_hand) != 0) {
    const SignalAction none{};
    (void)set_action(thread.process(), signal, &none);
  }
  return {};
}

void end_by(Thread& thread, int signal) {
  const bool dumps = (ends_with_core_dump & signal_bit(signal)) != 0;
  if (dumps) {
    log::info("{}[{}]: ended by signal {} at {x}, address {x}", static_cast<const char*>(thread.name), thread.id(), signal,
              thread.frame.program_counter(), thread.fault.address);
  }
  thread.process().end(signal);
}

}  // namespace

Errno deliver_pending(Thread& thread) {
  Process& process = thread.process();
  for (;;) {
    if (process.ending() || thread.end_wanted) return Errno{};
    const int signal = next_signal(thread);
    if (signal == 0) {
      put_back_mask(thread);
      interrupt_call(thread, false, 0);
      return Errno{};
    }
    SignalAction action;
    {
      LockGuard guard{process.lock()};
      action = process.actions[signal];
    }
    if (action.handler > 1) {
      const Result<void> result = run_handler(thread, signal, action);
      if (!result && result.error() == Errno::blocked) return Errno::blocked;
      if (!result) end_by(thread, sigsegv);
      continue;
    }
    SignalInfo info;
    if (!take(thread, signal_bit(signal), info)) continue;
    if (action.handler == 1) continue;
    switch (signal) {
      case sigchld:
      case sigurg:
      case sigwinch:
      case sigcont: break;
      case sigstop:
      case sigtstp:
      case sigttin:
      case sigttou:
        interrupt_call(thread, false, 0);
        put_back_mask(thread);
        process.stop(signal);
        return Errno{};
      default: end_by(thread, signal); return Errno{};
    }
  }
}

}  // namespace corral::signals

// Taking signals on the way back to user mode: default actions, or a frame on the user's stack and a call of the handler.
// Thread context, part of a step: everything that may wait comes before anything is changed.
#include "arch/signal_frame.h"
#include "core/core.h"
#include "lib/memory_functions.h"
#include "task/executive.h"
#include "task/process.h"
#include "task/process_group.h"
#include "task/signal_queue.h"
#include "task/tracees.h"
#include "trace/log.h"
#include "vm/user_window.h"

namespace corral::signals {

namespace {

constexpr u64 flag_restorer = 0x0400'0000;    // SA_RESTORER
constexpr u64 flag_on_stack = 0x0800'0000;    // SA_ONSTACK
constexpr u64 flag_restart = 0x1000'0000;     // SA_RESTART
constexpr u64 flag_no_defer = 0x4000'0000;    // SA_NODEFER
constexpr u64 flag_reset_hand = 0x8000'0000;  // SA_RESETHAND
constexpr u64 context_flags = 0x2 | 0x4;       // UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS
constexpr u64 context_with_extended_state = 1;  // UC_FP_XSTATE

constexpr SignalSet ends_with_core_dump = signal_bit(sigquit) | signal_bit(sigill) | signal_bit(sigtrap) | signal_bit(sigabrt) |
                                          signal_bit(sigbus) | signal_bit(sigfpe) | signal_bit(sigsegv) | signal_bit(sigxcpu) |
                                          signal_bit(sigxfsz) | signal_bit(sigsys);

// The signal that is to be taken first: the thread's own, then the process's; 0: none.
int next_signal(const Thread& thread) {
  const SignalSet open = ~(thread.signals.blocked | trap_bit);
  const int own = first_of(thread.signals.pending.load(Order::acquire) & open);
  return own != 0 ? own : first_of(thread.process().pending.load(Order::acquire) & open);
}

void interrupt_call(Thread& thread, bool handler_runs, u64 handler_flags) {
  const Errno code = thread.call_interruption;
  thread.call_interruption = Errno{};
  if (code == Errno{}) return;
  const bool again =
      !handler_runs || code == Errno::restart_always || (code == Errno::restart && (handler_flags & flag_restart) != 0);
  if (!again) {
    thread.frame.set_result(-static_cast<i64>(Errno::eintr));
  } else if (code == Errno::restart_from_step) {
    thread.frame.rewind_to_restart_call();
  } else {
    thread.frame.rewind_system_call();
  }
}

void put_back_mask(Thread& thread) {
  if (!thread.signals.restore_blocked) return;
  thread.signals.restore_blocked = false;
  set_blocked(thread, thread.signals.saved_blocked);
}

// Where the frame's end goes; null: it would not fit on the alternate stack.
VirtualAddress stack_top_for(const Thread& thread, u64 flags, size_t needed) {
  const VirtualAddress sp{thread.frame.stack_pointer().value - arch::red_zone};
  const AlternateStack& other = thread.signals.alternate_stack;
  const bool nested = other.in_use(sp);
  const bool enters = (flags & flag_on_stack) != 0 && other.exists() && !nested;
  const VirtualAddress top = enters ? other.top() : sp;
  if ((nested || enters) && !other.contains({top.value - needed})) return {};
  return top;
}

// Builds the frame and calls the handler. blocked: nothing changed, run again. Other errors: the stack cannot take it.
Result<void> run_handler(Thread& thread, int signal, const SignalAction& action) {
  if ((action.flags & flag_restorer) == 0) return Errno::efault;  // it could not return
  const size_t image_size = arch::FpState::image_size();
  const size_t with_mark = image_size + (arch::FpState::frames_are_marked() ? sizeof arch::FpState::end_mark : 0);
  const VirtualAddress top = stack_top_for(thread, action.flags, with_mark + sizeof(arch::SignalFrame));
  if (top.value < with_mark + sizeof(arch::SignalFrame) + page_size) return Errno::efault;
  const arch::SignalFramePlace place = arch::place_signal_frame(top, with_mark);
  vm::UserWindow stack;
  TRY(stack.open(*thread.space, thread.caller, place.frame, top.value - place.frame.value, vm::Access::write));

  SignalInfo info;
  if (!take(thread, signal_bit(signal), info)) return {};  // another thread of the process was first
  interrupt_call(thread, true, action.flags);

  Executive& executive = *this_core().executive;
  executive.save_floating_point(thread);
  stack.write(place.floating_point, thread.fp.frame_image(), image_size);
  if (arch::FpState::frames_are_marked()) {
    stack.write(place.floating_point + image_size, &arch::FpState::end_mark, sizeof arch::FpState::end_mark);
  }
  thread.fp.reset_for_handler();
  executive.reload_floating_point(thread);

  arch::SignalFrame frame{};
  frame.return_address = action.restorer;
  auto& context = frame.user_context;
  context.flags = context_flags | (arch::FpState::frames_are_marked() ? context_with_extended_state : 0);
  const UserStack other = thread.signals.alternate_stack.kept();
  context.stack = {other.base, other.flags, 0, other.size};
  context.blocked = thread.signals.restore_blocked ? thread.signals.saved_blocked : thread.signals.blocked;
  arch::save_to_context(thread.frame, context.context);
  context.context.floating_point = place.floating_point.value;
  context.context.old_mask = context.blocked;
  context.context.cr2 = thread.fault.address.value;
  const UserSignalInfo told = for_user(info);
  static_assert(sizeof told == sizeof frame.information);
  memcpy(frame.information, &told, sizeof told);
  stack.write(place.frame, &frame, sizeof frame);

  arch::call_handler(thread.frame, {action.handler}, place.frame, signal);
  thread.signals.alternate_stack.disarm();
  thread.signals.restore_blocked = false;
  const SignalSet own = (action.flags & flag_no_defer) == 0 ? signal_bit(signal) : 0;
  set_blocked(thread, thread.signals.blocked | action.mask | own);
  if ((action.flags & flag_reset_hand) != 0) {
    SignalAction once = action;
    once.handler = 0;
    (void)set_action(thread.process(), signal, &once);
  }
  return {};
}

// The handler cannot be called. The program may still have a handler of SIGSEGV on a stack that is good.
void fail_handler(Thread& thread, int signal, u64 flags) {
  SignalInfo info;
  (void)take(thread, signal_bit(signal), info);
  interrupt_call(thread, true, flags);
  if (signal == sigsegv) {
    const SignalAction none{};
    (void)set_action(thread.process(), sigsegv, &none);
  }
  force(thread, {.number = sigsegv, .code = code_kernel});
}

void end_by(Thread& thread, const SignalInfo& info) {
  if ((ends_with_core_dump & signal_bit(info.number)) == 0) return thread.process().end(info.number);
  log::info("{}[{}]: ended by signal {} at {x}, address {x}", static_cast<const char*>(thread.name), thread.id(), info.number,
            thread.frame.program_counter(), thread.fault.address);
  thread.process().end_with_dump(thread, info);
}

}  // namespace

Errno deliver_pending(Thread& thread) {
  Process& process = thread.process();
  for (;;) {
    if (process.ending() || thread.end_wanted) return Errno{};
    const bool traced = thread.tracee.load(Order::acquire) != nullptr;
    if (traced && tracees::holds(thread)) [[unlikely]]
      return thread.wait_for_resume();
    if (traced) tracees::come_in(thread);
    if (process.stopped()) return Errno{};  // what else is pending is taken when it goes on
    if (traced && tracees::traps(thread)) continue;
    const int signal = next_signal(thread);
    if (signal == 0) {
      put_back_mask(thread);
      interrupt_call(thread, false, 0);
      if (traced) tracees::set_out(thread);
      return Errno{};
    }
    if (traced && tracees::stops_for(thread, signal)) continue;
    SignalAction action;
    {
      LockGuard guard{process.lock()};
      action = process.actions[signal];
    }
    if (action.handler > 1) {
      const Result<void> result = run_handler(thread, signal, action);
      if (!result && result.error() == Errno::blocked) return Errno::blocked;
      if (!result) fail_handler(thread, signal, action.flags);
      continue;
    }
    SignalInfo info;
    if (!take(thread, signal_bit(signal), info)) continue;
    if (action.handler == 1) continue;
    if (!process.has_defaults.load(Order::relaxed) && signal != sigstop) continue;
    switch (signal) {
      case sigchld:
      case sigurg:
      case sigwinch:
      case sigcont: break;
      case sigtstp:
      case sigttin:
      case sigttou:
        // Nobody could continue what is stopped in an orphaned group.
        if (process_groups::is_orphaned(process.group.load(Order::relaxed))) break;
        process.stop(signal);
        break;
      case sigstop: process.stop(signal); break;
      default: end_by(thread, info); return Errno{};
    }
  }
}

}  // namespace corral::signals

// rt_sigreturn: a handler is over, and what it interrupted goes on. The frame is the program's and may hold anything: what cannot
// be loaded safely ends in SIGSEGV. restart_syscall: see table.cpp. Source: Linux sigreturn(2), restart_syscall(2).
#include "abi/linux/call.h"
#include "arch/signal_frame.h"
#include "core/core.h"
#include "task/executive.h"
#include "vm/user_window.h"

namespace corral::abi {

namespace {

using arch::FpState;

// The image at `at`, as much of it as its mark says; 0 bytes of mark: the plain form.
Result<size_t> size_of_image(Call& call, VirtualAddress at, FpState::Mark& mark) {
  mark = TRY(call.read<FpState::Mark>(at + FpState::mark_offset));
  const size_t size = FpState::marked_size(mark);
  if (size == 0) return FpState::plain_image_size;
  const u32 end = TRY(call.read<u32>(at + size));
  return end == FpState::end_mark ? size : FpState::plain_image_size;
}

Result<void> load_floating_point(Call& call, VirtualAddress at) {
  Thread& thread = call.thread;
  Executive& executive = *this_core().executive;
  if (at.value == 0) {
    thread.fp.reset();
    executive.reload_floating_point(thread);
    return {};
  }
  FpState::Mark mark{};
  const size_t size = TRY(size_of_image(call, at, mark));
  vm::UserWindow image;
  TRY(image.open(call.space, thread.caller, at, size, vm::Access::read));
  executive.save_floating_point(thread);
  image.read(thread.fp.room_for_image(size), at, size);
  const Result<void> loaded = thread.fp.accept_image(size == FpState::plain_image_size ? nullptr : &mark);
  executive.reload_floating_point(thread);
  return loaded;
}

// blocked: nothing was changed.
Result<void> go_back(Call& call) {
  Thread& thread = call.thread;
  arch::SignalFrame frame;
  constexpr size_t size = offsetof(arch::SignalFrame, information);  // what follows was for the handler
  TRY(vm::copy_in(call.space, thread.caller, &frame, arch::signal_frame_at(thread.frame), size));
  const auto& context = frame.user_context;
  TRY(load_floating_point(call, {context.context.floating_point}));
  signals::set_blocked(thread, context.blocked);
  TRY(arch::restore_from_context(thread.frame, context.context));
  thread.restart.number = 0;
  // As sigaltstack would, but nobody hears of an error.
  (void)thread.signals.alternate_stack.set({context.stack.base, context.stack.flags, 0, context.stack.size},
                                           thread.frame.stack_pointer());
  return {};
}

Result<i64> sys_rt_sigreturn(Call& call) {
  const Result<void> result = go_back(call);
  if (!result) {
    if (result.error() == Errno::blocked) return Errno::blocked;
    signals::force(call.thread, {.number = sigsegv, .code = code_kernel});
    return 0;
  }
  return static_cast<i64>(call.thread.frame.rax);
}

Result<i64> sys_restart_syscall(Call&) {
  return Errno::eintr;
}

constexpr Entry entries[] = {
    {15, "rt_sigreturn", sys_rt_sigreturn},
    {arch::TrapFrame::restart_call_number, "restart_syscall", sys_restart_syscall},
};

}  // namespace

std::span<const Entry> signal_return_calls() {
  return entries;
}

}  // namespace corral::abi

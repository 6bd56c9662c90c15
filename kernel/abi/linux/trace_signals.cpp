// See trace_signals.h.
#include "abi/linux/trace_signals.h"

#include "abi/linux/trace_registers.h"
#include "lib/memory_functions.h"
#include "task/tracees.h"

namespace corral::abi::trace {

namespace {

constexpr u64 mask_size = sizeof(SignalSet);

// The information of the pending signal that comes `index`-th; false: there are not so many.
bool find_pending(Process& process, PendingSignals& waiting, u64 index, SignalInfo& found) {
  LockGuard guard{process.lock()};
  u64 place = 0;
  waiting.for_each([&](PendingSignal& signal) {
    if (place++ == index) found = signal.info;
  });
  return place > index;
}

PendingSignals& waiting_for(Process& process) NO_THREAD_SAFETY_ANALYSIS {  // the caller looks at them with the lock held
  return process.waiting;
}

}  // namespace

Result<i64> get_signal(Call& call, ThreadId id) {
  bool any = false;
  SignalInfo info;
  TRY(tracees::with_stopped(call.process, id, [&](Thread&, Tracee& tracee) {
    any = tracee.has_info;
    info = tracee.info;
  }));
  if (!any) return Errno::einval;
  TRY(call.write(call.address(3), for_user(info)));
  return 0;
}

Result<i64> set_signal(Call& call, ThreadId id) {
  const SignalInfo info = from_user(TRY(call.read<UserSignalInfo>(call.address(3))));
  bool any = false;
  TRY(tracees::with_stopped(call.process, id, [&](Thread&, Tracee& tracee) {
    any = tracee.has_info;
    if (any) tracee.info = info;
  }));
  return any ? Result<i64>{i64{0}} : Errno::einval;
}

Result<i64> get_mask(Call& call, const Thread& thread) {
  if (call.argument[2] != mask_size) return Errno::einval;
  const ThreadSignals& own = thread.signals;
  TRY(call.write(call.address(3), own.restore_blocked ? own.saved_blocked : own.blocked));
  return 0;
}

Result<i64> set_mask(Call& call, Thread& thread) {
  if (call.argument[2] != mask_size) return Errno::einval;
  const SignalSet wanted = TRY(call.read<SignalSet>(call.address(3)));
  thread.signals.restore_blocked = false;
  signals::set_blocked(thread, wanted);
  return 0;
}

Result<i64> peek_signals(Call& call, Thread& thread) {
  struct Arguments {  // struct ptrace_peeksiginfo_args
    u64 first;
    u32 flags;
    i32 count;
  };
  constexpr u32 of_process = 1;  // PTRACE_PEEKSIGINFO_SHARED
  const Arguments wanted = TRY(call.read<Arguments>(call.address(2)));
  if ((wanted.flags & ~of_process) != 0 || wanted.count < 0) return Errno::einval;
  Process& process = thread.process();
  PendingSignals& waiting = (wanted.flags & of_process) != 0 ? waiting_for(process) : thread.signals.waiting;
  i64 told = 0;
  for (; told < wanted.count; ++told) {
    SignalInfo info;
    const u64 index = wanted.first + static_cast<u64>(told);
    if (index < wanted.first || !find_pending(process, waiting, index, info)) break;
    const auto at = call.address(3) + static_cast<u64>(told) * sizeof(UserSignalInfo);
    const Result<void> written = call.write(at, for_user(info));
    if (!written.ok() && (written.error() == Errno::blocked || told == 0)) return written.error();
    if (!written.ok()) break;
  }
  return told;
}

Result<i64> call_information(Call& call, const Thread& thread) {
  struct Information {  // struct ptrace_syscall_info
    u8 kind;
    u8 padding[3];
    u32 architecture;
    u64 program_counter, stack_pointer;
    union {
      struct {
        u64 number, arguments[6];
      } entry;
      struct {
        i64 result;
        u8 is_error;
      } exit;
    };
  };
  enum : u8 { nothing, entry, exit };
  constexpr u32 x86_64 = 0xc000'003e;  // AUDIT_ARCH_X86_64
  constexpr i64 last_error = -4095;
  const arch::UserRegisters registers = registers_of(thread);
  const Tracee& tracee = *thread.tracee.load(Order::acquire);
  Information told;
  memset(&told, 0, sizeof told);
  told.architecture = x86_64;
  told.program_counter = registers.rip;
  told.stack_pointer = registers.rsp;
  u64 size = offsetof(Information, entry);
  const bool marked = tracee.place == Tracee::Place::call && tracee.info.code != sigtrap;  // PTRACE_O_TRACESYSGOOD
  if (marked && tracee.message == Tracee::entry) {
    told.kind = entry;
    told.entry.number = registers.orig_rax;
    memcpy(told.entry.arguments, thread.frame.arguments(), sizeof told.entry.arguments);
    size += sizeof told.entry;
  } else if (marked) {
    told.kind = exit;
    told.exit.result = static_cast<i64>(registers.rax);
    told.exit.is_error = told.exit.result < 0 && told.exit.result >= last_error ? 1 : 0;
    size += offsetof(decltype(told.exit), is_error) + 1;
  }
  const u64 room = call.argument[2];
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(3), &told, room < size ? room : size));
  return static_cast<i64>(size);
}

}  // namespace corral::abi::trace

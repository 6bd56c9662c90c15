// ptrace: a parent traces its child (task/tracee.h). Source: Linux ptrace(2); its order of checks.
#include "abi/linux/call.h"
#include "arch/page_table.h"
#include "arch/user_registers.h"
#include "lib/memory_functions.h"
#include "task/process_table.h"
#include "task/tracee.h"

namespace corral::abi {

namespace {

enum Wish : u64 {
  trace_me = 0,
  peek_text = 1,
  peek_data = 2,
  peek_user = 3,
  poke_text = 4,
  poke_data = 5,
  poke_user = 6,
  go_on = 7,
  slay = 8,
  single_step = 9,
  get_registers = 12,
  set_registers = 13,
  attach = 16,
  detach = 17,
  set_options = 0x4200,
  get_signal = 0x4202,
};

constexpr u64 end_with_tracer = 0x10'0000;  // PTRACE_O_EXITKILL: the only option that there is
constexpr u64 user_area_size = 928;         // struct user
constexpr i64 interrupted_call = -512;      // what Linux keeps in the result's place while a call may be restarted

arch::UserRegisters registers_of(const Thread& thread) {
  arch::UserRegisters registers = arch::user_registers_of(thread.frame);
  registers.fs_base = thread.tls;
  registers.gs_base = thread.second_base;
  if (thread.call_interruption != Errno{}) registers.rax = static_cast<u64>(interrupted_call);
  return registers;
}

Result<void> assign(Thread& thread, const arch::UserRegisters& registers) {
  const bool untouched = registers.rax == static_cast<u64>(interrupted_call) && thread.call_interruption != Errno{};
  const u64 result = thread.frame.result();
  TRY(arch::set_user_registers(thread.frame, registers));
  if (untouched) thread.frame.set_result(static_cast<i64>(result));
  if (static_cast<i64>(registers.orig_rax) < 0) thread.call_interruption = Errno{};  // it is not to be restarted
  thread.tls = registers.fs_base;
  thread.second_base = registers.gs_base;
  return {};
}

// A word of what Linux calls the user area, of which only the registers are here; the rest is zero.
Result<u64> place_in_user_area(u64 offset) {
  if (offset % sizeof(u64) != 0 || offset > user_area_size - sizeof(u64)) return Errno::eio;
  return offset / sizeof(u64);
}
constexpr u64 register_count = sizeof(arch::UserRegisters) / sizeof(u64);

Result<i64> peek_register(Call& call, const Thread& thread) {
  const u64 place = TRY(place_in_user_area(call.argument[2]));
  u64 words[register_count];
  const arch::UserRegisters registers = registers_of(thread);
  memcpy(words, &registers, sizeof words);
  TRY(call.write(call.address(3), place < register_count ? words[place] : u64{0}));
  return 0;
}

Result<i64> poke_register(Call& call, Thread& thread) {
  const u64 place = TRY(place_in_user_area(call.argument[2]));
  if (place >= register_count) return Errno::eio;
  u64 words[register_count];
  arch::UserRegisters registers = registers_of(thread);
  memcpy(words, &registers, sizeof words);
  words[place] = call.argument[3];
  memcpy(&registers, words, sizeof words);
  TRY(assign(thread, registers));
  return 0;
}

Result<void> as_io_error(const Result<void>& result) {
  if (!result && result.error() == Errno::efault) return Errno::eio;
  return result;
}

Result<i64> peek(Call& call, Thread& thread) {
  const Ref<vm::AddressSpace> space = thread.process().space();
  if (!space) return Errno::esrch;
  u64 word = 0;
  TRY(as_io_error(vm::copy_in(*space, call.thread.caller, &word, call.address(2), sizeof word)));
  TRY(call.write(call.address(3), word));
  return 0;
}

Result<i64> poke(Call& call, Thread& thread) {
  const Ref<vm::AddressSpace> space = thread.process().space();
  if (!space) return Errno::esrch;
  const u64 word = call.argument[3];
  TRY(as_io_error(vm::copy_out(*space, call.thread.caller, call.address(2), &word, sizeof word)));
  return 0;
}

Result<i64> resume(Call& call, ThreadId id, bool step, bool leave) {
  (void)TRY(tracees::stopped(call.process, id));
  if (call.argument[3] > signal_count) return Errno::eio;
  TRY(tracees::resume(call.process, id, {static_cast<i32>(call.argument[3]), step, leave}));
  return 0;
}

// Of a thread that is stopped.
Result<i64> ask(Call& call, Thread& thread) {
  switch (call.argument[0]) {
    case peek_text:
    case peek_data: return peek(call, thread);
    case poke_text:
    case poke_data: return poke(call, thread);
    case peek_user: return peek_register(call, thread);
    case poke_user: return poke_register(call, thread);
    case get_registers: TRY(call.write(call.address(3), registers_of(thread))); return 0;
    case set_registers: TRY(assign(thread, TRY(call.read<arch::UserRegisters>(call.address(3))))); return 0;
    case get_signal: TRY(call.write(call.address(3), for_user(thread.tracee.load(Order::acquire)->info))); return 0;
    case set_options:
      if ((call.argument[3] & ~end_with_tracer) != 0) return Errno::einval;
      TRY(tracees::set_end_with_tracer(call.process, thread.id(), call.argument[3] != 0));
      return 0;
    default: return Errno::eio;
  }
}

Result<i64> sys_ptrace(Call& call) {
  const u64 request = call.argument[0];
  if (request == trace_me) {
    TRY(tracees::offer(call.thread));
    return 0;
  }
  const ThreadId id{call.number(1)};
  const Ref<Thread> thread = processes::find_thread(id);
  if (!thread) return Errno::esrch;
  switch (request) {
    case attach: TRY(tracees::attach(call.thread, *thread)); return 0;
    case go_on: return resume(call, id, false, false);
    case single_step: return resume(call, id, true, false);
    case detach: return resume(call, id, false, true);
    case slay:
      (void)TRY(tracees::stopped(call.process, id));
      TRY(tracees::resume(call.process, id, {.signal = sigkill}));
      return 0;
    default: break;
  }
  (void)TRY(tracees::stopped(call.process, id));
  return ask(call, *thread);
}

constexpr Entry entries[] = {{101, "ptrace", sys_ptrace}};

}  // namespace

std::span<const Entry> trace_calls() {
  return entries;
}

}  // namespace corral::abi

// ptrace: a process stops, looks at and changes threads of others (task/tracees.h). Source: Linux ptrace(2); its order of checks.
#include "abi/linux/trace_registers.h"
#include "abi/linux/trace_signals.h"
#include "lib/memory_functions.h"
#include "task/process_table.h"
#include "task/tracees.h"

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
  get_floating_point = 14,
  set_floating_point = 15,
  attach = 16,
  detach = 17,
  to_next_call = 24,
  segment_base = 30,
  past_next_call = 31,
  past_next_call_by_step = 32,
  set_options = 0x4200,
  get_message = 0x4201,
  get_signal = 0x4202,
  set_signal = 0x4203,
  get_register_set = 0x4204,
  set_register_set = 0x4205,
  seize = 0x4206,
  interrupt = 0x4207,
  listen = 0x4208,
  peek_signals = 0x4209,
  get_mask = 0x420a,
  set_mask = 0x420b,
  get_call_information = 0x420e,
};

Result<void> as_io_error(const Result<void>& result) {
  if (!result && result.error() == Errno::efault) return Errno::eio;
  return result;
}

// Whoever traces a program need not see the memory of the next one that it executes. esrch, eio.
Result<Ref<vm::AddressSpace>> memory_of(const Call& call, Thread& thread) {
  Process& process = thread.process();
  Ref<vm::AddressSpace> space = process.space();
  if (!space) return Errno::esrch;
  const bool shown = process.manners.dumpable.load(Order::acquire) || call.thread.may(Capability::sys_ptrace);
  return shown ? Result<Ref<vm::AddressSpace>>{std::move(space)} : Errno::eio;
}

Result<i64> peek(Call& call, Thread& thread) {
  const Ref<vm::AddressSpace> space = TRY(memory_of(call, thread));
  u64 word = 0;
  u8 bytes[sizeof word];
  TRY(as_io_error(space->read_by_force(call.thread.caller, call.address(2), bytes)));
  memcpy(&word, bytes, sizeof word);
  TRY(call.write(call.address(3), word));
  return 0;
}

Result<i64> poke(Call& call, Thread& thread) {
  const Ref<vm::AddressSpace> space = TRY(memory_of(call, thread));
  u8 bytes[sizeof call.argument[3]];
  memcpy(bytes, &call.argument[3], sizeof bytes);
  TRY(as_io_error(space->write_by_force(call.thread.caller, call.address(2), bytes)));
  return 0;
}

// What is to become of a stopped thread; false: the request is another one.
bool resumption_of(u64 request, tracees::Resumption& how) {
  switch (request) {
    case go_on: return true;
    case single_step: how.step = true; return true;
    case detach: how.leave = true; return true;
    case to_next_call: how.go = Tracee::Go::to_next_call; return true;
    case past_next_call: how.go = Tracee::Go::past_next_call; return true;
    case past_next_call_by_step:
      how.go = Tracee::Go::past_next_call;
      how.step = true;
      return true;
    default: return false;
  }
}

Result<i64> resume(Call& call, ThreadId id, tracees::Resumption how) {
  (void)TRY(tracees::stopped(call.process, id));
  if (call.argument[3] > signal_count) return Errno::eio;
  how.signal = static_cast<i32>(call.argument[3]);
  TRY(tracees::resume(call.process, id, how));
  return 0;
}

Result<i64> change_options(Call& call, ThreadId id) {
  const u64 wanted = call.argument[3];
  if ((wanted & ~u64{Tracee::all_options}) != 0) return Errno::einval;
  TRY(tracees::with_stopped(call.process, id,
                            [&](Thread&, Tracee& tracee) { tracee.options.store(static_cast<u32>(wanted), Order::relaxed); }));
  return 0;
}

Result<i64> tell_message(Call& call, ThreadId id) {
  u64 message = 0;
  TRY(tracees::with_stopped(call.process, id, [&](Thread&, Tracee& tracee) { message = tracee.message; }));
  TRY(call.write(call.address(3), message));
  return 0;
}

// Of a thread that is stopped.
Result<i64> ask(Call& call, Thread& thread) {
  switch (call.argument[0]) {
    case peek_text:
    case peek_data: return peek(call, thread);
    case poke_text:
    case poke_data: return poke(call, thread);
    case peek_user: return trace::peek_user(call, thread);
    case poke_user: return trace::poke_user(call, thread);
    case get_registers: return trace::get_registers(call, thread);
    case set_registers: return trace::set_registers(call, thread);
    case get_floating_point: return trace::get_floating_point(call, thread);
    case set_floating_point: return trace::set_floating_point(call, thread);
    case get_register_set: return trace::get_set(call, thread);
    case set_register_set: return trace::set_set(call, thread);
    case segment_base: return trace::segment_base(call, thread);
    case get_signal: return trace::get_signal(call, thread.id());
    case set_signal: return trace::set_signal(call, thread.id());
    case peek_signals: return trace::peek_signals(call, thread);
    case get_mask: return trace::get_mask(call, thread);
    case set_mask: return trace::set_mask(call, thread);
    case get_call_information: return trace::call_information(call, thread);
    case set_options: return change_options(call, thread.id());
    case get_message: return tell_message(call, thread.id());
    case listen: TRY(tracees::listen(call.process, thread.id())); return 0;
    default: return Errno::eio;
  }
}

Result<i64> attach_to(Call& call, Thread& thread) {
  tracees::Attachment how;
  if (call.argument[0] == seize) {
    if (call.argument[2] != 0 || (call.argument[3] & ~u64{Tracee::all_options}) != 0) return Errno::eio;
    how = {.seized = true, .options = static_cast<u32>(call.argument[3])};
  }
  u32& attached = call.thread.step.phase;
  if (attached == 0) TRY(tracees::attach(call.thread, thread, how));
  attached = 1;
  TRY(tracees::await_stop(call.thread, thread));
  return 0;
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
  if (request == attach || request == seize) return attach_to(call, *thread);
  if (request == interrupt) {
    TRY(tracees::interrupt(call.process, id));
    return 0;
  }
  if (tracees::Resumption how; resumption_of(request, how)) return resume(call, id, how);
  (void)TRY(tracees::stopped(call.process, id));
  if (request == slay) {
    TRY(tracees::resume(call.process, id, {.signal = sigkill}));
    return 0;
  }
  return ask(call, *thread);
}

constexpr Entry entries[] = {{101, "ptrace", sys_ptrace}};

}  // namespace

std::span<const Entry> trace_calls() {
  return entries;
}

}  // namespace corral::abi

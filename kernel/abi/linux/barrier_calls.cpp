// membarrier: every core that runs the process (or any, for the global
// commands) passes a full barrier before the call answers. Source: Linux
// man-pages membarrier(2).
//
// The cores are asked one after the other by a message, which a core executes
// between two steps: it enters the kernel, passes the barrier and goes on. A
// core that is not asked does not run the process now; before it does it has
// passed a barrier, for it takes the thread from a queue. Barriers for code
// that was changed, and for restartable sequences, are not given: the list of
// commands says so.
#include "abi/linux/call.h"
#include "core/core.h"
#include "core/remote_call.h"

namespace corral::abi {

namespace {

enum Command : u32 {
  query = 0,
  global = 1,
  global_expedited = 2,
  register_global_expedited = 4,
  private_expedited = 8,
  register_private_expedited = 16,
};
constexpr i64 all_commands =
    global | global_expedited | register_global_expedited | private_expedited | register_private_expedited;

u64 pass_barrier(Core&) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return 0;
}

// Word 0 of the step: the next core to ask.
Result<i64> ask_cores(Call& call, bool only_own) {
  u64& next = call.thread.step.word[0];
  if (next == 0) __atomic_thread_fence(__ATOMIC_SEQ_CST);
  while (next < cores::count()) {
    const CoreId id{static_cast<u32>(next++)};
    Core& core = cores::get(id);
    if (!core.running() || (only_own && !call.space.active().contains(id, Order::seq_cst))) continue;
    if (!call.thread.remote_call.ask(core, pass_barrier)) return Errno::blocked;
  }
  return 0;
}

Result<i64> sys_membarrier(Call& call) {
  if (call.argument[1] != 0) return Errno::einval; // flags
  Atomic<u32>& registered = call.process.barriers;
  switch (const u32 command = static_cast<u32>(call.argument[0])) {
    case query: return all_commands;
    case global:
    case global_expedited: return ask_cores(call, false);
    case private_expedited:
      if ((registered.load(Order::relaxed) & register_private_expedited) == 0) return Errno::eperm;
      return ask_cores(call, true);
    case register_global_expedited:
    case register_private_expedited: registered.fetch_or(command, Order::relaxed); return 0;
    default: return Errno::einval;
  }
}

constexpr Entry entries[] = {{324, "membarrier", sys_membarrier}};

} // namespace

std::span<const Entry> barrier_calls() {
  return entries;
}

} // namespace corral::abi

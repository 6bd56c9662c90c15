// Corral's own system calls.
//
//   0x4000 remote_ticks(core) → number of timer interrupts that core has taken. einval: no such core; enodev: it does not run.
//          The worked example of paper 004, section 2.3: the caller blocks, the question travels in a mailbox message, the
//          answer wakes the caller on whatever core is its home by then.
#include "abi/corral/calls.h"

#include "core/remote_call.h"

namespace corral::abi {

namespace {

enum Phase : u32 { ask = 0, answered = 1 };

u64 timer_interrupts(Core& asked) {
  return asked.counters.timer_interrupts.load(Order::relaxed);
}

Result<i64> remote_ticks(Call& call) {
  Thread& thread = call.thread;
  if (thread.step.phase == ask) {
    if (call.argument[0] >= cores::count()) return Errno::einval;
    Core& core = cores::get(CoreId{static_cast<u32>(call.argument[0])});
    if (!core.running()) return Errno::enodev;
    thread.step.phase = answered;
    if (!thread.remote_call.ask(core, timer_interrupts)) return Errno::blocked;
  }
  return static_cast<i64>(thread.remote_call.result());
}

}  // namespace

Handler own_call(u64 number) {
  return number == own_calls_first ? remote_ticks : nullptr;
}

}  // namespace corral::abi

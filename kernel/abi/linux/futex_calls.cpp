// futex(2): which operation, with which arguments. The operations are in task/futex.h.
#include "abi/linux/call.h"
#include "abi/linux/time_values.h"
#include "device/clock.h"
#include "task/futex.h"

namespace corral::abi {

namespace {

enum Operation : u32 {
  op_wait = 0,
  op_wake = 1,
  op_requeue = 3,
  op_cmp_requeue = 4,
  op_wait_bitset = 9,
  op_wake_bitset = 10,
};
constexpr u32 flag_private = 128, flag_realtime = 256;

// The deadline that a wait was called with; noted in step word 5 so that running again does not start the time anew.
Result<Instant> deadline_of(Call& call, u32 operation) {
  Thread& thread = call.thread;
  if (call.argument[3] == 0) return never;
  if (thread.step.word[5] != 0) return Instant{static_cast<i64>(thread.step.word[5])};
  const TimeSpec spec = TRY(call.read<TimeSpec>(call.address(3)));
  const Duration time = TRY(duration_of(spec));
  Instant deadline = deadline_after(clock::now(), time);
  if ((operation & ~(flag_private | flag_realtime)) == op_wait_bitset) {
    deadline = Instant{(operation & flag_realtime) != 0 ? time.ns - clock::boot_wall_time_ns() : time.ns};
  }
  if (deadline.ns <= 0) deadline = Instant{1};
  thread.step.word[5] = static_cast<u64>(deadline.ns);
  return deadline;
}

// A wait with a time-out that no handler ends goes on with the same deadline (word 5).
Result<i64> wait(Call& call, futex::Word word, u32 bits, Instant deadline) {
  const u64 kept = call.thread.step.word[5];
  Result<i64> result = futex::wait(call.thread, word, static_cast<u32>(call.argument[2]), bits, deadline);
  call.thread.step.word[5] = kept;
  if (result || result.error() != Errno::restart || deadline == never) return result;
  call.thread.step = {.phase = 0, .word = {0, 0, 0, 0, 0, kept}, .kept = {}};
  return Errno::restart_from_step;
}

u32 limit(u64 number) {
  const i32 n = static_cast<i32>(number);
  return n < 0 ? 0x7fff'ffff : static_cast<u32>(n);
}

Result<i64> sys_futex(Call& call) {
  const u32 operation = static_cast<u32>(call.argument[1]);
  const bool shared = (operation & flag_private) == 0;
  const futex::Word word{call.address(0), shared};
  switch (operation & ~(flag_private | flag_realtime)) {
    case op_wait: {
      const Instant deadline = TRY(deadline_of(call, operation));
      return wait(call, word, futex::match_any, deadline);
    }
    case op_wait_bitset: {
      const Instant deadline = TRY(deadline_of(call, operation));
      return wait(call, word, static_cast<u32>(call.argument[5]), deadline);
    }
    case op_wake: return futex::wake(call.thread, word, limit(call.argument[2]), futex::match_any);
    case op_wake_bitset: return futex::wake(call.thread, word, limit(call.argument[2]), static_cast<u32>(call.argument[5]));
    case op_requeue:
    case op_cmp_requeue: {
      const bool compared = (operation & ~(flag_private | flag_realtime)) == op_cmp_requeue;
      if (call.number(2) < 0 || call.number(3) < 0) return Errno::einval;
      const u32 expected = static_cast<u32>(call.argument[5]);
      return futex::requeue(call.thread, word, {call.address(4), shared}, limit(call.argument[2]), limit(call.argument[3]),
                            compared ? &expected : nullptr);
    }
    default: return Errno::enosys;
  }
}

constexpr Entry entries[] = {{202, "futex", sys_futex}};

}  // namespace

std::span<const Entry> futex_calls() {
  return entries;
}

}  // namespace corral::abi

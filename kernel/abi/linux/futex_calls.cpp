// futex(2): which operation, with which arguments. The operations are in task/futex.h.
#include "abi/linux/call.h"
#include "abi/linux/time_values.h"
#include "device/clock.h"
#include "task/futex_vector.h"
#include "task/pi_futex.h"

namespace corral::abi {

namespace {

enum Operation : u32 {
  op_wait = 0,
  op_wake = 1,
  op_requeue = 3,
  op_cmp_requeue = 4,
  op_wake_op = 5,
  op_lock_pi = 6,
  op_unlock_pi = 7,
  op_trylock_pi = 8,
  op_wait_bitset = 9,
  op_wake_bitset = 10,
  op_wait_requeue_pi = 11,
  op_cmp_requeue_pi = 12,
  op_lock_pi2 = 13,
};
constexpr u32 flag_private = 128, flag_realtime = 256;

// The deadline that a wait was called with; noted in step word 5 so that running again does not start the time anew.
Result<Deadline> deadline_of(Call& call, u32 operation) {
  Thread& thread = call.thread;
  if (call.argument[3] == 0) return Deadline{};
  const u32 command = operation & ~(flag_private | flag_realtime);
  if (thread.step.word[5] == 0) {
    const TimeSpec spec = TRY(call.read<TimeSpec>(call.address(3)));
    const Duration time = TRY(duration_of(spec));
    const i64 ns = command == op_wait ? deadline_after(clock::now(), time).ns : time.ns;
    thread.step.word[5] = static_cast<u64>(ns < 1 ? 1 : ns);
  }
  const i64 ns = static_cast<i64>(thread.step.word[5]);
  const bool by_wall = (operation & flag_realtime) != 0 || command == op_lock_pi;
  return by_wall ? Deadline::at_wall_time(ns) : Deadline{Instant{ns}};
}

// A wait with a time-out that no handler ends goes on with the same deadline (word 5).
Result<i64> wait(Call& call, futex::Word word, u32 bits, Deadline deadline) {
  const u64 kept = call.thread.step.word[5];
  Result<i64> result = futex::wait(call.thread, word, static_cast<u32>(call.argument[2]), bits, deadline);
  call.thread.step.word[5] = kept;
  if (result || result.error() != Errno::restart || deadline.is_never()) return result;
  call.thread.step = {.phase = 0, .word = {0, 0, 0, 0, 0, kept}, .kept = {}};
  return Errno::restart_from_step;
}

// Those of the priority-inheriting ones that wait: begun anew after a signal, with the same absolute time.
template <class Wait>
Result<i64> wait_pi(Call& call, u32 operation, Wait&& wait) {
  const Deadline deadline = TRY(deadline_of(call, operation));
  const u64 kept = call.thread.step.word[5];
  Result<i64> result = wait(deadline);
  call.thread.step.word[5] = kept;
  return result;
}

// How many are to be woken: Linux wakes one before it counts.
u32 at_least_one(u64 number) {
  const i32 n = static_cast<i32>(number);
  return n < 1 ? 1 : static_cast<u32>(n);
}

Result<i64> sys_futex(Call& call) {
  const u32 operation = static_cast<u32>(call.argument[1]);
  const bool shared = (operation & flag_private) == 0;
  const futex::Word word{call.address(0), shared};
  const futex::Word second{call.address(4), shared};
  const u32 command = operation & ~(flag_private | flag_realtime);
  const bool may_be_wall = command == op_wait_bitset || command == op_wait_requeue_pi || command == op_lock_pi2;
  if ((operation & flag_realtime) != 0 && !may_be_wall) return Errno::enosys;
  switch (command) {
    case op_wait: {
      const Deadline deadline = TRY(deadline_of(call, operation));
      return wait(call, word, futex::match_any, deadline);
    }
    case op_wait_bitset: {
      const Deadline deadline = TRY(deadline_of(call, operation));
      return wait(call, word, static_cast<u32>(call.argument[5]), deadline);
    }
    case op_wake: return futex::wake(call.thread, word, at_least_one(call.argument[2]), futex::match_any);
    case op_wake_bitset:
      return futex::wake(call.thread, word, at_least_one(call.argument[2]), static_cast<u32>(call.argument[5]));
    case op_requeue:
    case op_cmp_requeue: {
      const bool compared = command == op_cmp_requeue;
      if (call.number(2) < 0 || call.number(3) < 0) return Errno::einval;
      const u32 expected = static_cast<u32>(call.argument[5]);
      return futex::requeue(call.thread, word, second, static_cast<u32>(call.argument[2]), static_cast<u32>(call.argument[3]),
                            compared ? &expected : nullptr);
    }
    case op_wake_op:
      return futex::wake_op(call.thread, word, second, at_least_one(call.argument[2]), at_least_one(call.argument[3]),
                            static_cast<u32>(call.argument[5]));
    case op_lock_pi:
    case op_lock_pi2:
      return wait_pi(call, operation, [&](Deadline deadline) { return futex::lock_pi(call.thread, word, deadline, false); });
    case op_trylock_pi: return futex::lock_pi(call.thread, word, never, true);
    case op_unlock_pi: return futex::unlock_pi(call.thread, word);
    case op_wait_requeue_pi: {
      const auto expected = static_cast<u32>(call.argument[2]);
      return wait_pi(call, operation,
                     [&](Deadline deadline) { return futex::wait_requeue_pi(call.thread, word, expected, second, deadline); });
    }
    case op_cmp_requeue_pi:
      if (call.number(2) != 1 || call.number(3) < 0) return Errno::einval;
      return futex::requeue_pi(call.thread, word, second, static_cast<u32>(call.argument[3]),
                               static_cast<u32>(call.argument[5]));
    default: return Errno::enosys;
  }
}

// ---- futex_waitv ----

struct WaitWord {  // struct futex_waitv
  u64 expected, address;
  u32 flags, reserved;
};
static_assert(sizeof(WaitWord) == 24);

// Absolute, by either clock.
Result<Deadline> deadline_by(Call& call, VirtualAddress time_at, i32 clock_id) {
  constexpr i32 real_time = 0, monotonic = 1;
  if (time_at.value == 0) return Deadline{};
  if (clock_id != real_time && clock_id != monotonic) return Errno::einval;
  const Duration time = TRY(duration_of(TRY(call.read<TimeSpec>(time_at))));
  const i64 ns = time.ns < 1 ? 1 : time.ns;
  return clock_id == real_time ? Deadline::at_wall_time(ns) : Deadline{Instant{ns}};
}

Result<Ref<futex::VectorWait>> take_words(Call& call, VirtualAddress list, u64 count) {
  constexpr u32 size_32 = 2;
  Ref<futex::VectorWait> vector = TRY(futex::VectorWait::create(call.thread, count));
  for (u64 i = 0; i < count; ++i) {
    const WaitWord word = TRY(call.read<WaitWord>(list + i * sizeof(WaitWord)));
    if ((word.flags & ~(size_32 | flag_private)) != 0 || word.reserved != 0 || (word.flags & size_32) == 0)
      return Errno::einval;
    vector->set(i, {{word.address}, (word.flags & flag_private) == 0}, static_cast<u32>(word.expected));
  }
  return vector;
}

Result<i64> sys_futex_waitv(Call& call) {
  if (!call.thread.step.kept) {
    const VirtualAddress list = call.address(0);
    const u32 count = static_cast<u32>(call.argument[1]);
    if (static_cast<u32>(call.argument[2]) != 0) return Errno::einval;
    if (count == 0 || count > futex::VectorWait::most || list.value == 0) return Errno::einval;
    const Deadline deadline = TRY(deadline_by(call, call.address(3), call.number(4)));
    const Ref<futex::VectorWait> vector = TRY(take_words(call, list, count));
    vector->set_deadline(deadline);
    call.thread.step.kept = Ref<StepKept>::share(*vector);
  }
  return static_cast<futex::VectorWait*>(call.thread.step.kept.get())->run();
}

constexpr Entry entries[] = {{202, "futex", sys_futex}, {449, "futex_waitv", sys_futex_waitv}};

}  // namespace

std::span<const Entry> futex_calls() {
  return entries;
}

}  // namespace corral::abi

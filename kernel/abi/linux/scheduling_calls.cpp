// sched_yield, affinity, priorities, getcpu. Source: Linux sched(7), sched_setaffinity(2).
#include "abi/linux/call.h"
#include "core/core.h"
#include "task/executive.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

enum SchedulingClass : i32 { other = 0, fifo = 1, round_robin = 2, batch = 3, idle = 5 };

Result<i64> sys_sched_yield(Call&) {
  this_core().executive->yield_current();
  return 0;
}

// The thread that a call with number `id` means; 0: the caller.
Result<Ref<Thread>> thread_of(Call& call, i32 id) {
  if (id < 0) return Errno::einval;
  if (id == 0) return Ref<Thread>::share(call.thread);
  Ref<Thread> thread = processes::find_thread({id});
  if (!thread) return Errno::esrch;
  return thread;
}

Result<i64> sys_sched_setaffinity(Call& call) {
  const Ref<Thread> thread = TRY(thread_of(call, call.number(0)));
  u64 words[CoreSet::words] = {};
  const u64 size = call.argument[1] < sizeof words ? call.argument[1] : sizeof words;
  TRY(vm::copy_in(call.space, call.thread.caller, words, call.address(2), size));
  CoreSet wanted;
  for (u32 i = 0; i < CoreSet::words; ++i) wanted.set_word(i, words[i]);
  wanted = wanted & cores::online();
  if (wanted.empty()) return Errno::einval;
  thread->change_affinity(wanted);
  return 0;
}

Result<i64> sys_sched_getaffinity(Call& call) {
  const Ref<Thread> thread = TRY(thread_of(call, call.number(0)));
  const u64 needed = round_up(cores::count(), 64) / 8;
  if (call.argument[1] < needed || call.argument[1] % 8 != 0) return Errno::einval;
  const CoreSet set = thread->affinity() & cores::online();
  u64 words[CoreSet::words];
  for (u32 i = 0; i < CoreSet::words; ++i) words[i] = set.word(i);
  const u64 size = call.argument[1] < sizeof words ? call.argument[1] : sizeof words;
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(2), words, size));
  return static_cast<i64>(size);
}

Result<i64> sys_getcpu(Call& call) {
  if (call.argument[0] != 0) TRY(call.write(call.address(0), this_core().id().value));
  if (call.argument[1] != 0) TRY(call.write(call.address(1), u32{0}));
  return 0;
}

// Only the normal class exists so far: the others are refused as Linux refuses a caller without the right.
Result<i64> sys_sched_setscheduler(Call& call) {
  (void)TRY(thread_of(call, call.number(0)));
  const i32 priority = TRY(call.read<i32>(call.address(2)));
  const i32 wanted = call.number(1) & ~0x4000'0000;
  if (wanted == other || wanted == batch || wanted == idle) return priority == 0 ? Result<i64>{0} : Result<i64>{Errno::einval};
  if (wanted == fifo || wanted == round_robin) { return priority < 1 || priority > 99 ? Errno::einval : Errno::eperm; }
  return Errno::einval;
}
Result<i64> sys_sched_getscheduler(Call& call) {
  (void)TRY(thread_of(call, call.number(0)));
  return other;
}
Result<i64> sys_sched_setparam(Call& call) {
  (void)TRY(thread_of(call, call.number(0)));
  return TRY(call.read<i32>(call.address(1))) == 0 ? Result<i64>{0} : Result<i64>{Errno::einval};
}
Result<i64> sys_sched_getparam(Call& call) {
  (void)TRY(thread_of(call, call.number(0)));
  TRY(call.write(call.address(1), i32{0}));
  return 0;
}
Result<i64> sys_sched_get_priority_max(Call& call) {
  switch (call.number(0)) {
    case fifo:
    case round_robin: return 99;
    case other:
    case batch:
    case idle: return 0;
    default: return Errno::einval;
  }
}
Result<i64> sys_sched_get_priority_min(Call& call) {
  const i64 max = TRY(sys_sched_get_priority_max(call));
  return max == 99 ? 1 : 0;
}

constexpr i32 which_process = 0;

Result<i64> sys_getpriority(Call& call) {
  if (call.number(0) < 0 || call.number(0) > 2) return Errno::einval;
  if (call.number(0) != which_process) return 20;
  const Ref<Thread> thread = TRY(thread_of(call, call.number(1)));
  return 20 - thread->nice();
}

Result<i64> sys_setpriority(Call& call) {
  if (call.number(0) < 0 || call.number(0) > 2) return Errno::einval;
  const i32 nice = call.number(2) < -20 ? -20 : call.number(2) > 19 ? 19 : call.number(2);
  if (call.number(0) != which_process) return Errno::esrch;
  const Ref<Thread> thread = TRY(thread_of(call, call.number(1)));
  thread->change_nice(nice);
  return 0;
}

constexpr Entry entries[] = {
    {24, "sched_yield", sys_sched_yield},
    {140, "getpriority", sys_getpriority},
    {141, "setpriority", sys_setpriority},
    {142, "sched_setparam", sys_sched_setparam},
    {143, "sched_getparam", sys_sched_getparam},
    {144, "sched_setscheduler", sys_sched_setscheduler},
    {145, "sched_getscheduler", sys_sched_getscheduler},
    {146, "sched_get_priority_max", sys_sched_get_priority_max},
    {147, "sched_get_priority_min", sys_sched_get_priority_min},
    {203, "sched_setaffinity", sys_sched_setaffinity},
    {204, "sched_getaffinity", sys_sched_getaffinity},
    {309, "getcpu", sys_getcpu},
};

}  // namespace

std::span<const Entry> scheduling_calls() {
  return entries;
}

}  // namespace corral::abi

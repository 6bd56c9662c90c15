// prctl, personality: what a process or a thread says about itself. Source: Linux prctl(2), personality(2). What Corral has not is
// EINVAL, as on a kernel without it.
#include "abi/linux/capability_calls.h"
#include "task/thread_names.h"

namespace corral::abi {

namespace {

enum Option : i32 {
  set_death_signal = 1,
  get_death_signal = 2,
  get_dumpable = 3,
  set_dumpable = 4,
  get_timing = 13,
  set_timing = 14,
  set_name = 15,
  get_name = 16,
  get_secure_computing = 21,
  get_counter_access = 25,
  set_counter_access = 26,
  set_timer_slack = 29,
  get_timer_slack = 30,
  set_subreaper = 36,
  get_subreaper = 37,
  set_no_new_privileges = 38,
  get_no_new_privileges = 39,
  get_thread_address = 40,
  set_huge_pages_off = 41,
  get_huge_pages_off = 42,
};

constexpr u32 counter_enabled = 1;  // PR_TSC_ENABLE

Result<i64> change_name(Call& call) {
  char name[16] = {};
  const Result<u64> length = vm::copy_string_in(call.space, call.thread.caller, name, sizeof name - 1, call.address(1));
  if (!length && length.error() != Errno::enametoolong) return length.error();
  thread_names::change(call.thread, name);
  return 0;
}

bool any_of(const Call& call, unsigned first) {
  for (unsigned i = first; i <= 4; ++i) {
    if (call.argument[i] != 0) return true;
  }
  return false;
}

Result<i64> store(Atomic<bool>& flag, bool value) {
  flag.store(value, Order::relaxed);
  return 0;
}

Result<i64> sys_prctl(Call& call) {
  Process::Manners& manners = call.process.manners;
  const u64 value = call.argument[1];
  switch (call.number(0)) {
    case set_death_signal:
      if (value > signal_count) return Errno::einval;
      manners.death_signal.store(static_cast<i32>(value), Order::relaxed);
      return 0;
    case get_death_signal: TRY(call.write({value}, manners.death_signal.load(Order::relaxed))); return 0;
    case get_dumpable: return manners.dumpable.load(Order::relaxed) ? 1 : 0;
    case set_dumpable: return value <= 1 ? store(manners.dumpable, value == 1) : Errno::einval;
    case get_timing: return 0;  // PR_TIMING_STATISTICAL
    case set_timing: return value == 0 ? Result<i64>{0} : Errno::einval;
    case set_name: return change_name(call);
    case get_name:
      TRY(vm::copy_out(call.space, call.thread.caller, {value}, call.thread.name, sizeof call.thread.name));
      return 0;
    case get_secure_computing: return 0;
    case get_counter_access: TRY(call.write({value}, counter_enabled)); return 0;
    case set_counter_access: return value == counter_enabled ? Result<i64>{0} : Errno::einval;
    // Wake-ups are never put together, whatever the slack: it is kept to be told.
    case set_timer_slack:
      call.thread.timer_slack_ns = static_cast<i64>(value) <= 0 ? call.thread.usual_timer_slack_ns : static_cast<i64>(value);
      return 0;
    case get_timer_slack: return call.thread.timer_slack_ns;
    case set_subreaper: return store(manners.adopts_orphans, value != 0);
    case get_subreaper: TRY(call.write({value}, i32{manners.adopts_orphans.load(Order::relaxed) ? 1 : 0})); return 0;
    case set_no_new_privileges:
      if (value != 1 || any_of(call, 2)) return Errno::einval;
      return store(call.thread.no_new_privileges, true);
    case get_no_new_privileges:
      if (any_of(call, 1)) return Errno::einval;
      return call.thread.no_new_privileges.load(Order::relaxed) ? 1 : 0;
    case get_thread_address: TRY(call.write({value}, call.thread.clear_child_tid.value)); return 0;
    case set_huge_pages_off:
      if (any_of(call, 2)) return Errno::einval;
      return store(manners.no_huge_pages, value != 0);
    case get_huge_pages_off:
      if (any_of(call, 1)) return Errno::einval;
      return manners.no_huge_pages.load(Order::relaxed) ? 1 : 0;
    default: break;
  }
  std::optional<Result<i64>> answered = capability_option(call);
  return answered ? std::move(*answered) : Result<i64>{Errno::einval};
}

Result<i64> sys_personality(Call& call) {
  constexpr u32 only_ask = 0xffff'ffff;
  Atomic<u32>& personality = call.process.manners.personality;
  const auto wanted = static_cast<u32>(call.argument[0]);
  const u32 before = personality.load(Order::relaxed);
  if (wanted != only_ask) personality.store(wanted, Order::relaxed);
  return before;
}

constexpr Entry entries[] = {{135, "personality", sys_personality}, {157, "prctl", sys_prctl}};

}  // namespace

std::span<const Entry> prctl_calls() {
  return entries;
}

}  // namespace corral::abi

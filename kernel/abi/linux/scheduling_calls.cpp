// sched_yield, affinity, policies, priorities, getcpu. Source: Linux sched(7), sched_setaffinity(2).
#include "abi/linux/call.h"
#include "abi/linux/time_values.h"
#include "core/core.h"
#include "sched/engine/manager.h"
#include "task/authority.h"
#include "task/executive.h"
#include "task/pi_futex.h"
#include "task/process_table.h"
#include "task/reservations.h"

namespace corral::abi {

namespace {

enum SchedulingPolicy : u32 { other = 0, fifo = 1, round_robin = 2, batch = 3, idle = 5, deadline = 6 };

i32 clamped_nice(i32 nice) {
  return nice < -20 ? -20 : nice > 19 ? 19 : nice;
}

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

// The same for those who only ask: also of one that has ended and is not waited for yet.
Result<Thread::ShownSchedule> schedule_of(Call& call, i32 id) {
  if (id < 0) return Errno::einval;
  if (id == 0) return call.thread.shown_schedule();
  return processes::schedule_of({id});
}

bool has_deadline(const Thread& thread) {
  return thread.policy_and_priority().priority == sched::deadline_priority;
}

bool has_all(const CoreSet& set, const CoreSet& wanted) {
  return (set & wanted) == wanted;
}

Result<i64> sys_sched_setaffinity(Call& call) {
  u64 words[CoreSet::words] = {};
  const u64 size = call.argument[1] < sizeof words ? call.argument[1] : sizeof words;
  TRY(vm::copy_in(call.space, call.thread.caller, words, call.address(2), size));
  CoreSet wanted;
  for (u32 i = 0; i < CoreSet::words; ++i) wanted.set_word(i, words[i]);
  wanted = wanted & cores::online();
  if (call.number(0) < 0) return Errno::esrch;
  const Ref<Thread> thread = TRY(thread_of(call, call.number(0)));
  if (!authority::owns(call.thread, *thread, Capability::sys_nice)) return Errno::eperm;
  if (wanted.empty()) return Errno::einval;
  const CoreSet group = scheduling().group_of(thread->effective_priority() != 0);
  if ((wanted & group).empty()) return Errno::einval;  // as with a cpuset that has none of them
  if (has_deadline(*thread) && !has_all(wanted, group)) return Errno::ebusy;  // a reservation holds for all together
  thread->change_affinity(wanted);
  return 0;
}

Result<i64> sys_sched_getaffinity(Call& call) {
  const u64 needed = round_up(cores::count(), 64) / 8;
  if (call.argument[1] < needed || call.argument[1] % 8 != 0) return Errno::einval;
  if (call.number(0) < 0) return Errno::esrch;
  const Thread::ShownSchedule schedule = TRY(schedule_of(call, call.number(0)));
  const CoreSet set = schedule.cores & cores::online();
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

bool is_real_time(u32 policy) {
  return policy == fifo || policy == round_robin;
}

// In Linux's order. A deadline comes by sched_setattr only.
Result<void> check_policy(u32 policy, u32 priority) {
  if (policy > idle || policy == 4) return Errno::einval;
  if (priority > sched::real_time_highest || is_real_time(policy) != (priority != 0)) return Errno::einval;
  return {};
}

// `policy` with reset_on_fork.
Result<void> check_rights(Call& call, const Thread& target, u32 policy, u32 priority, i32 nice_value) {
  const bool reset = (policy & Thread::reset_on_fork) != 0;
  return authority::may_schedule(call.thread, target, {policy & ~Thread::reset_on_fork, priority, nice_value, reset});
}

// A thread that waits for a lock, or owns one, may stand elsewhere now. Every call that changes a policy ends here, and
// begins here when it is run again.
Result<i64> tell(Call& call, Thread& changed) {
  return futex::priority_changed(call.thread, changed);
}
bool has_told(const Call& call) {
  return call.thread.step.phase != 0;
}

Result<i64> sys_sched_setscheduler(Call& call) {
  if (has_told(call)) return tell(call, call.thread);
  if (call.argument[2] == 0 || call.number(0) < 0 || call.number(1) < 0) return Errno::einval;
  const u32 priority = TRY(call.read<u32>(call.address(2)));
  const Ref<Thread> thread = TRY(thread_of(call, call.number(0)));
  const auto policy = static_cast<u32>(call.argument[1]);
  TRY(check_policy(policy & ~Thread::reset_on_fork, priority));
  TRY(check_rights(call, *thread, policy, priority, thread->nice()));
  TRY(thread->change_policy({policy, priority}));
  return tell(call, *thread);
}
Result<i64> sys_sched_getscheduler(Call& call) {
  const Thread::ShownSchedule schedule = TRY(schedule_of(call, call.number(0)));
  return i64{schedule.policy.policy};
}
Result<i64> sys_sched_setparam(Call& call) {
  if (has_told(call)) return tell(call, call.thread);
  if (call.argument[1] == 0 || call.number(0) < 0) return Errno::einval;
  const u32 priority = TRY(call.read<u32>(call.address(1)));
  const Ref<Thread> thread = TRY(thread_of(call, call.number(0)));
  const u32 policy = thread->policy();
  TRY(check_policy(policy & ~Thread::reset_on_fork, priority));
  TRY(check_rights(call, *thread, policy, priority, thread->nice()));
  TRY(thread->change_policy({policy, priority}));
  return tell(call, *thread);
}
Result<i64> sys_sched_getparam(Call& call) {
  if (call.argument[1] == 0 || call.number(0) < 0) return Errno::einval;
  const Thread::ShownSchedule schedule = TRY(schedule_of(call, call.number(0)));
  const u32 priority = schedule.has_deadline() ? 0 : schedule.policy.priority;
  TRY(call.write(call.address(1), priority));
  return 0;
}

// The quantum of SCHED_RR; for SCHED_FIFO and SCHED_DEADLINE, which have none, 0; for the others a turn of the timeline.
Result<i64> sys_sched_rr_get_interval(Call& call) {
  if (call.number(0) < 0) return Errno::einval;
  const Thread::ShownSchedule schedule = TRY(schedule_of(call, call.number(0)));
  const u32 policy = schedule.policy.policy & ~Thread::reset_on_fork;
  const i64 ns = policy == fifo || policy == deadline ? 0
                 : policy == round_robin              ? sched::real_time_quantum.ns
                                                      : scheduling().tick().ns;
  TRY(call.write(call.address(1), TimeSpec{ns / 1'000'000'000, ns % 1'000'000'000}));
  return 0;
}

// struct sched_attr, as long as Linux 6.1 has it; the first 48 bytes are its first version.
struct SchedulingAttributes {
  u32 size, policy;
  u64 flags;
  i32 nice;
  u32 priority;
  u64 runtime, deadline, period;
  u32 utilisation_low, utilisation_high;
};
static_assert(sizeof(SchedulingAttributes) == 56);
constexpr u32 first_attributes_size = 48;
enum AttributeFlag : u64 { flag_reset_on_fork = 1, flag_keep_policy = 8, flag_keep_parameters = 16, flag_clamps = 32 | 64 };

// Clamps of utilisation are refused as by a Linux without CONFIG_UCLAMP_TASK, when all else was right.
Result<void> check_clamps(const SchedulingAttributes& attributes) {
  if ((attributes.flags & flag_clamps) != 0) return Errno::eopnotsupp;
  return {};
}

Result<i64> sys_sched_getattr(Call& call) {
  const auto size = static_cast<u32>(call.argument[2]);
  if (call.argument[1] == 0 || call.number(0) < 0 || size < first_attributes_size || size > page_size ||
      static_cast<u32>(call.argument[3]) != 0) {
    return Errno::einval;
  }
  const Thread::ShownSchedule schedule = TRY(schedule_of(call, call.number(0)));
  SchedulingAttributes attributes{};
  attributes.size = size < sizeof attributes ? size : sizeof attributes;
  const Thread::Policy has = schedule.policy;
  attributes.policy = has.policy & ~Thread::reset_on_fork;
  attributes.flags = (has.policy & Thread::reset_on_fork) != 0 ? flag_reset_on_fork : 0;
  if (attributes.policy == deadline) {
    const sched::Reservation& reservation = schedule.reservation;
    attributes.runtime = static_cast<u64>(reservation.runtime.ns);
    attributes.deadline = static_cast<u64>(reservation.deadline.ns);
    attributes.period = static_cast<u64>(reservation.period.ns);
  } else {
    attributes.priority = has.priority;
  }
  if (has.priority == 0) attributes.nice = schedule.nice;
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(1), &attributes, attributes.size));
  return 0;
}

// The attributes that a program gives. e2big: longer than known, with something behind that is not zero.
Result<SchedulingAttributes> read_attributes(Call& call, VirtualAddress from) {
  u32 size = TRY(call.read<u32>(from));
  if (size == 0) size = first_attributes_size;
  if (size < first_attributes_size || size > page_size) {
    TRY(call.write(from, u32{sizeof(SchedulingAttributes)}));
    return Errno::e2big;
  }
  for (u32 i = sizeof(SchedulingAttributes); i < size; ++i) {
    if (TRY(call.read<u8>(from + i)) != 0) return Errno::e2big;
  }
  SchedulingAttributes attributes{};
  const u32 known = size < sizeof attributes ? size : sizeof attributes;
  TRY(vm::copy_in(call.space, call.thread.caller, &attributes, from, known));
  if ((attributes.flags & flag_clamps) != 0 && size < sizeof attributes) return Errno::einval;
  return attributes;
}

// Nanoseconds, within what Linux allows: 1,024 for the runtime, 100 us to 4.2 s for the period, which may be left out.
Result<sched::Reservation> reservation_of(const SchedulingAttributes& from) {
  constexpr u64 least_runtime = 1024, least_period = 100'000, longest_period = 4'194'304'000;
  const u64 period = from.period == 0 ? from.deadline : from.period;
  if (from.priority != 0 || from.deadline == 0 || from.runtime < least_runtime) return Errno::einval;
  if (period < least_period || period > longest_period) return Errno::einval;
  if (from.deadline > period || from.runtime > from.deadline) return Errno::einval;
  return sched::Reservation{Duration{static_cast<i64>(from.runtime)}, Duration{static_cast<i64>(from.deadline)},
                            Duration{static_cast<i64>(period)}};
}

// sched_setattr with SCHED_DEADLINE, checked so far.
Result<i64> give_deadline(Call& call, Thread& thread, const SchedulingAttributes& attributes) {
  const sched::Reservation reservation = TRY(reservation_of(attributes));
  if (!call.thread.may(Capability::sys_nice) || !has_all(thread.affinity(), scheduling().group_of(true))) {
    return Errno::eperm;
  }
  TRY(check_clamps(attributes));
  const u32 reset = (attributes.flags & flag_reset_on_fork) != 0 ? Thread::reset_on_fork : 0;
  TRY(thread.change_policy({deadline | reset, sched::deadline_priority}, reservation));
  return tell(call, thread);
}

Result<i64> sys_sched_setattr(Call& call) {
  if (has_told(call)) return tell(call, call.thread);
  constexpr u64 known_flags = flag_reset_on_fork | flag_keep_policy | flag_keep_parameters | flag_clamps;
  if (call.argument[1] == 0 || call.number(0) < 0 || static_cast<u32>(call.argument[2]) != 0) return Errno::einval;
  const SchedulingAttributes attributes = TRY(read_attributes(call, call.address(1)));
  if (static_cast<i32>(attributes.policy) < 0) return Errno::einval;
  const Ref<Thread> thread = TRY(thread_of(call, call.number(0)));
  if ((attributes.flags & ~known_flags) != 0) return Errno::einval;
  const Thread::Policy has = thread->policy_and_priority();
  const bool keep_policy = (attributes.flags & flag_keep_policy) != 0;
  const bool keep_parameters = (attributes.flags & flag_keep_parameters) != 0;
  const u32 policy = keep_policy ? has.policy & ~Thread::reset_on_fork : attributes.policy;
  if (policy == deadline && !keep_parameters) return give_deadline(call, *thread, attributes);
  if (keep_parameters && has.priority == sched::deadline_priority) {
    TRY(check_clamps(attributes));
    return 0;
  }
  const u32 priority = keep_parameters ? has.priority : attributes.priority;
  TRY(check_policy(policy, priority));
  // Keeping the parameters keeps the policy, too: Linux checks what is asked for, and leaves it.
  const u32 kept = keep_parameters ? has.policy & ~Thread::reset_on_fork : policy;
  const u32 fresh = kept | ((attributes.flags & flag_reset_on_fork) != 0 ? Thread::reset_on_fork : 0);
  TRY(check_rights(call, *thread, fresh, priority, keep_parameters ? thread->nice() : clamped_nice(attributes.nice)));
  TRY(check_clamps(attributes));
  TRY(thread->change_policy({fresh, priority}));
  if (!keep_parameters && (policy == other || policy == batch)) thread->change_nice(clamped_nice(attributes.nice));
  return tell(call, *thread);
}

Result<i64> sys_sched_get_priority_max(Call& call) {
  switch (static_cast<u32>(call.argument[0])) {
    case fifo:
    case round_robin: return 99;
    case other:
    case batch:
    case idle:
    case deadline: return 0;
    default: return Errno::einval;
  }
}
Result<i64> sys_sched_get_priority_min(Call& call) {
  const i64 max = TRY(sys_sched_get_priority_max(call));
  return max == 99 ? 1 : 0;
}

constexpr Entry entries[] = {
    {24, "sched_yield", sys_sched_yield},
    {142, "sched_setparam", sys_sched_setparam},
    {143, "sched_getparam", sys_sched_getparam},
    {144, "sched_setscheduler", sys_sched_setscheduler},
    {145, "sched_getscheduler", sys_sched_getscheduler},
    {146, "sched_get_priority_max", sys_sched_get_priority_max},
    {147, "sched_get_priority_min", sys_sched_get_priority_min},
    {148, "sched_rr_get_interval", sys_sched_rr_get_interval},
    {203, "sched_setaffinity", sys_sched_setaffinity},
    {204, "sched_getaffinity", sys_sched_getaffinity},
    {309, "getcpu", sys_getcpu},
    {314, "sched_setattr", sys_sched_setattr},
    {315, "sched_getattr", sys_sched_getattr},
};

}  // namespace

std::span<const Entry> scheduling_calls() {
  return entries;
}

}  // namespace corral::abi

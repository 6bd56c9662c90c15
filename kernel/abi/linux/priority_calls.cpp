// getpriority, setpriority, ioprio_get, ioprio_set: of a thread, a process group, or a user. Source: Linux getpriority(2),
// ioprio_set(2).
#include "abi/linux/call.h"
#include "task/authority.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

// Whom a call means; the calls number them differently.
enum class Whose : u8 { thread, group, user };

// Calls visit(thread) for each that is meant. esrch: nobody.
template <class Visitor>
Result<void> for_those(Call& call, Whose whose, i32 id, Visitor&& visit) {
  if (whose == Whose::thread) {
    const Ref<Thread> thread = id == 0 ? Ref<Thread>::share(call.thread) : processes::find_thread({id});
    if (!thread) return Errno::esrch;
    visit(*thread);
    return {};
  }
  const u32 user = id == 0 ? call.thread.credentials().user.real : static_cast<u32>(id);
  const i32 group = id == 0 ? call.process.group.load(Order::relaxed) : id;
  bool any = false;
  processes::for_each([&](Process& process) {
    if (whose == Whose::group && process.group.load(Order::relaxed) != group) return true;
    // Not inside for_each_thread: what is visited takes the process's lock.
    for (Ref<Thread> thread = process.next_thread(ThreadId{0}); thread; thread = process.next_thread(thread->id())) {
      if (whose == Whose::user && thread->credentials_for_others()->user.real != user) continue;
      any = true;
      visit(*thread);
    }
    return true;
  });
  if (!any) return Errno::esrch;
  return {};
}

// ---- nice values -------------------------------------------------------------------------------------------------------

Result<Whose> whose_priority(Call& call) {
  switch (call.number(0)) {
    case 0: return Whose::thread;
    case 1: return Whose::group;
    case 2: return Whose::user;
    default: return Errno::einval;
  }
}

Result<i64> sys_getpriority(Call& call) {
  i64 highest = 0;
  if (call.number(0) == 0 && call.number(1) != 0) return i64{20 - TRY(processes::schedule_of({call.number(1)})).nice};
  TRY(for_those(call, TRY(whose_priority(call)), call.number(1), [&](const Thread& thread) {
    const i64 told = 20 - thread.nice();
    if (told > highest) highest = told;
  }));
  return highest;
}

Result<i64> sys_setpriority(Call& call) {
  const i32 nice = call.number(2) < -20 ? -20 : call.number(2) > 19 ? 19 : call.number(2);
  Result<void> outcome;
  TRY(for_those(call, TRY(whose_priority(call)), call.number(1), [&](Thread& thread) {
    const Result<void> may = authority::may_change_nice(call.thread, thread, nice);
    if (may.ok()) {
      thread.change_nice(nice);
    } else {
      outcome = may;
    }
  }));
  return outcome.ok() ? Result<i64>{0} : outcome.error();
}

// ---- priorities of input and output: kept and told, for no disk serves one request before another -----------------------------

constexpr u32 class_shift = 13;
enum class IoClass : u32 { none = 0, real_time = 1, best_effort = 2, idle = 3 };

Result<void> check_io_priority(u32 priority) {
  constexpr u32 levels = 8;
  const u32 level = priority & ((1u << class_shift) - 1);
  switch (static_cast<IoClass>(priority >> class_shift)) {
    case IoClass::real_time:
    case IoClass::best_effort: return level < levels ? Result<void>{} : Errno::einval;
    case IoClass::idle: return {};
    case IoClass::none: return level == 0 ? Result<void>{} : Errno::einval;
  }
  return Errno::einval;
}

Result<Whose> whose_io_priority(Call& call) {
  switch (call.number(0)) {
    case 1: return Whose::thread;
    case 2: return Whose::group;
    case 3: return Whose::user;
    default: return Errno::einval;
  }
}

Result<i64> sys_ioprio_set(Call& call) {
  const auto priority = static_cast<u32>(call.argument[2]);
  TRY(check_io_priority(priority));
  const bool real_time = static_cast<IoClass>(priority >> class_shift) == IoClass::real_time;
  if (real_time && !call.thread.may(Capability::sys_nice) && !call.thread.may(Capability::sys_admin)) return Errno::eperm;
  Result<void> outcome;
  TRY(for_those(call, TRY(whose_io_priority(call)), call.number(1), [&](Thread& thread) {
    if (authority::owns(call.thread, thread, Capability::sys_nice)) {
      thread.io_priority.store(priority, Order::relaxed);
    } else {
      outcome = Errno::eperm;
    }
  }));
  return outcome.ok() ? Result<i64>{0} : outcome.error();
}

// Of several the best: the class with the smallest number but none, then the smallest level.
u32 better(u32 a, u32 b) {
  if (a >> class_shift == 0) return b;
  if (b >> class_shift == 0) return a;
  return a < b ? a : b;
}

Result<i64> sys_ioprio_get(Call& call) {
  u32 best = 0;
  TRY(for_those(call, TRY(whose_io_priority(call)), call.number(1),
                [&](const Thread& thread) { best = better(best, thread.io_priority.load(Order::relaxed)); }));
  return best;
}

constexpr Entry entries[] = {{140, "getpriority", sys_getpriority},
                             {141, "setpriority", sys_setpriority},
                             {251, "ioprio_set", sys_ioprio_set},
                             {252, "ioprio_get", sys_ioprio_get}};

}  // namespace

std::span<const Entry> priority_calls() {
  return entries;
}

}  // namespace corral::abi

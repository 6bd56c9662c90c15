// Sending signals: kill and its relatives. Source: Linux kill(2), tgkill(2), rt_sigqueueinfo(2). As on Linux a receiver that does
// not exist is told before a number that no signal has.
#include "abi/linux/call.h"
#include "task/authority.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

SignalInfo from_caller(const Call& call, int signal, i32 code) {
  const u32 user = call.thread.credentials().user.real;
  return {.number = signal, .code = code, .sender = call.process.id().value, .sender_user = user};
}

Process& process_of(Process& process) {
  return process;
}
Process& process_of(Thread& thread) {
  return thread.process();
}

// Signal 0 only asks.
template <class Receiver>
Result<void> send_or_ask(const Call& call, Receiver& receiver, const SignalInfo& info) {
  if (info.number < 0 || info.number > signal_count) return Errno::einval;
  TRY(authority::may_signal(call.thread, process_of(receiver), info.number));
  if (info.number == 0) return {};
  return signals::send(receiver, info);
}

// Calls visit(process) for each, for SIGKILL also for those that are made meanwhile: a process that has been killed makes no more
// (Process::create), so what one pass misses are children that got a number behind it, and the next finds those.
template <class Visitor>
void for_each_reached(int signal, Visitor&& visit) {
  constexpr u32 most_passes = 16;  // others may make processes, too
  for (u32 pass = 0; pass < most_passes; ++pass) {
    const u64 before = processes::created_total();
    processes::for_each([&](Process& process) {
      visit(process);
      return true;
    });
    if (signal != sigkill || processes::created_total() == before) return;
  }
}

// Everybody but the first process and the sender. That some may not be sent anything is not told.
Result<i64> send_to_all(Call& call, const SignalInfo& info) {
  bool any = false;
  Result<void> result;
  for_each_reached(info.number, [&](Process& process) {
    if (process.id().value == 1 || &process == &call.process) return;
    any = true;
    const Result<void> sent = send_or_ask(call, process, info);
    if (sent.ok() || sent.error() != Errno::eperm) result = sent;
  });
  if (!any) return Errno::esrch;
  TRY(result);
  return 0;
}

// Succeeds when one of the group could be reached.
Result<i64> send_to_group(Call& call, i32 group, const SignalInfo& info) {
  bool reached = false;
  Result<void> result{Errno::esrch};
  for_each_reached(info.number, [&](Process& process) {
    if (process.group.load(Order::relaxed) != group) return;
    result = send_or_ask(call, process, info);
    reached = reached || result.ok();
  });
  if (!reached) TRY(result);
  return 0;
}

// The number of any of its threads stands for the process, until it is reaped: threads may be leaving then.
Ref<Process> receiver_numbered(i32 id) {
  Ref<Process> process = processes::find({id});
  if (process) return process;
  const Ref<Thread> thread = processes::find_thread({id});
  return thread ? processes::find(thread->process().id()) : Ref<Process>{};
}

Result<i64> sys_kill(Call& call) {
  const i32 target = call.number(0);
  const int signal = call.number(1);
  const SignalInfo info = from_caller(call, signal, code_user);
  if (target > 0) {
    const Ref<Process> process = receiver_numbered(target);
    if (!process) return Errno::esrch;
    TRY(send_or_ask(call, *process, info));
    return 0;
  }
  if (target == INT32_MIN) return Errno::esrch;
  if (target == -1) return send_to_all(call, info);
  return send_to_group(call, target == 0 ? call.process.group.load(Order::relaxed) : -target, info);
}

// `group` -1: any process's thread.
Result<i64> send_to_thread(const Call& call, i32 group, i32 id, const SignalInfo& info) {
  if (id <= 0 || group == 0) return Errno::einval;
  const Ref<Thread> thread = processes::find_thread({id});
  if (!thread || (group > 0 && thread->process().id().value != group)) return Errno::esrch;
  TRY(send_or_ask(call, *thread, info));
  return 0;
}

Result<i64> sys_tkill(Call& call) {
  return send_to_thread(call, -1, call.number(0), from_caller(call, call.number(1), code_tkill));
}

Result<i64> sys_tgkill(Call& call) {
  if (call.number(0) <= 0) return Errno::einval;
  return send_to_thread(call, call.number(0), call.number(1), from_caller(call, call.number(2), code_tkill));
}

// Only to itself may a process say that the kernel, kill or tgkill sent it.
Result<SignalInfo> queued(Call& call, VirtualAddress at, int signal, i32 receiver) {
  const UserSignalInfo given = TRY(call.read<UserSignalInfo>(at));
  if ((given.code >= 0 || given.code == code_tkill) && receiver != call.thread.id().value) return Errno::eperm;
  SignalInfo info = from_user(given);
  info.number = signal;
  if (info.tells_address()) info.value = given.fields[0];
  return info;
}

Result<i64> sys_rt_sigqueueinfo(Call& call) {
  const SignalInfo info = TRY(queued(call, call.address(2), call.number(1), call.number(0)));
  if (call.number(0) <= 0) return Errno::esrch;
  const Ref<Process> process = receiver_numbered(call.number(0));
  if (!process) return Errno::esrch;
  TRY(send_or_ask(call, *process, info));
  return 0;
}

Result<i64> sys_rt_tgsigqueueinfo(Call& call) {
  const UserSignalInfo given = TRY(call.read<UserSignalInfo>(call.address(3)));
  (void)given;  // an address that cannot be read is told first
  if (call.number(0) <= 0 || call.number(1) <= 0) return Errno::einval;
  const SignalInfo info = TRY(queued(call, call.address(3), call.number(2), call.number(1)));
  return send_to_thread(call, call.number(0), call.number(1), info);
}

constexpr Entry entries[] = {
    {62, "kill", sys_kill},      {129, "rt_sigqueueinfo", sys_rt_sigqueueinfo},     {200, "tkill", sys_tkill},
    {234, "tgkill", sys_tgkill}, {297, "rt_tgsigqueueinfo", sys_rt_tgsigqueueinfo},
};

}  // namespace

std::span<const Entry> send_calls() {
  return entries;
}

}  // namespace corral::abi

// Who a process is: numbers, process groups and sessions. Users: user_calls.cpp. Source: Linux credentials(7), setpgid(2).
#include "abi/linux/call.h"
#include "task/process_group.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

Result<i64> sys_getpid(Call& call) {
  return call.process.id().value;
}
Result<i64> sys_gettid(Call& call) {
  return call.thread.id().value;
}

Result<i64> sys_getppid(Call& call) {
  LockGuard guard{processes::lock()};
  return call.process.parent == nullptr ? 0 : call.process.parent->id().value;
}

Result<i64> sys_getpgid(Call& call) {
  if (call.number(0) == 0) return call.process.group.load(Order::relaxed);
  const Ref<Process> process = processes::find({call.number(0)});
  if (!process) return Errno::esrch;
  return process->group.load(Order::relaxed);
}
Result<i64> sys_getpgrp(Call& call) {
  return call.process.group.load(Order::relaxed);
}

Result<i64> sys_setpgid(Call& call) {
  const i32 id = call.number(0) == 0 ? call.process.id().value : call.number(0);
  const i32 group = call.number(1) == 0 ? id : call.number(1);
  if (group < 0) return Errno::einval;
  ProcessTable& table = process_table();
  LockGuard guard{table.lock};
  Process* process = table.find(ProcessId{id});
  if (process == nullptr || (process != &call.process && process->parent != &call.process)) return Errno::esrch;
  const i32 session = call.process.session.load(Order::relaxed);
  if (process->session.load(Order::relaxed) != session) return Errno::eperm;
  if (process != &call.process && process->executed.load(Order::relaxed)) return Errno::eacces;
  if (process->session.load(Order::relaxed) == id) return Errno::eperm;
  if (group != id) {
    bool found = false;
    for (Process* p = table.next(ProcessId{0}); p != nullptr && !found; p = table.next(p->id())) {
      found = p->group.load(Order::relaxed) == group && p->session.load(Order::relaxed) == session;
    }
    if (!found) return Errno::eperm;
  }
  process->group.store(group, Order::relaxed);
  return 0;
}

Result<i64> sys_getsid(Call& call) {
  if (call.number(0) == 0) return call.process.session.load(Order::relaxed);
  const Ref<Process> process = processes::find({call.number(0)});
  if (!process) return Errno::esrch;
  return process->session.load(Order::relaxed);
}

Result<i64> sys_setsid(Call& call) {
  const i32 id = call.process.id().value;
  if (process_groups::session_of(id) != 0) return Errno::eperm;  // there is a group of that number
  call.process.without_terminal.store(false, Order::relaxed);
  call.process.group.store(id, Order::relaxed);
  call.process.session.store(id, Order::relaxed);
  return id;
}

constexpr Entry entries[] = {
    {39, "getpid", sys_getpid},  {109, "setpgid", sys_setpgid}, {110, "getppid", sys_getppid}, {111, "getpgrp", sys_getpgrp},
    {112, "setsid", sys_setsid}, {121, "getpgid", sys_getpgid}, {124, "getsid", sys_getsid},   {186, "gettid", sys_gettid},
};

}  // namespace

std::span<const Entry> identity_calls() {
  return entries;
}

}  // namespace corral::abi

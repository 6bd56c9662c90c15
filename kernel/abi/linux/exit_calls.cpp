// exit, exit_group, and what the kernel does in a thread's memory when it ends: set_tid_address, set_robust_list, get_robust_list.
// Source: Linux exit(2), exit_group(2), set_tid_address(2), get_robust_list(2).
#include "abi/linux/call.h"
#include "task/authority.h"
#include "task/tracees.h"

namespace corral::abi {

namespace {

Result<i64> sys_exit(Call& call) {
  call.thread.end_wanted = true;
  const i32 status = (call.number(0) & 0xff) << 8;
  call.process.note_status(status);
  if (Tracee* tracee = call.thread.tracee.load(Order::relaxed); tracee != nullptr) tracee->exit_status = status;
  return 0;
}

Result<i64> sys_exit_group(Call& call) {
  call.process.end((call.number(0) & 0xff) << 8);
  return 0;
}

Result<i64> sys_set_tid_address(Call& call) {
  call.thread.clear_child_tid = call.address(0);
  return call.thread.id().value;
}

Result<i64> sys_set_robust_list(Call& call) {
  constexpr u64 head_size = 24;
  if (call.argument[1] != head_size) return Errno::einval;
  call.thread.robust_list.store(call.argument[0], Order::relaxed);
  return 0;
}

Result<i64> sys_get_robust_list(Call& call) {
  constexpr u64 head_size = 24;
  Ref<Thread> thread = Ref<Thread>::share(call.thread);
  if (call.number(0) != 0) {
    thread = processes::find_thread({call.number(0)});
    if (!thread) return Errno::esrch;
    TRY(authority::may_look_into(call.thread, thread->process(), authority::As::real));
  }
  TRY(call.write(call.address(2), head_size));
  TRY(call.write(call.address(1), thread->robust_list.load(Order::relaxed)));
  return 0;
}

constexpr Entry entries[] = {
    {60, "exit", sys_exit},
    {218, "set_tid_address", sys_set_tid_address},
    {231, "exit_group", sys_exit_group},
    {273, "set_robust_list", sys_set_robust_list},
    {274, "get_robust_list", sys_get_robust_list},
};

}  // namespace

std::span<const Entry> exit_calls() {
  return entries;
}

}  // namespace corral::abi

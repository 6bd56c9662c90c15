// getrlimit, setrlimit, prlimit64. Source: Linux getrlimit(2). What each limit does: docs/caveats.md.
#include "abi/linux/call.h"
#include "fs/file_table.h"
#include "task/authority.h"

namespace corral::abi {

namespace {

struct Limit {
  u64 soft, hard;
};

// Tells those who do not look at the process's limits by themselves.
void make_effective(Process& process, u32 resource) {
  switch (resource) {
    case ResourceLimits::address_space_limit:
    case ResourceLimits::data_limit:
    case ResourceLimits::stack_limit:
      if (const Ref<vm::AddressSpace> space = process.space()) {
        space->set_limits({process.limits.address_space, process.limits.data, process.limits.stack});
      }
      break;
    case ResourceLimits::cpu: process.cpu_timers.limit_changed(); break;
    default: break;
  }
}

// Where the old limits go is made ready before anything is changed.
Result<Limit> exchange(const Call& call, Process& process, u32 resource, const Limit* wanted) {
  if (resource >= ResourceLimits::count) return Errno::einval;
  u64& soft = process.limits.soft(resource);
  u64& hard = process.limits.hard[resource];
  const Limit old{soft, hard};
  if (wanted == nullptr) return old;
  if (wanted->soft > wanted->hard) return Errno::einval;
  if (resource == ResourceLimits::file_limit && wanted->hard > fs::FileTable::max_descriptors) return Errno::eperm;
  if (wanted->hard > hard && !call.thread.may(Capability::sys_resource)) return Errno::eperm;
  hard = wanted->hard;
  soft = wanted->soft;
  make_effective(process, resource);
  return old;
}

Result<i64> sys_prlimit64(Call& call) {
  const bool changes = call.argument[2] != 0;
  Limit wanted{};
  if (changes) wanted = TRY(call.read<Limit>(call.address(2)));
  Ref<Process> process = Ref<Process>::share(call.process);
  if (call.number(0) != 0) {
    process = processes::find({call.number(0)});
    if (!process) return Errno::esrch;
    TRY(authority::may_limit(call.thread, *process));
  }
  const bool asks = call.argument[3] != 0;
  if (asks) TRY(vm::prepare(call.space, call.thread.caller, call.address(3), sizeof(Limit), vm::Access::write));
  const Limit old = TRY(exchange(call, *process, static_cast<u32>(call.argument[1]), changes ? &wanted : nullptr));
  if (asks) TRY(call.write(call.address(3), old));
  return 0;
}

Result<i64> sys_getrlimit(Call& call) {
  const Limit old = TRY(exchange(call, call.process, static_cast<u32>(call.argument[0]), nullptr));
  TRY(call.write(call.address(1), old));
  return 0;
}

Result<i64> sys_setrlimit(Call& call) {
  const Limit wanted = TRY(call.read<Limit>(call.address(1)));
  (void)TRY(exchange(call, call.process, static_cast<u32>(call.argument[0]), &wanted));
  return 0;
}

constexpr Entry entries[] = {
    {97, "getrlimit", sys_getrlimit}, {160, "setrlimit", sys_setrlimit}, {302, "prlimit64", sys_prlimit64}};

}  // namespace

std::span<const Entry> limit_calls() {
  return entries;
}

}  // namespace corral::abi

// getrlimit, setrlimit, prlimit: limits on resources. Source: Linux getrlimit(2).
//
// Those that bound something here are enforced. Those that never bound root on Linux either, or that have nothing to bound
// here, are kept and told. A limit that Linux would enforce and Corral does not cannot be lowered: EPERM, not a pretence.
#include "abi/linux/call.h"
#include "fs/file_table.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

constexpr u64 unlimited = ~u64{0};

struct Limit {  // struct rlimit64
  u64 soft, hard;
};

// Where the soft limit is; null: not offered.
u64* soft_limit(Process::Limits& limits, u32 resource) {
  switch (resource) {
    case Process::Limits::stack_number: return &limits.stack;
    case Process::Limits::processes_number: return &limits.processes;
    case Process::Limits::open_files_number: return &limits.open_files;
    case Process::Limits::address_space_number: return &limits.address_space;
    case Process::Limits::pending_signals_number: return &limits.pending_signals;
    case Process::Limits::core_number: return &limits.core;
    case Process::Limits::resident_number: return &limits.resident;
    case Process::Limits::locked_memory_number: return &limits.locked_memory;
    case Process::Limits::locks_number: return &limits.locks;
    case Process::Limits::message_queues_number: return &limits.message_queues;
    case Process::Limits::nice_number: return &limits.nice;
    case Process::Limits::real_time_priority_number: return &limits.real_time_priority;
    default: return nullptr;
  }
}

Result<i64> change(Process& process, u32 resource, const Limit* wanted, Limit* previous) {
  if (resource >= Process::Limits::count) return Errno::einval;
  Process::Limits& limits = process.limits;
  u64* const soft = soft_limit(limits, resource);
  if (wanted != nullptr) {
    if (wanted->soft > wanted->hard) return Errno::einval;
    if (resource == Process::Limits::open_files_number && wanted->hard > fs::FileTable::max_descriptors) return Errno::eperm;
    if (soft == nullptr && wanted->soft != unlimited) return Errno::eperm;
  }
  if (previous != nullptr) *previous = {soft != nullptr ? *soft : unlimited, limits.hard[resource]};
  if (wanted == nullptr) return 0;
  limits.hard[resource] = wanted->hard;
  if (soft == nullptr) return 0;
  *soft = wanted->soft;
  if (resource == Process::Limits::address_space_number) {
    if (const Ref<vm::AddressSpace> space = process.space()) space->set_limit(wanted->soft);
  }
  return 0;
}

Result<i64> sys_prlimit64(Call& call) {
  const VirtualAddress new_at = call.address(2);
  const VirtualAddress old_at = call.address(3);
  Limit wanted{};
  Limit previous{};
  if (new_at.value != 0) wanted = TRY(call.read<Limit>(new_at));
  Ref<Process> process = Ref<Process>::share(call.process);
  if (call.number(0) != 0) {
    process = processes::find({call.number(0)});
    if (!process) return Errno::esrch;
  }
  if (old_at.value != 0) TRY(vm::prepare(call.space, call.thread.caller, old_at, sizeof previous, vm::Access::write));
  (void)TRY(change(*process, static_cast<u32>(call.argument[1]), new_at.value != 0 ? &wanted : nullptr, &previous));
  if (old_at.value != 0) TRY(call.write(old_at, previous));
  return 0;
}

Result<i64> sys_getrlimit(Call& call) {
  Limit present{};
  (void)TRY(change(call.process, static_cast<u32>(call.argument[0]), nullptr, &present));
  TRY(call.write(call.address(1), present));
  return 0;
}

Result<i64> sys_setrlimit(Call& call) {
  const Limit wanted = TRY(call.read<Limit>(call.address(1)));
  return change(call.process, static_cast<u32>(call.argument[0]), &wanted, nullptr);
}

constexpr Entry entries[] = {
    {97, "getrlimit", sys_getrlimit}, {160, "setrlimit", sys_setrlimit}, {302, "prlimit64", sys_prlimit64}};

}  // namespace

std::span<const Entry> limit_calls() {
  return entries;
}

}  // namespace corral::abi

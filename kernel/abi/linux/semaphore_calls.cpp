// semget, semop, semtimedop, semctl. The order of the checks is Linux's. Source: Linux man-pages semget(2), semop(2), semctl(2).
#include "abi/linux/file_handlers.h"
#include "abi/linux/ipc_structures.h"
#include "abi/linux/time_values.h"
#include "device/clock.h"
#include "ipc/sysv/semaphore_set.h"
#include "memory/heap_array.h"

namespace corral::abi {

namespace {

using ipc::SemaphoreLimits;
using ipc::SemaphoreOperation;
using ipc::SemaphoreSet;

// `wanted`: bits of access_read …; 0: whoever asks.
Result<Ref<SemaphoreSet>> set_numbered(Call& call, u32 wanted) {
  LockGuard guard{ipc::semaphores::table().lock()};
  SemaphoreSet* set = ipc::semaphores::table().find(call.number(0));
  if (set == nullptr) return Errno::einval;
  TRY(ipc::check_access(set->ownership, call.thread.credentials(), wanted));
  return Ref<SemaphoreSet>::share(*set);
}

Result<i64> sys_semget(Call& call) {
  const i32 count = call.number(1);
  if (count < 0 || static_cast<u32>(count) > SemaphoreLimits::per_set.value()) return Errno::einval;
  const auto fits = [&](SemaphoreSet& set) -> Result<void> {
    return static_cast<u32>(count) > set.count() ? Result<void>{Errno::einval} : Result<void>{};
  };
  const auto make = [&]() -> Result<Ref<SemaphoreSet>> {
    if (count == 0) return Errno::einval;
    if (ipc::semaphores::in_all() + static_cast<u32>(count) > SemaphoreLimits::in_all.value()) return Errno::enospc;
    return SemaphoreSet::create(static_cast<u32>(count));
  };
  return i64{TRY(ipc::get(ipc::semaphores::table(), call.thread.credentials(), call.number(0),
                          static_cast<u32>(call.argument[2]), fits, make))};
}

// ---- semop -----------------------------------------------------------------------------------------------------------------

constexpr unsigned word_deadline = 0;  // of the thread's StepState
constexpr u32 few = 16;  // operations that need no memory of their own

// No signal restarts this call once it has come to its set.
Result<void> ended_by_signals(Result<void> outcome) {
  return !outcome.ok() && outcome.error() == Errno::restart ? Result<void>{Errno::eintr} : outcome;
}

Result<void> operate(Call& call, std::span<SemaphoreOperation> operations, Instant deadline) {
  TRY(vm::copy_in(call.space, call.thread.caller, operations.data(), call.address(1), operations.size_bytes()));
  bool alters = false;
  u32 highest = 0;
  for (const SemaphoreOperation& operation : operations) {
    alters = alters || operation.change != 0;
    highest = operation.number > highest ? operation.number : highest;
  }
  const Ref<SemaphoreSet> set = TRY(set_numbered(call, 0));
  if (highest >= set->count()) return Errno::efbig;
  (void)TRY(set_numbered(call, alters ? ipc::access_write : ipc::access_read));
  call.thread.step.word[word_deadline] = static_cast<u64>(deadline.ns);
  return ended_by_signals(set->operate(call.thread, operations, deadline));
}

// What the first run of the call does, up to the wait if there is one.
Result<void> begin(Call& call, VirtualAddress timeout_at) {
  const u32 count = static_cast<u32>(call.argument[2]);
  Instant deadline = never;
  TimeSpec spec{};
  if (timeout_at.value != 0) spec = TRY(call.read<TimeSpec>(timeout_at));
  if (count > SemaphoreLimits::operations.value()) return Errno::e2big;
  if (count < 1) return Errno::einval;
  if (call.number(0) < 0) return Errno::einval;
  if (timeout_at.value != 0) deadline = deadline_after(clock::now(), TRY(duration_of(spec)));
  if (count <= few) {
    SemaphoreOperation operations[few];
    return operate(call, std::span{operations, count}, deadline);
  }
  memory::HeapArray<SemaphoreOperation> operations;
  TRY(operations.allocate(count));
  return operate(call, operations.all(), deadline);
}

Result<i64> operate(Call& call, VirtualAddress timeout_at) {
  const StepState& step = call.thread.step;
  if (!step.kept) return success(begin(call, timeout_at));
  return success(ended_by_signals(SemaphoreSet::go_on(call.thread, Instant{static_cast<i64>(step.word[word_deadline])})));
}

Result<i64> sys_semop(Call& call) {
  return operate(call, VirtualAddress{});
}

Result<i64> sys_semtimedop(Call& call) {
  return operate(call, call.address(3));
}

// ---- semctl ----------------------------------------------------------------------------------------------------------------

struct SetStatus {  // struct semid64_ds
  IpcPermissions permissions;
  i64 operated;
  u64 unused_1;
  i64 changed;
  u64 unused_2, count, unused_3, unused_4;
};
static_assert(sizeof(SetStatus) == 104);

Result<i64> tell_limits(Call& call, bool in_use) {
  struct Limits {  // struct seminfo
    i32 map, sets, semaphores, undo, per_set, operations, undo_entries, undo_size, value, at_exit;
  };
  constexpr i32 highest = SemaphoreLimits::highest_value;
  const auto all = static_cast<i32>(SemaphoreLimits::in_all.value());
  const auto sets = static_cast<i32>(SemaphoreLimits::sets.value());
  const auto per_set = static_cast<i32>(SemaphoreLimits::per_set.value());
  const auto operations = static_cast<i32>(SemaphoreLimits::operations.value());
  Limits limits{all, sets, all, all, per_set, operations, operations, 20, highest, highest};
  i32 place = 0;
  {
    LockGuard guard{ipc::semaphores::table().lock()};
    place = ipc::semaphores::table().highest();
    if (in_use) limits.undo_size = static_cast<i32>(ipc::semaphores::table().used());
  }
  if (in_use) limits.at_exit = static_cast<i32>(ipc::semaphores::in_all());
  TRY(call.write(call.address(3), limits));
  return place;
}

Result<i64> tell_status(Call& call, bool by_place, bool anybody) {
  auto& table = ipc::semaphores::table();
  SetStatus status{};
  i32 number = 0;
  {
    LockGuard guard{table.lock()};
    SemaphoreSet* set = by_place ? table.at(static_cast<u32>(call.number(0))) : table.find(call.number(0));
    if (set == nullptr) return Errno::einval;
    if (!anybody) TRY(ipc::check_access(set->ownership, call.thread.credentials(), ipc::access_read));
    number = set->number;
    status.permissions = permissions_of(set->ownership, number);
    status.operated = set->operated_s.load(Order::relaxed);
    status.changed = set->changed_s.load(Order::relaxed);
    status.count = set->count();
  }
  TRY(call.write(call.address(3), status));
  return by_place ? number : 0;
}

Result<i64> remove_set(Call& call) {
  Ref<SemaphoreSet> set = TRY(ipc::take_out(ipc::semaphores::table(), call.thread.credentials(), call.number(0)));
  set->remove();
  return 0;
}

Result<i64> change_set(Call& call) {
  const SetStatus wanted = TRY(call.read<SetStatus>(call.address(3)));
  LockGuard guard{ipc::semaphores::table().lock()};
  SemaphoreSet* set = ipc::semaphores::table().find(call.number(0));
  if (set == nullptr) return Errno::einval;
  TRY(ipc::check_owner(set->ownership, call.thread.credentials()));
  change_owner(set->ownership, wanted.permissions);
  set->changed_s.store(present_s(), Order::relaxed);
  return 0;
}

// All values at once, to or from the program.
Result<i64> move_all(Call& call, SemaphoreSet& set, bool sets) {
  memory::HeapArray<u16> values;
  TRY(values.allocate(set.count()));
  const u64 size = values.all().size_bytes();
  if (!sets) {
    TRY(set.get_all(values.all()));
    TRY(vm::copy_out(call.space, call.thread.caller, call.address(3), values.data(), size));
    return 0;
  }
  TRY(vm::copy_in(call.space, call.thread.caller, values.data(), call.address(3), size));
  for (u16 value : values.all()) {
    if (value > SemaphoreLimits::highest_value) return Errno::erange;
  }
  TRY(set.set_all(values.all(), call.process.id().value));
  return 0;
}

Result<i64> sys_semctl(Call& call) {
  enum : u32 {
    get_process = 11,
    get_value = 12,
    get_all = 13,
    get_increase_waiters = 14,
    get_zero_waiters = 15,
    set_value = 16,
    set_all = 17,
    stat_place = 18,
    limits_in_use = 19,
    stat_any = 20,
  };
  const u32 command = static_cast<u32>(call.argument[2]);
  if (call.number(0) < 0) return Errno::einval;
  switch (command) {
    case ipc::command_limits:
    case limits_in_use: return tell_limits(call, command == limits_in_use);
    case ipc::command_stat: return tell_status(call, false, false);
    case stat_place:
    case stat_any: return tell_status(call, true, command == stat_any);
    case ipc::command_set: return change_set(call);
    case ipc::command_remove: return remove_set(call);
    default: break;
  }
  if (command < get_process || command > set_all) return Errno::einval;
  const i32 value = call.number(3);
  if (command == set_value && (value < 0 || value > static_cast<i32>(SemaphoreLimits::highest_value))) return Errno::erange;
  const bool changes = command == set_all || command == set_value;
  const u32 which = static_cast<u32>(call.argument[1]);
  const bool of_one = command != get_all && command != set_all;
  if (const Ref<SemaphoreSet> found = TRY(set_numbered(call, 0)); of_one && which >= found->count()) return Errno::einval;
  Ref<SemaphoreSet> set = TRY(set_numbered(call, changes ? ipc::access_write : ipc::access_read));
  if (!of_one) return move_all(call, *set, command == set_all);
  if (command == set_value) {
    TRY(set->set(which, static_cast<u32>(value), call.process.id().value));
    return 0;
  }
  const ipc::SemaphoreCounts counts = TRY(set->look(which));
  switch (command) {
    case get_process: return i64{counts.last_process};
    case get_value: return i64{counts.value};
    case get_increase_waiters: return i64{counts.increase_waiters};
    default: return i64{counts.zero_waiters};
  }
}

constexpr Entry entries[] = {
    {64, "semget", sys_semget}, {65, "semop", sys_semop}, {66, "semctl", sys_semctl}, {220, "semtimedop", sys_semtimedop}};

}  // namespace

std::span<const Entry> semaphore_calls() {
  return entries;
}

}  // namespace corral::abi

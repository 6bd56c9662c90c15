// mlock, mlock2, munlock, mlockall, munlockall. Source: Linux mlock(2).
//
// Memory is never written to a disc and never taken away, so that locking pages means to touch them, to count them (RLIMIT_MEMLOCK) and not
// to let them be discarded. mlockall does not touch what is mapped already, and does not need to.
#include "abi/linux/page_lock_calls.h"

namespace corral::abi {

namespace {

constexpr u32 phase_marked = 1;

// The whole pages of a range; einval: it wraps round. Empty: end == start.
Result<void> pages_of(const Call& call, VirtualAddress& start, VirtualAddress& end) {
  start = call.address(0).page();
  end = start + round_up(call.argument[1] + call.argument[0] % page_size, page_size);
  if (end < start) return Errno::einval;
  return {};
}

// What is locked already counts once.
bool too_many(const Call& call, VirtualAddress start, VirtualAddress end) {
  const u64 bytes = end - start;
  return exceeds_lock_limit(call, bytes) && exceeds_lock_limit(call, bytes - call.space.locked_bytes(start, end));
}

Result<i64> lock_pages(Call& call, bool on_fault) {
  StepState& step = call.thread.step;
  VirtualAddress start;
  VirtualAddress end;
  const Result<void> range = pages_of(call, start, end);
  if (step.phase != phase_marked) {
    if (!call.thread.caller.under_way()) {
      if (!may_lock_pages(call)) return Errno::eperm;
      if (range.ok() && too_many(call, start, end)) return Errno::enomem;
      TRY(range);
      if (start == end) return 0;
    }
    TRY(call.space.set_locked(call.thread.caller, start, end - start, true));
    step.phase = phase_marked;
  }
  if (on_fault) return 0;
  const Result<void> touched = touch_pages(call, start, end, vm::Access::write, true);
  if (touched.ok()) return 0;
  if (touched.error() == Errno::blocked) return Errno::blocked;
  return touched.error() == Errno::enomem ? Errno::eagain : Errno::enomem;  // a part that may not be accessed
}

Result<i64> sys_mlock(Call& call) {
  return lock_pages(call, false);
}

Result<i64> sys_mlock2(Call& call) {
  constexpr u32 on_fault = 1;
  const auto flags = static_cast<u32>(call.argument[2]);
  if ((flags & ~on_fault) != 0) return Errno::einval;
  return lock_pages(call, flags != 0);
}

Result<i64> sys_munlock(Call& call) {
  VirtualAddress start;
  VirtualAddress end;
  TRY(pages_of(call, start, end));
  if (start == end) return 0;
  TRY(call.space.set_locked(call.thread.caller, start, end - start, false));
  return 0;
}

Result<i64> sys_mlockall(Call& call) {
  constexpr u32 current = 1, future = 2, on_fault = 4;
  const auto flags = static_cast<u32>(call.argument[0]);
  if (flags == 0 || (flags & ~(current | future | on_fault)) != 0 || flags == on_fault) return Errno::einval;
  if (!call.thread.caller.under_way()) {
    if (!may_lock_pages(call)) return Errno::eperm;
    const u64 all = call.space.usage().mapped_bytes;
    if ((flags & current) != 0 && exceeds_lock_limit(call, all - call.space.locked_bytes())) return Errno::enomem;
    call.space.lock_new((flags & future) != 0);
  }
  if ((flags & current) != 0) TRY(call.space.set_all_locked(call.thread.caller, true));
  return 0;
}

Result<i64> sys_munlockall(Call& call) {
  call.space.lock_new(false);
  TRY(call.space.set_all_locked(call.thread.caller, false));
  return 0;
}

constexpr Entry entries[] = {{149, "mlock", sys_mlock},
                             {150, "munlock", sys_munlock},
                             {151, "mlockall", sys_mlockall},
                             {152, "munlockall", sys_munlockall},
                             {325, "mlock2", sys_mlock2}};

}  // namespace

bool may_lock_pages(const Call& call) {
  return call.process.limits.locked_memory != 0 || call.thread.may(Capability::ipc_lock);
}

bool exceeds_lock_limit(const Call& call, u64 bytes) {
  const u64 limit = call.process.limits.locked_memory;
  const u64 locked = call.space.locked_bytes();
  return (locked > limit || bytes > limit - locked) && !call.thread.may(Capability::ipc_lock);
}

Result<void> touch_pages(Call& call, VirtualAddress start, VirtualAddress end, vm::Access access, bool best) {
  u64& reached = call.thread.step.word[0];
  for (VirtualAddress page = start + reached; page < end; page = page + page_size) {
    // A shared page is not written by that, so that nothing has to be brought to its file.
    const vm::Access used = best && call.space.is_shared(page) ? vm::Access::read : access;
    Result<void> touched = call.space.handle_fault(call.thread.caller, page, used);
    if (best && !touched.ok() && touched.error() == Errno::eacces) {
      touched = call.space.handle_fault(call.thread.caller, page, vm::Access::read);
    }
    if (!touched.ok()) return touched.error() == Errno::eio ? Errno::efault : touched.error();
    reached = page + page_size - start;
  }
  return {};
}

std::span<const Entry> page_lock_calls() {
  return entries;
}

}  // namespace corral::abi

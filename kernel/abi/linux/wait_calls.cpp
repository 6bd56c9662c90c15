// wait4 and waitid: a parent learns of its children's ends and stops. Source: Linux wait4(2), waitid(2).
#include "abi/linux/call.h"
#include "abi/linux/resource_usage.h"
#include "task/exit.h"
#include "task/process_table.h"

namespace corral::abi {

namespace {

constexpr u32 no_hang = 1, untraced = 2, exited = 4, continued_too = 8, no_wait = 0x0100'0000;
constexpr u32 thread_options = 0xe000'0000;  // __WNOTHREAD, __WALL, __WCLONE

enum class What : u8 { nothing, ended, stopped, continued };

struct Selector {
  i32 id = -1;      // > 0: this process; -1: any; 0: own group; < -1: group -id
  i32 own_group = 0;
  bool ends = true, stops = false, continues = false;
};

bool selected(const Selector& s, const Process& child) {
  if (s.id > 0) return child.id().value == s.id;
  if (s.id == -1) return true;
  return child.group.load(Order::relaxed) == (s.id == 0 ? s.own_group : -s.id);
}

struct Found {
  Ref<Process> child;
  What what = What::nothing;
  i32 status = 0;  // wait4's form
};

// Looks for a child with news; waits for one when there are children at all. blocked, echild.
Result<Found> find(Call& call, const Selector& selector, bool may_wait) {
  LockGuard guard{processes::lock()};
  bool any = false;
  Found found;
  call.process.children.for_each([&](Process& child) {
    if (found.what != What::nothing || !selected(selector, child)) return;
    any = true;
    if (child.state == ProcessState::zombie && selector.ends) {
      found = {Ref<Process>::share(child), What::ended, child.exit_status};
    } else if (selector.stops && child.stop_signal != 0) {
      found = {Ref<Process>::share(child), What::stopped, (child.stop_signal << 8) | 0x7f};
    } else if (selector.continues && child.continued) {
      found = {Ref<Process>::share(child), What::continued, 0xffff};
    }
  });
  if (found.what != What::nothing) return found;
  if (!any) return Errno::echild;
  if (!may_wait) return found;
  return call.process.child_changed.wait(call.thread);
}

// Takes the news: a zombie is reaped, a stop is told once.
void consume(Call& call, const Found& found) {
  if (found.what == What::ended) add_children_times(call.process, *found.child);
  LockGuard guard{processes::lock()};
  switch (found.what) {
    case What::ended:
      if (found.child->state == ProcessState::zombie) reap(*found.child);
      break;
    case What::stopped: found.child->stop_signal = 0; break;
    case What::continued: found.child->continued = false; break;
    case What::nothing: break;
  }
}

Result<i64> sys_wait4(Call& call) {
  const u32 options = static_cast<u32>(call.argument[2]);
  if ((options & ~(no_hang | untraced | continued_too | thread_options)) != 0) return Errno::einval;
  const VirtualAddress status_at = call.address(1);
  const VirtualAddress usage_at = call.address(3);
  if (status_at.value != 0) TRY(vm::prepare(call.space, call.thread.caller, status_at, sizeof(i32), vm::Access::write));
  if (usage_at.value != 0) {
    TRY(vm::prepare(call.space, call.thread.caller, usage_at, sizeof(ResourceUsage), vm::Access::write));
  }
  Selector selector;
  selector.id = call.number(0);
  selector.own_group = call.process.group.load(Order::relaxed);
  selector.stops = (options & untraced) != 0;
  selector.continues = (options & continued_too) != 0;
  const Found found = TRY(find(call, selector, (options & no_hang) == 0));
  if (found.what == What::nothing) return 0;
  if (status_at.value != 0) TRY(call.write(status_at, found.status));
  if (usage_at.value != 0) TRY(call.write(usage_at, usage_of_ended(*found.child)));
  consume(call, found);
  return found.child->id().value;
}

Result<i64> sys_waitid(Call& call) {
  struct Information {  // siginfo_t for SIGCHLD
    i32 number, error, code, padding;
    i32 process;
    u32 user;
    i32 status;
    u8 rest[128 - 28];
  };
  const u32 options = static_cast<u32>(call.argument[3]);
  if ((options & ~(no_hang | no_wait | exited | untraced | continued_too | thread_options)) != 0) return Errno::einval;
  if ((options & (exited | untraced | continued_too)) == 0) return Errno::einval;
  const VirtualAddress at = call.address(2);
  if (at.value != 0) TRY(vm::prepare(call.space, call.thread.caller, at, sizeof(Information), vm::Access::write));
  Selector selector;
  selector.own_group = call.process.group.load(Order::relaxed);
  selector.ends = (options & exited) != 0;
  selector.stops = (options & untraced) != 0;
  selector.continues = (options & continued_too) != 0;
  switch (call.number(0)) {
    case 0: selector.id = -1; break;
    case 1:
      if (call.number(1) <= 0) return Errno::einval;
      selector.id = call.number(1);
      break;
    case 2:
      if (call.number(1) < 0) return Errno::einval;
      selector.id = -call.number(1);
      break;
    default: return Errno::einval;
  }
  const Found found = TRY(find(call, selector, (options & no_hang) == 0));
  Information information{};
  if (found.what != What::nothing) {
    const i32 signal = found.status & 0x7f;
    information.number = sigchld;
    information.process = found.child->id().value;
    switch (found.what) {
      case What::ended:
        information.code = signal == 0 ? 1 : (found.status & 0x80) != 0 ? 3 : 2;
        information.status = signal == 0 ? found.status >> 8 & 0xff : signal;
        break;
      case What::stopped:
        information.code = 5;
        information.status = found.status >> 8;
        break;
      default:
        information.code = 6;
        information.status = sigcont;
        break;
    }
  }
  if (at.value != 0) TRY(call.write(at, information));
  if (found.what != What::nothing && (options & no_wait) == 0) consume(call, found);
  return 0;
}

constexpr Entry entries[] = {{61, "wait4", sys_wait4}, {247, "waitid", sys_waitid}};

}  // namespace

std::span<const Entry> wait_calls() {
  return entries;
}

}  // namespace corral::abi

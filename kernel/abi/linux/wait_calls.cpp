// wait4 and waitid: a parent learns of its children's ends and stops. Source: Linux wait4(2), waitid(2).
#include "abi/linux/file_handlers.h"
#include "abi/linux/resource_usage.h"
#include "fs/event/process_file.h"
#include "task/exit.h"
#include "task/process_table.h"
#include "task/tracee.h"

namespace corral::abi {

namespace {

constexpr u32 no_hang = 1, untraced = 2, exited = 4, continued_too = 8, no_wait = 0x0100'0000;
constexpr u32 own_children_only = 0x2000'0000, all_children = 0x4000'0000,
              clones = 0x8000'0000;  // __WNOTHREAD, __WALL, __WCLONE
constexpr u32 thread_options = own_children_only | all_children | clones;

enum class What : u8 { nothing, ended, stopped, continued, trapped };  // trapped: a thread that the caller traces

struct Selector {
  i32 id = -1;      // > 0: this process; -1: any; 0: own group; < -1: group -id
  i32 own_group = 0;
  u32 options = 0;
  bool ends = true, stops = false, continues = false;
};

bool selected(const Selector& s, const Process& child) {
  // A child that does not send SIGCHLD is a "clone" child.
  if ((s.options & all_children) == 0 && (child.exit_signal != sigchld) != ((s.options & clones) != 0)) return false;
  if (s.id > 0) return child.id().value == s.id;
  if (s.id == -1) return true;
  return child.group.load(Order::relaxed) == (s.id == 0 ? s.own_group : -s.id);
}

// News of a child. While the caller waits for another core to tell of them, they are in its step (a child that is reaped is
// no longer in the table): phase 1, words: Process* with a reference, what, status, whose.
struct Found {
  Ref<Process> child;
  What what = What::nothing;
  i32 status = 0;  // wait4's form
  i32 id = 0;      // the child's, or that of its thread
};

void keep(StepState& step, Found& found) {
  step.phase = 1;
  step.word[0] = reinterpret_cast<u64>(found.child.get());
  step.word[1] = static_cast<u64>(found.what);
  step.word[2] = static_cast<u32>(found.status);
  step.word[3] = static_cast<u32>(found.id);
  if (found.child) found.child->retain();
}

Found kept(StepState& step) {
  Found found;
  auto* child = reinterpret_cast<Process*>(step.word[0]);
  if (child != nullptr) found.child = Ref<Process>::adopt(child);
  found.what = static_cast<What>(step.word[1]);
  found.status = static_cast<i32>(step.word[2]);
  found.id = static_cast<i32>(step.word[3]);
  step.phase = 0;
  return found;
}

// The news are told: nobody else is to hear them. A zombie is taken out of the table.
void consume(Process& parent, Process& child, What what) {
  switch (what) {
    case What::ended:
      add_children_usage(parent, child);
      reap(child);
      break;
    case What::stopped: child.stop_signal = 0; break;
    case What::continued: child.continued = false; break;
    case What::trapped:
    case What::nothing: break;
  }
}

// News of the child's threads that the caller traces. True: such a one is selected, with news or without.
bool look_at_traced(Process& child, const Selector& selector, Found& found) {
  bool any = false;
  child.for_each_thread([&](Thread& thread) {
    const i32 id = thread.id().value;
    if (found.what != What::nothing || !tracees::is_traced(thread)) return;
    const bool wanted = selector.id > 0 ? id == selector.id : selected(selector, child) || (selector.options & clones) != 0;
    if (!wanted) return;
    any = true;
    Tracee& tracee = *thread.tracee.load(Order::acquire);
    if (tracee.news == 0) return;
    found = {Ref<Process>::share(child), What::trapped, tracee.news, id};
    if ((selector.options & no_wait) == 0) tracee.news = 0;
  });
  return any;
}

// Looks for a child with news, and takes them unless `peek`; waits for one when there are children at all. blocked, echild.
Result<Found> find(Call& call, const Selector& selector) {
  if (call.thread.step.phase == 1) return kept(call.thread.step);
  LockGuard guard{processes::lock()};
  bool any = false;
  Found found;
  call.process.children.for_each([&](Process& child) {
    if (found.what != What::nothing) return;
    if (child.traced.load(Order::relaxed) != 0 && look_at_traced(child, selector, found)) any = true;
    if (found.what != What::nothing || !selected(selector, child)) return;
    any = true;
    const i32 id = child.id().value;
    if (child.state == ProcessState::zombie && selector.ends) {
      found = {Ref<Process>::share(child), What::ended, child.exit_status, id};
    } else if (selector.stops && child.stop_signal != 0) {
      found = {Ref<Process>::share(child), What::stopped, (child.stop_signal << 8) | 0x7f, id};
    } else if (selector.continues && child.continued) {
      found = {Ref<Process>::share(child), What::continued, 0xffff, id};
    }
  });
  if (found.what != What::nothing) {
    if ((selector.options & no_wait) == 0) consume(call.process, *found.child, found.what);
    return found;
  }
  if (!any) return Errno::echild;
  if ((selector.options & no_hang) != 0) return found;
  return call.process.child_changed.wait(call.thread);
}

Selector selector_of(const Call& call, i32 id, u32 options) {
  Selector selector;
  selector.id = id;
  selector.own_group = call.process.group.load(Order::relaxed);
  selector.options = options;
  selector.stops = (options & untraced) != 0;
  selector.continues = (options & continued_too) != 0;
  return selector;
}

struct Place {
  VirtualAddress at;
  u64 size;
};

Result<void> prepare(Call& call, VirtualAddress at, u64 size) {
  if (at.value == 0) return {};
  return vm::prepare(call.space, call.thread.caller, at, size, vm::Access::write);
}

Result<void> tell_usage(Call& call, VirtualAddress at, const Found& found) {
  if (at.value == 0 || found.what == What::nothing) return {};
  return call.write(at, usage_of_ended(*found.child));
}

// Passes on what telling the program has come to; when it has to wait, the news are kept for the next run.
Result<i64> outcome(Call& call, Found& found, const Result<void>& told, i64 value) {
  if (told) return value;
  if (told.error() == Errno::blocked) keep(call.thread.step, found);
  return told.error();
}

// What the program gave for the answer cannot be written to: that is told when there is one, which another call will get.
Result<i64> answer_in_vain(Call& call, Selector selector, Errno error) {
  if (error != Errno::efault) return error;
  selector.options |= no_wait;
  const Found found = TRY(find(call, selector));
  return found.what == What::nothing ? Result<i64>{i64{0}} : Errno::efault;
}

Result<i64> sys_wait4(Call& call) {
  const u32 options = static_cast<u32>(call.argument[2]);
  if ((options & ~(no_hang | untraced | continued_too | thread_options)) != 0) return Errno::einval;
  if (call.number(0) == INT32_MIN) return Errno::esrch;
  const VirtualAddress status_at = call.address(1);
  const VirtualAddress usage_at = call.address(3);
  const Selector selector = selector_of(call, call.number(0), options);
  for (const auto& [at, size] : {Place{status_at, sizeof(i32)}, Place{usage_at, sizeof(ResourceUsage)}}) {
    if (const Result<void> ready = prepare(call, at, size); !ready.ok()) return answer_in_vain(call, selector, ready.error());
  }
  Found found = TRY(find(call, selector));
  if (found.what == What::nothing) return 0;
  Result<void> told;
  if (status_at.value != 0) told = call.write(status_at, found.status);
  if (told) told = tell_usage(call, usage_at, found);
  return outcome(call, found, told, found.id);
}

UserSignalInfo information_of(const Found& found) {
  SignalInfo info;
  if (found.what == What::nothing) return for_user(info);
  info.number = sigchld;
  info.sender = found.id;
  const i32 signal = found.status & 0x7f;
  switch (found.what) {
    case What::ended:
      info.code = signal == 0 ? child_exited : (found.status & 0x80) != 0 ? child_dumped : child_killed;
      info.value = static_cast<u64>(signal == 0 ? found.status >> 8 & 0xff : signal);
      break;
    case What::stopped:
      info.code = child_stopped;
      info.value = static_cast<u64>(found.status >> 8);
      break;
    case What::trapped:
      info.code = child_trapped;
      info.value = static_cast<u64>(found.status >> 8);
      break;
    default:
      info.code = child_continued;
      info.value = sigcont;
      break;
  }
  return for_user(info);
}

Result<i64> wait_id(Call& call) {
  enum : i32 { any = 0, process = 1, group = 2, process_file = 3 };
  const u32 options = static_cast<u32>(call.argument[3]);
  if ((options & ~(no_hang | no_wait | exited | untraced | continued_too | thread_options)) != 0) return Errno::einval;
  if ((options & (exited | untraced | continued_too)) == 0) return Errno::einval;
  i32 id = -1;
  bool nonblocking = false;
  switch (call.number(0)) {
    case any: break;
    case process:
      if (call.number(1) <= 0) return Errno::einval;
      id = call.number(1);
      break;
    case group:
      if (call.number(1) < 0) return Errno::einval;
      id = call.number(1) == 0 ? 0 : -call.number(1);
      break;
    case process_file: {
      if (call.number(1) < 0) return Errno::einval;
      const Ref<fs::OpenFile> file = TRY(file_at(call, 1));
      id = TRY(fs::process_of_file(*file))->id().value;
      nonblocking = file->nonblocking();
      break;
    }
    default: return Errno::einval;
  }
  const VirtualAddress at = call.address(2);
  const VirtualAddress usage_at = call.address(4);
  Selector selector = selector_of(call, id, options);
  selector.ends = (options & exited) != 0;
  if (nonblocking) selector.options |= no_hang;
  for (const auto& [place, size] : {Place{at, sizeof(UserSignalInfo)}, Place{usage_at, sizeof(ResourceUsage)}}) {
    if (const Result<void> ready = prepare(call, place, size); !ready.ok())
      return answer_in_vain(call, selector, ready.error());
  }
  Found found = TRY(find(call, selector));
  if (found.what == What::nothing && nonblocking && (options & no_hang) == 0) return Errno::eagain;
  Result<void> told;
  if (at.value != 0) told = call.write(at, information_of(found));
  if (told) told = tell_usage(call, usage_at, found);
  return outcome(call, found, told, 0);
}

// As on Linux the information is written whatever comes out, so that a wrong pointer is told before anything else.
Result<i64> sys_waitid(Call& call) {
  Result<i64> result = wait_id(call);
  if (!result.ok() && (result.error() == Errno::einval || result.error() == Errno::echild) && call.argument[2] != 0) {
    TRY(call.write(call.address(2), for_user(SignalInfo{})));
  }
  return result;
}

constexpr Entry entries[] = {{61, "wait4", sys_wait4}, {247, "waitid", sys_waitid}};

}  // namespace

std::span<const Entry> wait_calls() {
  return entries;
}

}  // namespace corral::abi

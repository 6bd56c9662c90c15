// wait4 and waitid: a parent learns of its children's ends and stops. Source: Linux wait4(2), waitid(2).
#include "abi/linux/file_handlers.h"
#include "abi/linux/resource_usage.h"
#include "fs/event/process_file.h"
#include "task/exit.h"
#include "task/process_table.h"
#include "task/tracees.h"

namespace corral::abi {

namespace {

constexpr u32 no_hang = 1, untraced = 2, exited = 4, continued_too = 8, no_wait = 0x0100'0000;
constexpr u32 own_children_only = 0x2000'0000, all_children = 0x4000'0000,
              clones = 0x8000'0000;  // __WNOTHREAD, __WALL, __WCLONE
constexpr u32 thread_options = own_children_only | all_children | clones;

// trapped, thread_ended: of a thread that the caller traces.
enum class What : u8 { nothing, ended, stopped, continued, trapped, thread_ended };

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
    case What::thread_ended:
    case What::nothing: break;
  }
}

// News of a thread that the caller traces, whoever's it is.
Found look_at_traced(const Tracee& tracee, const Selector& selector) {
  const Thread& thread = *tracee.thread;
  Process& process = thread.process();
  const i32 id = thread.id().value;
  const bool leads = process.traced_leader == &tracee;
  // It ends for its tracer after all other threads that are traced.
  if (leads && process.state == ProcessState::zombie && selector.ends && process.traced.load(Order::relaxed) == 1) {
    return {Ref<Process>::share(process), What::ended, process.exit_status, id};
  }
  if (tracee.has_news && (!tracee.ended || selector.ends)) {
    return {Ref<Process>::share(process), tracee.ended ? What::thread_ended : What::trapped, tracee.news, id};
  }
  if (leads && selector.continues && process.continued) { return {Ref<Process>::share(process), What::continued, 0xffff, id}; }
  return {};
}

bool selected_traced(const Selector& s, const Tracee& tracee) {
  if (s.id > 0) return tracee.thread->id().value == s.id;
  Selector any_kind = s;
  any_kind.options |= all_children;
  return selected(any_kind, tracee.thread->process());
}

// What consuming such news leaves to be done without the table's lock.
struct Remains {
  Ref<Thread> thread;
  LateWord word;
};

Remains consume_traced(Process& caller, Tracee& tracee, const Found& found) {
  Process& process = tracee.thread->process();
  Remains remains;
  if (found.what == What::continued) process.continued = false;
  if (found.what == What::trapped) tracee.has_news = false;
  if (found.what == What::thread_ended) {
    remains.thread = tracees::unlink(tracee);
    tracees::tell_end(process);
  }
  if (found.what == What::ended) {
    const bool hidden = tracees::end_is_hidden(process);
    remains.thread = tracees::unlink(tracee);
    if (hidden) {
      remains.word = tell_parent_of_end(process);
    } else {
      consume(caller, process, What::ended);
    }
  }
  return remains;
}

// News of a child, as its parent sees them.
Found look_at_child(const Process& caller, Process& child, const Selector& selector) {
  const i32 id = child.id().value;
  // Its tracer hears of all that as news of its first thread.
  if (child.traced_leader != nullptr && child.traced_leader->tracer == &caller) return {};
  if (child.state == ProcessState::zombie && selector.ends && !tracees::end_is_hidden(child)) {
    return {Ref<Process>::share(child), What::ended, child.exit_status, id};
  }
  if (selector.stops && child.stop_signal != 0) {
    return {Ref<Process>::share(child), What::stopped, (child.stop_signal << 8) | 0x7f, id};
  }
  if (selector.continues && child.continued) return {Ref<Process>::share(child), What::continued, 0xffff, id};
  return {};
}

Result<Found> find_locked(Call& call, const Selector& selector, Remains& remains) {
  Process& caller = call.process;
  const bool takes = (selector.options & no_wait) == 0;
  LockGuard guard{processes::lock()};
  bool any = false;
  Found found;
  caller.children.for_each([&](Process& child) {
    if (found.what != What::nothing || !selected(selector, child)) return;
    any = true;
    found = look_at_child(caller, child, selector);
  });
  if (found.what != What::nothing) {
    if (takes) consume(caller, *found.child, found.what);
    return found;
  }
  caller.tracees.for_each([&](Tracee& tracee) {
    if (found.what != What::nothing || !selected_traced(selector, tracee)) return;
    any = true;
    found = look_at_traced(tracee, selector);
    if (found.what != What::nothing && takes) remains = consume_traced(caller, tracee, found);
  });
  if (found.what != What::nothing) return found;
  if (!any) return Errno::echild;
  if ((selector.options & no_hang) != 0) return found;
  return caller.child_changed.wait(call.thread);
}

// Looks for a child with news, or a thread that the caller traces, and takes them unless told not to; waits for some when there is
// anybody to hear of. blocked, echild.
Result<Found> find(Call& call, const Selector& selector) {
  if (call.thread.step.phase == 1) return kept(call.thread.step);
  Remains remains;
  Result<Found> found = find_locked(call, selector, remains);
  remains.word.send();
  return found;
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
  info.sender_user = found.child->credentials()->user.real;
  switch (found.what) {
    case What::ended:
    case What::thread_ended: {
      const EndDetails end = end_details(found.status);
      info.code = end.code;
      info.value = end.value;
      break;
    }
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

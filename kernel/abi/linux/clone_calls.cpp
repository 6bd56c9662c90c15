// clone, clone3, fork, vfork, unshare. Source: Linux clone(2), unshare(2).
#include "abi/linux/call.h"
#include "core/core.h"
#include "fs/event/process_file.h"
#include "fs/resources.h"
#include "lib/memory_functions.h"
#include "task/executive.h"
#include "task/tracees.h"

namespace corral::abi {

namespace {

enum CloneFlag : u64 {
  clone_vm = 0x100,
  clone_fs = 0x200,
  clone_files = 0x400,
  clone_sighand = 0x800,
  clone_pidfd = 0x1000,
  clone_traced = 0x2000,
  clone_vfork = 0x4000,
  clone_parent = 0x8000,
  clone_thread = 0x1'0000,
  clone_settls = 0x8'0000,
  clone_parent_settid = 0x10'0000,
  clone_child_cleartid = 0x20'0000,
  clone_detached = 0x40'0000,
  clone_untraced = 0x80'0000,
  clone_child_settid = 0x100'0000,
  clone_new_time = 0x80,  // unshare only: a signal's number for clone
  clone_new_user = 0x1000'0000,
  clone_new_any = 0x7e02'0000,
  clone_clear_sighand = 0x1'0000'0000,
};

struct CloneRequest {
  u64 flags = 0;
  u64 stack = 0;  // top; 0: the caller's
  u64 parent_tid = 0;
  u64 process_file = 0;  // where the descriptor of the child goes (CLONE_PIDFD)
  u64 child_tid = 0;
  u64 tls = 0;
  i32 exit_signal = 0;
};

enum Phase : u32 { start = 0, waiting_for_vfork_child = 1 };

Result<void> check(const Call& call, const CloneRequest& r) {
  if ((r.flags & clone_thread) != 0 && (r.flags & clone_sighand) == 0) return Errno::einval;
  if ((r.flags & clone_sighand) != 0 && (r.flags & clone_vm) == 0) return Errno::einval;
  if ((r.flags & clone_sighand) != 0 && (r.flags & clone_clear_sighand) != 0) return Errno::einval;
  if ((r.flags & clone_new_any) != 0) return Errno::einval;
  if ((r.flags & clone_pidfd) != 0 && (r.flags & (clone_thread | clone_detached)) != 0) return Errno::einval;
  // Files and directories belong to the process: a thread that would not share them is refused.
  if ((r.flags & clone_thread) != 0 && (r.flags & (clone_files | clone_fs)) != (clone_files | clone_fs)) return Errno::einval;
  // Both words are to stay prepared over the fork, which keeps one page.
  if ((r.flags & (clone_pidfd | clone_parent_settid | clone_vm)) == (clone_pidfd | clone_parent_settid) &&
      VirtualAddress{r.process_file}.page() != VirtualAddress{r.parent_tid}.page()) {
    return Errno::einval;
  }
  if ((r.flags & clone_parent) != 0 && &call.process == processes::first()) return Errno::einval;  // it would have no parent
  if ((r.flags & clone_settls) != 0 && r.tls >= arch::user_space_end) return Errno::eperm;
  if (r.exit_signal < 0 || r.exit_signal > signal_count) return Errno::einval;
  return {};
}

// The new thread continues where the caller is, with its own stack and result 0.
void copy_context(Thread& child, Thread& parent, const CloneRequest& r) {
  child.frame = parent.frame;
  child.frame.set_result(0);
  if (parent.tracee.load(Order::relaxed) != nullptr) child.frame.set_stepping(false);
  if (r.stack != 0) child.frame.set_stack_pointer({r.stack});
  child.tls = (r.flags & clone_settls) != 0 ? r.tls : parent.tls;
  child.second_base = parent.second_base;
  this_core().executive->save_floating_point(parent);
  child.fp.copy_from(parent.fp);
  child.signals.blocked = parent.signals.blocked;
  // Its stack, unless it runs in the same memory beside its parent.
  if ((r.flags & (clone_vm | clone_vfork)) != clone_vm) child.signals.alternate_stack = parent.signals.alternate_stack;
  if ((r.flags & clone_child_cleartid) != 0) child.clear_child_tid = {r.child_tid};
  child.inherit_wishes(parent);
  child.timer_slack_ns = child.usual_timer_slack_ns = parent.timer_slack_ns;
  child.node_policy = parent.node_policy;
  child.no_new_privileges.store(parent.no_new_privileges.load(Order::relaxed), Order::relaxed);
  child.io_priority.store(parent.io_priority.load(Order::relaxed), Order::relaxed);
  child.entity.last_core = this_core().id();
}

Result<Ref<Process>> make_process(Call& call, const CloneRequest& r, Ref<vm::AddressSpace> space) {
  Process& parent = call.process;
  Ref<ProcessResources> resources = (r.flags & clone_files) != 0 ? parent.resources : TRY(parent.resources->duplicate());
  const bool as_sibling = (r.flags & clone_parent) != 0;
  Ref<Process> child = TRY(Process::create(&parent, as_sibling));
  child->resources = std::move(resources);
  child->set_space(std::move(space));
  if (!as_sibling) child->exit_signal = r.exit_signal;
  child->group.store(parent.group.load(Order::relaxed), Order::relaxed);
  child->session.store(parent.session.load(Order::relaxed), Order::relaxed);
  child->without_terminal.store(parent.without_terminal.load(Order::relaxed), Order::relaxed);
  child->limits = parent.limits;
  child->manners.inherit(parent.manners);
  child->cpu_timers.limit_changed();
  child->places = parent.places;
  child->barriers.store(parent.barriers.load(Order::relaxed), Order::relaxed);
  child->memory_score.store(parent.memory_score.load(Order::relaxed), Order::relaxed);
  memcpy(child->name, parent.name, sizeof child->name);
  memcpy(child->executable, parent.executable, sizeof child->executable);
  child->inherit_actions(parent, (r.flags & clone_clear_sighand) != 0);
  return child;
}

// CLONE_PIDFD: the child's file, and its descriptor where the program wants it. What has been installed is in `file`.
Result<void> make_file_of(Call& call, Process& child, const CloneRequest& r, int& file) {
  Ref<fs::OpenFile> made = TRY(fs::make_process_file(child, 0));
  file = TRY(fs::Resources::of(call.process).files().install(std::move(made), true, call.process.limits.open_files));
  return call.write({r.process_file}, file);
}

// The child cannot be made: undoes what there is of it. `child` null: a thread.
void give_up(Call& call, Process* child, int file) {
  if (file >= 0) (void)fs::Resources::of(call.process).files().close(file);
  if (child != nullptr) child->abandon();
}

// What its maker's tracer asks for such a child by.
Tracee::Event event_of(const CloneRequest& r) {
  if ((r.flags & clone_untraced) != 0) return Tracee::none;
  if ((r.flags & clone_vfork) != 0) return Tracee::vfork;
  return r.exit_signal == sigchld ? Tracee::fork : Tracee::clone;
}

bool is_followed(const Thread& thread) {
  return thread.tracee.load(Order::relaxed) != nullptr;
}

// vfork: waits until the child does not use the memory any more. blocked.
Result<i64> wait_for_vfork_child(Thread& caller) {
  if (is_followed(caller) && tracees::stops_for_event(caller)) return caller.wait_for_resume();
  Process* child = reinterpret_cast<Process*>(caller.step.word[0]);
  const i32 id = child->id().value;
  {
    LockGuard guard{processes::lock()};
    if (child->borrows_space.load(Order::acquire)) return child->child_changed.wait_uninterruptible(caller);
  }
  child->drop();
  if (is_followed(caller)) tracees::note_event(caller, Tracee::vfork_done, static_cast<u64>(id));
  return id;
}

Result<i64> clone(Call& call, const CloneRequest& r) {
  Thread& caller = call.thread;
  if (caller.step.phase == waiting_for_vfork_child) return wait_for_vfork_child(caller);
  TRY(check(call, r));
  if (!caller.may_have_children() && !caller.caller.under_way()) return Errno::eagain;
  // Everything that may wait comes before anything is made.
  if ((r.flags & clone_parent_settid) != 0) {
    TRY(vm::prepare(call.space, caller.caller, {r.parent_tid}, sizeof(i32), vm::Access::write));
  }
  if ((r.flags & (clone_child_settid | clone_vm)) == (clone_child_settid | clone_vm)) {
    TRY(vm::prepare(call.space, caller.caller, {r.child_tid}, sizeof(i32), vm::Access::write));
  }

  if ((r.flags & clone_pidfd) != 0) {
    TRY(vm::prepare(call.space, caller.caller, {r.process_file}, sizeof(i32), vm::Access::write));
  }

  tracees::NewTracee traced;
  if (is_followed(caller)) TRY(traced.prepare(caller, event_of(r), (r.flags & clone_traced) != 0));
  const bool new_process = (r.flags & clone_thread) == 0;
  Ref<Process> process = Ref<Process>::share(call.process);
  if (new_process) {
    // A fork that waited for other cores is finished, whatever the limit says by now.
    const bool under_way = caller.caller.under_way();
    if (!under_way && !processes::may_add_thread(caller.credentials(), call.process.limits.processes)) return Errno::eagain;
    const VirtualAddress kept = (r.flags & clone_pidfd) != 0           ? VirtualAddress{r.process_file}
                                : (r.flags & clone_parent_settid) != 0 ? VirtualAddress{r.parent_tid}
                                                                       : VirtualAddress{};
    Ref<vm::AddressSpace> space = (r.flags & clone_vm) != 0 ? call.process.space() : TRY(call.space.fork(caller.caller, kept));
    process = TRY(make_process(call, r, std::move(space)));
  }
  int file = -1;
  if ((r.flags & clone_pidfd) != 0) {
    const Result<void> filed = make_file_of(call, *process, r, file);
    if (!filed) {
      give_up(call, new_process ? process.get() : nullptr, file);
      return filed.error();
    }
  }
  Result<Ref<Thread>> made = process->add_thread(&caller);
  if (!made) {
    give_up(call, new_process ? process.get() : nullptr, file);
    return made.error();
  }
  Ref<Thread> thread = made.take();
  copy_context(*thread, caller, r);
  const i32 id = thread->id().value;
  if ((r.flags & clone_parent_settid) != 0) (void)call.write({r.parent_tid}, id);  // prepared
  if ((r.flags & clone_child_settid) != 0) {
    // In the child's memory; a fresh copy is written through its own space, where nobody runs yet.
    (void)vm::write_user<i32>(*thread->space, caller.caller, {r.child_tid}, id);
  }
  if ((r.flags & clone_vfork) != 0) {
    process->borrows_space.store(true, Order::release);
    process->retain();
    caller.step.word[0] = reinterpret_cast<u64>(process.get());
    caller.step.phase = waiting_for_vfork_child;
  }
  if (is_followed(caller)) {
    traced.join(caller, *thread);
    if (event_of(r) != Tracee::none) tracees::note_event(caller, event_of(r), static_cast<u64>(id));
  }
  this_core().executive->start(*thread);
  if ((r.flags & clone_vfork) != 0) return wait_for_vfork_child(caller);
  return id;
}

Result<i64> sys_clone(Call& call) {
  CloneRequest r;
  r.flags = call.argument[0] & ~u64{0xff};
  r.exit_signal = static_cast<i32>(call.argument[0] & 0xff);
  r.stack = call.argument[1];
  r.parent_tid = call.argument[2];
  r.child_tid = call.argument[3];
  r.tls = call.argument[4];
  // The same argument is for both.
  if ((r.flags & clone_pidfd) != 0 && (r.flags & clone_parent_settid) != 0) return Errno::einval;
  r.process_file = r.parent_tid;
  return clone(call, r);
}

Result<i64> sys_clone3(Call& call) {
  struct Arguments {  // struct clone_args
    u64 flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
  };
  constexpr u64 smallest = 64;
  const u64 size = call.argument[1];
  if (size > page_size) return Errno::e2big;
  if (size < smallest) return Errno::einval;
  Arguments a{};
  TRY(vm::copy_in(call.space, call.thread.caller, &a, call.address(0), size < sizeof a ? size : sizeof a));
  for (u64 i = sizeof a; i < size; ++i) {  // what a later Linux may ask for
    if (TRY(call.read<u8>(call.address(0) + i)) != 0) return Errno::e2big;
  }
  if (a.set_tid != 0 || a.set_tid_size != 0 || a.cgroup != 0) return Errno::einval;
  if ((a.flags & 0xff) != 0 || a.exit_signal > signal_count) return Errno::einval;
  if ((a.stack == 0) != (a.stack_size == 0)) return Errno::einval;
  CloneRequest r;
  r.flags = a.flags;
  r.exit_signal = static_cast<i32>(a.exit_signal);
  r.stack = a.stack == 0 ? 0 : a.stack + a.stack_size;
  r.parent_tid = a.parent_tid;
  r.process_file = a.pidfd;
  r.child_tid = a.child_tid;
  r.tls = a.tls;
  return clone(call, r);
}

Result<i64> sys_fork(Call& call) {
  CloneRequest r;
  r.exit_signal = sigchld;
  return clone(call, r);
}

Result<i64> sys_vfork(Call& call) {
  CloneRequest r;
  r.flags = clone_vm | clone_vfork;
  r.exit_signal = sigchld;
  return clone(call, r);
}

// Files and directories belong to the process: a thread among others cannot have its own.
Result<i64> sys_unshare(Call& call) {
  constexpr u64 undo_lists = 0x4'0000;  // CLONE_SYSVSEM: each process has its own
  constexpr u64 of_threads = clone_thread | clone_sighand | clone_vm;
  const u64 flags = call.argument[0];
  if ((flags & ~(of_threads | clone_fs | clone_files | undo_lists | clone_new_any | clone_new_time)) != 0) return Errno::einval;
  if ((flags & of_threads) != 0 && call.process.thread_count() > 1) return Errno::einval;
  const bool own_space = call.process.borrows_space.load(Order::relaxed);
  if ((flags & (clone_vm | clone_sighand)) != 0 && own_space) return Errno::einval;
  if ((flags & (clone_new_any | clone_new_time) & ~u64{clone_new_user}) != 0 && !call.thread.may(Capability::sys_admin)) {
    return Errno::eperm;
  }
  if ((flags & (clone_new_any | clone_new_time)) != 0) return Errno::einval;  // as a kernel without namespaces
  if ((flags & (clone_fs | clone_files)) != 0) TRY(call.process.unshare_resources());
  return 0;
}

constexpr Entry entries[] = {
    {56, "clone", sys_clone},      {57, "fork", sys_fork},      {58, "vfork", sys_vfork},
    {272, "unshare", sys_unshare}, {435, "clone3", sys_clone3},
};

}  // namespace

std::span<const Entry> clone_calls() {
  return entries;
}

}  // namespace corral::abi

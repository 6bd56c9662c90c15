// Processes: their threads, their end, their parents. Lock order: processes::lock() before a process's lock().
#include "task/process.h"

#include "core/core.h"
#include "device/clock.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/core_dump.h"
#include "task/exit.h"
#include "task/process_table.h"
#include "task/signal_queue.h"
#include "task/thread_names.h"
#include "task/tracees.h"
#include "trace/panic.h"

namespace corral {

Process::Process(ProcessId id, Process* creator) : id_{id}, parent{creator}, child_changed{process_table().lock} {
  start_ns.store(clock::now().ns, Order::relaxed);
  if (creator == nullptr) has_defaults.store(false, Order::relaxed);
}

Process::~Process() {
  delete dump_.load(Order::relaxed);
  signals::drop_pending(pending, waiting, ~SignalSet{0});
}

Result<Ref<Process>> Process::create(Process* creator, bool as_sibling) {
  ProcessTable& table = process_table();
  Process* process = static_cast<Process*>(memory::allocate(sizeof(Process)));
  if (process == nullptr) return Errno::enomem;
  LockGuard guard{table.lock};
  // Who has been killed makes no more: so SIGKILL to a group reaches all of it (abi/linux/send_calls.cpp).
  const bool refused = creator != nullptr && creator->ending();
  Result<i32> id = refused ? Result<i32>{Errno::eagain} : table.allocate_id();
  if (!id) {
    memory::release(process);
    return id.error();
  }
  ::new (process) Process(ProcessId{id.value()}, creator);
  table.add(*process);
  process->retain();  // the table's reference, dropped when it is reaped
  if (creator == nullptr) {
    table.first = process;
  } else {
    if (as_sibling) {
      process->parent = creator->parent;
      process->exit_signal = creator->exit_signal;
    }
    process->parent->children.push_back(*process);
  }
  return Ref<Process>::adopt(process);
}

bool processes::may_add_thread(const Credentials& credentials, u64 limit) {
  const UserAccount& account = credentials.account();
  if (account.threads.load(Order::relaxed) < limit) return true;
  return account.number() != 0 && (credentials.may(Capability::sys_resource) || credentials.may(Capability::sys_admin));
}

Result<Ref<Thread>> Process::add_thread(const Thread* creator) {
  Credentials& credentials = creator == nullptr ? Credentials::of_root() : *creator->credentials_;
  ProcessTable& table = process_table();
  Ref<Thread> thread = TRY(Thread::create(*this, ThreadId{0}, credentials));
  LockGuard table_guard{table.lock};
  LockGuard guard{lock_};
  if (ending_.load(Order::relaxed)) return Errno::eagain;
  if (!processes::may_add_thread(credentials, limits.processes)) return Errno::eagain;
  thread->id_ = live_threads_ == 0 && threads_.empty() ? ThreadId{id_.value} : ThreadId{TRY(table.allocate_id())};
  thread->entity.number = thread->id_.value;
  thread->renew_trace_head();
  if (creator != nullptr) memcpy(thread->name, creator->name, sizeof thread->name);  // before anybody finds it
  credentials.account().threads.fetch_add(1, Order::relaxed);
  table.add(*thread);
  threads_.push_back(*thread);
  ++live_threads_;
  ++running_threads_;
  thread->retain();  // the list's reference, dropped by remove_thread
  thread->space = space_.get();
  return thread;
}

void Process::remove_thread(Thread& thread) {
  {
    ProcessTable& table = process_table();
    LockGuard table_guard{table.lock};
    {
      LockGuard guard{lock_};
      table.remove(thread);
      threads_.remove(thread);
      signals::drop_pending(thread.signals.pending, thread.signals.waiting, ~SignalSet{0});
      --live_threads_;
      if (live_threads_ == 1) alone_.wake_all();
      if (live_threads_ == 0) last_credentials_ = thread.credentials_;
      if (thread.id_.value == id_.value) {
        last_schedule_ = thread.shown_schedule();
        first_thread_ended_ = true;
      }
      if (live_threads_ != 0 || state == ProcessState::reaped)
        thread.credentials_->account().threads.fetch_sub(1, Order::relaxed);
    }
    tracees::thread_ended(thread);
  }
  thread.drop();
}

u32 Process::thread_count() {
  LockGuard guard{lock_};
  return live_threads_;
}

void Process::forget_count() {
  LockGuard guard{lock_};
  if (last_credentials_) last_credentials_->account().threads.fetch_sub(1, Order::relaxed);
}

Ref<Credentials> Process::credentials() {
  Ref<Credentials> found;
  LockGuard guard{lock_};
  for_each_thread_locked([&](Thread& thread) {
    if (!found || thread.id().value == id_.value) found = thread.credentials_;
  });
  if (!found) found = last_credentials_;
  if (!found) found = Ref<Credentials>::share(Credentials::of_root());  // it has no thread yet
  return found;
}

UserAccount& Process::account() {
  const Thread* first = threads_.front();
  if (first != nullptr) return first->account();
  return last_credentials_ ? last_credentials_->account() : UserAccount::root();
}

Ref<Thread> Process::find_thread(ThreadId id) {
  Ref<Thread> found;
  for_each_thread([&](Thread& thread) {
    if (thread.id() == id) found = Ref<Thread>::share(thread);
  });
  return found;
}

Result<Thread::ShownSchedule> Process::last_schedule() {
  LockGuard guard{lock_};
  if (!first_thread_ended_) return Errno::esrch;
  return last_schedule_;
}

Ref<Thread> Process::next_thread(ThreadId after) {
  Ref<Thread> found;
  for_each_thread([&](Thread& thread) {
    if (thread.id().value > after.value && (!found || thread.id().value < found->id().value))
      found = Ref<Thread>::share(thread);
  });
  return found;
}

Ref<vm::AddressSpace> Process::space() {
  LockGuard guard{lock_};
  return space_;
}

void Process::set_space(Ref<vm::AddressSpace> space) {
  // The old one is let go of after the lock: its end may be long.
  Ref<vm::AddressSpace> old;
  {
    LockGuard guard{lock_};
    old = std::move(space_);
    space_ = std::move(space);
  }
}

void Process::end(i32 wait_status) {
  LockGuard guard{lock_};
  end_locked(wait_status);
}

void Process::end_locked(i32 wait_status) {
  const bool kills = wait_status == sigkill && !killed_.exchange(true, Order::acq_rel);
  if (ending_.load(Order::relaxed) && !kills) return;
  if (!ending_.load(Order::relaxed)) exit_status = wait_status;
  ending_.store(true, Order::release);
  tell_dump();
  for_each_thread_locked([](Thread& thread) {
    thread.request(Request::look_at_signals);
    thread.request(Request::resume);
  });
}

void Process::note_status(i32 wait_status) {
  LockGuard guard{lock_};
  if (!ending_.load(Order::relaxed) && running_threads_ == 1) exit_status = wait_status;
}

void Process::inherit_actions(Process& from, bool only_ignored) {
  // One at a time: locks of the same rank are not held together.
  for (int i = 1; i <= signal_count; ++i) {
    SignalAction action;
    {
      LockGuard guard{from.lock_};
      action = from.actions[i];
    }
    if (only_ignored && action.handler > 1) action = {};
    LockGuard guard{lock_};
    actions[i] = action;
  }
}

bool Process::add_listener(ProcessListener& listener) {
  LockGuard guard{lock_};
  if (ended_) return false;
  listeners_.push_back(listener);
  return true;
}

void Process::remove_listener(ProcessListener& listener) {
  LockGuard guard{lock_};
  if (listener.listener_link.linked()) listeners_.remove(listener);
}

void Process::tell_ended() {
  LockGuard guard{lock_};
  ended_ = true;
  while (ProcessListener* listener = listeners_.pop_front()) listener->process_ended();
}

void Process::note_peak() {
  const Ref<vm::AddressSpace> here = space();
  if (!here) return;
  const u64 peak = here->usage().peak_pages;
  if (peak > counts.peak_pages.load(Order::relaxed)) counts.peak_pages.store(peak, Order::relaxed);
}

void Process::give_back_space() {
  if (!borrows_space.load(Order::relaxed)) return;
  LockGuard guard{process_table().lock};
  borrows_space.store(false, Order::release);
  child_changed.wake_all();
}

void Process::abandon() {
  if (resources) resources->release_all();
  set_space({});
  LockGuard guard{process_table().lock};
  reap(*this);
}

Ref<ProcessResources> Process::resources_for_others() {
  LockGuard guard{lock_};
  return resources;
}

Result<void> Process::unshare_resources() {
  if (!resources->shared()) return {};
  if (thread_count() > 1) return Errno::einval;
  Ref<ProcessResources> own = TRY(resources->duplicate());
  LockGuard guard{lock_};
  std::swap(resources, own);
  return {};
}

Result<void> Process::become_alone(Thread& thread) {
  LockGuard guard{lock_};
  if (ending_.load(Order::relaxed) || thread.end_wanted) return Errno::eagain;
  if (live_threads_ == 1) return {};
  for_each_thread_locked([&](Thread& other) {
    if (&other == &thread) return;
    other.end_wanted = true;
    other.request(Request::look_at_signals);
    other.request(Request::resume);
  });
  return alone_.wait_uninterruptible(thread);
}

void Process::adopt_leader_id(Thread& thread) {
  if (thread.id().value == id_.value) return;
  thread_names::note_end(thread);
  Ref<Thread> former;  // let go of after the locks
  ProcessTable& table = process_table();
  LockGuard table_guard{table.lock};
  if (traced_leader != nullptr) former = tracees::unlink(*traced_leader);
  LockGuard guard{lock_};
  table.renumber(thread, ThreadId{id_.value});
  if (tracees::is_traced(thread)) traced_leader = thread.tracee.load(Order::relaxed);
}

}  // namespace corral

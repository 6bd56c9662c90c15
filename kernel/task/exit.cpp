// See exit.h. A thread ends in phases, so that a phase that waits is not done twice.
#include "task/exit.h"

#include "arch/processor.h"
#include "core/core.h"
#include "task/pi_futex.h"
#include "task/process.h"
#include "task/process_group.h"
#include "task/process_table.h"
#include "task/robust_list.h"
#include "task/thread_names.h"
#include "task/tracees.h"
#include "trace/log.h"

namespace corral {

namespace {

constinit MachineEnd machine_end = nullptr;
constinit SessionEnd session_end = nullptr;
constinit ProcessEnd process_end = nullptr;

// Word to the parent. With the table's lock held, so that it finds the signal pending as soon as it finds the zombie, and the
// zombie as soon as the signal's handler looks for it.
void tell(Process& parent, Process& child, int signal) {
  const EndDetails end = end_details(child.exit_status);
  constexpr i64 tick_ns = 10'000'000;
  const u32 user = child.credentials()->user.real;
  const u64 times[] = {static_cast<u64>(child.user_ns.load(Order::relaxed) / tick_ns),
                       static_cast<u64>(child.system_ns.load(Order::relaxed) / tick_ns)};
  (void)signals::send(parent, {.number = signal,
                               .code = end.code,
                               .sender = child.id().value,
                               .sender_user = user,
                               .value = end.value,
                               .more = {times[0], times[1]}});
}

// These act on the receiver at once, which needs the table's lock: they are sent without it.
bool needs_table(int signal) {
  return signal == sigkill || signal == sigcont;
}

// Who gets the children of a process that ends: the nearest ancestor that asked for them, else the first process. The table's lock
// is held.
Process& heir_of(const Process& process, Process& first) {
  if (process.children.empty()) return first;
  for (Process* p = process.parent; p != nullptr; p = p->parent) {
    if (p->manners.adopts_orphans.load(Order::relaxed) && p->state == ProcessState::alive && !p->ending()) return *p;
  }
  return first;
}

bool is_first(const Process& process) {
  LockGuard guard{process_table().lock};
  return process_table().first == &process;
}

// PR_SET_PDEATHSIG: without locks, as the signal may be one that acts at once.
void tell_bereaved() {
  processes::for_each([](Process& process) {
    if (process.manners.parent_gone.exchange(false, Order::relaxed)) {
      (void)signals::send(process, {.number = process.manners.death_signal.load(Order::relaxed), .code = code_user});
    }
    return true;
  });
}

using Children = IntrusiveList<Process, &Process::sibling_link>;

// `process` ends, and its children become those of `heir`, who hears of the zombies among them. Those that he does not want to hear of are
// in `gone` then, to be let go of without the lock. True: tell_bereaved() is to be called. The table's lock is held.
bool hand_on_children(Process& process, Process& heir, Children& gone) {
  bool bereaved = false;
  while (Process* child = process.children.pop_front()) {
    child->parent = &heir;
    child->exit_signal = sigchld;  // whatever its parent wished for: nobody slays the first process by it
    heir.children.push_back(*child);
    if (child->manners.death_signal.load(Order::relaxed) != 0) {
      child->manners.parent_gone.store(true, Order::relaxed);
      bereaved = true;
    }
    if (child->state != ProcessState::zombie || child->traced_leader != nullptr) continue;
    child->retain();
    (void)tell_parent_of_end(*child);  // by SIGCHLD, which is never late
    child->state == ProcessState::reaped ? gone.push_back(*child) : child->drop();
  }
  return bereaved;
}

// The last thread is going: children to the first process, a zombie for the parent to find, and word to it.
void end_process(Process& process) {
  if (process_end != nullptr) process_end(process);
  if (process.resources) process.resources->release_all();
  process.timers.release(true);
  process.note_peak();
  process.set_space({});
  if (session_end != nullptr && process.session.load(Order::relaxed) == process.id().value) session_end(process);
  process.forget_stop();
  bool orphans;
  bool bereaved;
  Children gone;
  LateWord word;
  tracees::let_go_all(process);
  if (is_first(process)) {  // without a lock: the other cores finish their steps
    if (machine_end != nullptr) machine_end(process.exit_status);
    arch::halt_forever();
  }
  {
    ProcessTable& table = process_table();
    LockGuard guard{table.lock};
    Process& heir = heir_of(process, *table.first);
    orphans = process_groups::mark_orphaned_by(process, heir);
    bereaved = hand_on_children(process, heir, gone);
    process.state = ProcessState::zombie;
    process.stop_signal = 0;
    process.continued = false;
    process.borrows_space.store(false, Order::release);
    process.child_changed.wake_all();  // who lent it its memory
    if (tracees::end_is_hidden(process)) {
      tracees::tell_end(process);
    } else {
      word = tell_parent_of_end(process);
    }
  }
  while (Process* child = gone.pop_front()) child->drop();
  process.tell_ended();
  word.send();
  if (bereaved) tell_bereaved();
  if (orphans) process_groups::hang_up_marked();
}

}  // namespace

EndDetails end_details(i32 status) {
  const i32 signal = status & 0x7f;
  if (signal == 0) return {child_exited, static_cast<u64>(status >> 8 & 0xff)};
  return {(status & 0x80) != 0 ? child_dumped : child_killed, static_cast<u64>(signal)};
}

void LateWord::send() const {
  if (parent) tell(*parent, *child, child->exit_signal);
}

LateWord tell_parent_of_end(Process& process) NO_THREAD_SAFETY_ANALYSIS {  // the table's lock is held: see exit.h
  LateWord word;
  if (process.parent == nullptr) return word;
  Process& parent = *process.parent;
  const i32 signal = process.exit_signal;
  parent.child_changed.wake_all();
  const signals::ChildWishes wishes = signal == sigchld ? signals::wishes_about_children(parent) : signals::ChildWishes{};
  if (needs_table(signal)) {
    word = {Ref<Process>::share(parent), Ref<Process>::share(process)};
  } else if (signal != 0 && wishes.signal) {
    tell(parent, process, signal);
  }
  if (!wishes.zombie && process.traced_leader == nullptr) reap(process);
  return word;
}

void set_session_end(SessionEnd function) {
  session_end = function;
}

void set_process_end(ProcessEnd function) {
  process_end = function;
}

void set_machine_end(MachineEnd function) {
  machine_end = function;
}

void reap(Process& child) NO_THREAD_SAFETY_ANALYSIS {  // the table's lock is held: see exit.h
  child.state = ProcessState::reaped;
  child.forget_count();
  if (child.parent != nullptr) {
    IntrusiveList<Process, &Process::sibling_link>::remove(child);
    child.parent = nullptr;
  }
  process_table().remove(child);
  child.drop();  // the table's reference; callers hold their own
}

Errno end_thread_step(Thread& thread) {
  Process& process = thread.process();
  if (thread.end_phase == 0) {
    if (process.leaves_dump()) [[unlikely]] {
      if (process.attend_dump(thread) == Errno::blocked) return Errno::blocked;
      thread.step = {};
    }
    thread.end_phase = 1;
  }
  if (thread.end_phase == 1 && thread.tracee.load(Order::relaxed) != nullptr && tracees::stops_at_end(thread)) [[unlikely]]
    return thread.wait_for_resume();
  if (thread.end_phase == 1) {  // robust mutexes that it still holds
    if (release_robust_list(thread) == Errno::blocked) return Errno::blocked;
    thread.step = {};
    thread.end_phase = 2;
  }
  if (thread.end_phase == 2) {  // whoever waits for priority-inheriting ones
    if (futex::release_owned_pi(thread) == Errno::blocked) return Errno::blocked;
    thread.end_phase = 3;
  }
  if (thread.end_phase == 3) {  // pthread_join waits on this word
    if (thread.clear_child_tid.value != 0) {
      const Result<void> cleared = vm::write_user<i32>(*thread.space, thread.caller, thread.clear_child_tid, 0);
      if (!cleared && cleared.error() == Errno::blocked) return Errno::blocked;
      if (!cleared) thread.clear_child_tid = {};
    }
    thread.step = {};
    thread.end_phase = 4;
  }
  if (thread.end_phase == 4) {
    if (thread.clear_child_tid.value != 0) {
      const Result<void> woken = futex::wake_plainly(thread, thread.clear_child_tid, 1);
      if (!woken && woken.error() == Errno::blocked) return Errno::blocked;
    }
    thread.end_phase = 5;
  }
  thread.give_up_reservation();
  process.thread_ends(thread);
  thread.ended = true;
  return Errno{};
}

void Process::count_ended(Thread& thread) {
  user_ns.fetch_add(thread.user_ns(), Order::relaxed);
  system_ns.fetch_add(thread.system_ns(), Order::relaxed);
  counts.faults.fetch_add(thread.faults.load(Order::relaxed), Order::relaxed);
  counts.voluntary.fetch_add(thread.voluntary_switches.load(Order::relaxed), Order::relaxed);
  counts.involuntary.fetch_add(thread.involuntary_switches.load(Order::relaxed), Order::relaxed);
  thread.times_counted.store(true, Order::release);
}

void Process::thread_ends(Thread& thread) {
  this_core().scheduler->update_running();
  bool last;
  bool others_stopped;
  {
    LockGuard guard{lock_};
    count_ended(thread);
    last = --running_threads_ == 0;
    tell_dump();
    if (last) ending_.store(true, Order::release);  // nobody may add a thread any more
    others_stopped = all_stopped();
  }
  if (others_stopped) tell_stopped();
  signals::hand_over(thread);
  thread.space = nullptr;
  vm::AddressSpace::activate_kernel_only();
  if (last) end_process(*this);
  thread_names::note_end(thread);
  remove_thread(thread);
}

Errno stop_step(Thread& thread) {
  Process& process = thread.process();
  if (process.ending() || thread.end_wanted) return Errno{};
  if (thread.tracee.load(Order::relaxed) != nullptr) [[unlikely]]
    return tracees::stop_with_process(thread);
  if (!process.stopped()) return Errno{};
  process.thread_stops(thread);
  return thread.wait_for_resume();
}

}  // namespace corral

// See process_group.h. Groups are no objects: their members are found by looking at all processes, which only terminals, stops and
// the ends of processes do while something is stopped.
#include "task/process_group.h"

#include "task/process.h"
#include "task/process_table.h"

namespace corral::process_groups {

namespace {

constinit Atomic<u32> stopped_processes{0};

template <class Visitor>
void for_each_member(ProcessTable& table, i32 group, Visitor&& visit) REQUIRES(table.lock) {
  for (Process* p = table.next(ProcessId{0}); p != nullptr; p = table.next(p->id())) {
    if (p->group.load(Order::relaxed) == group && p->state == ProcessState::alive) visit(*p);
  }
}

// `parent` connects `member`'s group with its session.
bool connects(const Process* parent, const Process& member) {
  return parent != nullptr && parent->group.load(Order::relaxed) != member.group.load(Order::relaxed) &&
         parent->session.load(Order::relaxed) == member.session.load(Order::relaxed);
}

// Marks the group's members if, without `ending`, it is orphaned and something in it is stopped.
bool mark_if_orphaned(ProcessTable& table, i32 group, const Process& ending, const Process& heir) REQUIRES(table.lock) {
  bool connected = false;
  bool stopped = false;
  for_each_member(table, group, [&](Process& member) {
    if (&member == &ending) return;
    connected = connected || connects(member.parent == &ending ? &heir : member.parent, member);
    stopped = stopped || member.stopped();
  });
  if (connected || !stopped) return false;
  for_each_member(table, group, [&](Process& member) { member.hang_up_marked.store(&member != &ending, Order::relaxed); });
  return true;
}

}  // namespace

void count_stopped(bool more) {
  if (more) {
    stopped_processes.fetch_add(1, Order::relaxed);
  } else {
    stopped_processes.fetch_sub(1, Order::relaxed);
  }
}

bool is_orphaned(i32 group) {
  ProcessTable& table = process_table();
  LockGuard guard{table.lock};
  bool connected = false;
  for_each_member(table, group, [&](Process& member) { connected = connected || connects(member.parent, member); });
  return !connected;
}

i32 session_of(i32 group) {
  ProcessTable& table = process_table();
  LockGuard guard{table.lock};
  for (Process* p = table.next(ProcessId{0}); p != nullptr; p = table.next(p->id())) {
    if (p->group.load(Order::relaxed) == group) return p->session.load(Order::relaxed);
  }
  return 0;
}

bool mark_orphaned_by(Process& ending,
                      const Process& heir) NO_THREAD_SAFETY_ANALYSIS {  // the table's lock is held: see the header
  if (stopped_processes.load(Order::relaxed) == 0) return false;
  ProcessTable& table = process_table();
  const i32 own = ending.group.load(Order::relaxed);
  bool marked = connects(ending.parent, ending) && mark_if_orphaned(table, own, ending, heir);
  ending.children.for_each([&](Process& child) NO_THREAD_SAFETY_ANALYSIS {
    const i32 group = child.group.load(Order::relaxed);
    const bool loses = child.stopped() && group != own && connects(&ending, child);
    if (loses && mark_if_orphaned(table, group, ending, heir)) marked = true;
  });
  return marked;
}

void hang_up_marked() {
  processes::for_each([](Process& process) {
    if (process.hang_up_marked.exchange(false, Order::relaxed)) {
      for (const int signal : {sighup, sigcont}) (void)signals::send(process, {.number = signal, .code = code_kernel});
    }
    return true;
  });
}

}  // namespace corral::process_groups

// See process_table.h.
#include "task/process_table.h"

namespace corral {

namespace {
constinit ProcessTable table;
}

ProcessTable& process_table() {
  return table;
}

Result<i32> ProcessTable::allocate_id() {
  if (thread_count >= most_threads.value()) return Errno::eagain;
  const auto highest = static_cast<i32>(highest_id.value());
  for (i32 tries = 0; tries < highest; ++tries) {
    last_id_ = last_id_ >= highest ? 2 : last_id_ + 1;  // 1 is the first process's for ever
    if (find(ProcessId{last_id_}) == nullptr && find(ThreadId{last_id_}) == nullptr) return last_id_;
  }
  return Errno::eagain;
}

void ProcessTable::add(Process& process) {
  processes_.insert(process);
  ++process_count;
  ++created;
}

void ProcessTable::add(Thread& thread) {
  threads_.insert(thread);
  ++thread_count;
}

void ProcessTable::remove(Process& process) {
  processes_.remove(process);
  --process_count;
}

void ProcessTable::remove(Thread& thread) {
  threads_.remove(thread);
  --thread_count;
}

Process* ProcessTable::find(ProcessId id) {
  Process* found = processes_.first_where([id](const Process& p) { return p.id() >= id; });
  return found != nullptr && found->id() == id ? found : nullptr;
}

Process* ProcessTable::next(ProcessId after) {
  return processes_.first_where([after](const Process& p) { return p.id() > after; });
}

Thread* ProcessTable::find(ThreadId id) {
  Thread* found = threads_.first_where([id](const Thread& t) { return t.id() >= id; });
  return found != nullptr && found->id() == id ? found : nullptr;
}

Thread* ProcessTable::next(ThreadId after) {
  return threads_.first_where([after](const Thread& t) { return t.id() > after; });
}

void ProcessTable::renumber(Thread& thread, ThreadId id) {
  threads_.remove(thread);
  thread.id_ = id;
  thread.entity.number = id.value;
  thread.renew_trace_head();
  threads_.insert(thread);
}

namespace processes {

SpinLock& lock() {
  return table.lock;
}

Process* first() {
  LockGuard guard{table.lock};
  return table.first;
}

Ref<Process> find(ProcessId id) {
  LockGuard guard{table.lock};
  Process* process = table.find(id);
  return process == nullptr ? Ref<Process>{} : Ref<Process>::share(*process);
}

Ref<Process> next(ProcessId after) {
  LockGuard guard{table.lock};
  Process* process = table.next(after);
  return process == nullptr ? Ref<Process>{} : Ref<Process>::share(*process);
}

Ref<Thread> find_thread(ThreadId id) {
  LockGuard guard{table.lock};
  Thread* thread = table.find(id);
  return thread == nullptr ? Ref<Thread>{} : Ref<Thread>::share(*thread);
}

Result<Thread::ShownSchedule> schedule_of(ThreadId id) {
  const Ref<Process> process = find(ProcessId{id.value});
  const Ref<Thread> thread = find_thread(id);
  // The first thread of a process that was waited for may still be at its end.
  const bool is_over = thread && !process && thread->id().value == thread->process().id().value;
  if (thread && !is_over) return thread->shown_schedule();
  if (!process) return Errno::esrch;
  return process->last_schedule();
}

u32 count() {
  LockGuard guard{table.lock};
  return table.process_count;
}

u32 thread_count() {
  LockGuard guard{table.lock};
  return table.thread_count;
}

u64 created_total() {
  LockGuard guard{table.lock};
  return table.created;
}

}  // namespace processes
}  // namespace corral

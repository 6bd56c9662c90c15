// Stopping and continuing a process. Each thread stops by itself, on its way back to user mode (stop_step); the last one tells
// the parent. That SIGCONT may come at any moment is settled under the locks: a stop that was overtaken is not told.
// Lock order: processes::lock(), then a process's lock(); the parent's is taken after the own one was given up.
#include "sync/interleave.h"
#include "task/process.h"
#include "task/process_group.h"
#include "task/process_table.h"
#include "task/tracees.h"

namespace corral {

namespace {

void tell_parent(Process& process, i32 code, i32 signal) {
  if (process.parent == nullptr) return;
  process.parent->child_changed.wake_all();
  (void)signals::send(*process.parent, {.number = sigchld,
                                        .code = code,
                                        .sender = process.id().value,
                                        .sender_user = process.credentials()->user.real,
                                        .value = static_cast<u64>(signal)});
}

}  // namespace

void Process::stop(int signal) {
  LockGuard guard{lock_};
  if (!stop_taken_ || stopped_.load(Order::relaxed) || ending_.load(Order::relaxed)) return;
  stop_taken_ = false;
  stop_told_.store(false, Order::relaxed);
  ++stops_;
  stopped_threads_ = 0;
  stopped_by_ = signal;
  stopped_.store(true, Order::release);
  process_groups::count_stopped(true);
  for_each_thread_locked([](Thread& thread) { thread.request(Request::look_at_signals); });
}

bool Process::all_stopped() const {
  return stopped_.load(Order::relaxed) && !stop_told_.load(Order::relaxed) && running_threads_ > 0 &&
         stopped_threads_ >= running_threads_;
}

void Process::thread_stops(Thread& thread) {
  bool all;
  {
    LockGuard guard{lock_};
    if (!stopped_.load(Order::relaxed) || thread.stop_counted == stops_) return;
    thread.stop_counted = stops_;
    ++stopped_threads_;
    all = all_stopped();
  }
  if (!all) return;
  tell_stopped();
  interleave::point();
}

void Process::tell_stopped() {
  LockGuard table_guard{process_table().lock};
  {
    LockGuard guard{lock_};
    if (!all_stopped()) return;  // it goes on already
    stop_told_.store(true, Order::relaxed);
    stop_signal = stopped_by_;
  }
  continued = false;
  const bool told_by_trace = traced_leader != nullptr && traced_leader->tracer == parent;
  if (!told_by_trace) tell_parent(*this, child_stopped, stop_signal);
}

void Process::go_on() {
  LockGuard table_guard{process_table().lock};
  i32 signal = 0;
  const bool was_told = end_stop(signal);
  if (signal == 0) return;
  continued = was_told;
  tracees::process_continues(*this);
  // A stop that was not complete is told as a stop, as if the parent had been quick.
  tell_parent(*this, was_told ? child_continued : child_stopped, was_told ? sigcont : signal);
}

bool Process::end_stop(i32& signal) {
  LockGuard guard{lock_};
  stop_taken_ = false;
  if (!stopped_.load(Order::relaxed)) return false;
  stopped_.store(false, Order::release);
  process_groups::count_stopped(false);
  signal = stopped_by_;
  stop_signal = 0;
  for_each_thread_locked([](Thread& thread) { thread.request(Request::resume); });
  return stop_told_.load(Order::relaxed);
}

bool Process::has_stopped(const Thread& thread) {
  LockGuard guard{lock_};
  return stopped_.load(Order::relaxed) && thread.stop_counted == stops_;
}

i32 Process::stopped_by() {
  LockGuard guard{lock_};
  return stopped_.load(Order::relaxed) ? stopped_by_ : 0;
}

void Process::forget_stop() {
  LockGuard guard{lock_};
  if (stopped_.exchange(false, Order::relaxed)) process_groups::count_stopped(false);
}

}  // namespace corral

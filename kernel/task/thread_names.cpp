// See thread_names.h.
#include "task/thread_names.h"

#include "lib/memory_functions.h"
#include "sync/spin_lock.h"
#include "task/process.h"
#include "task/thread.h"
#include "trace/stamp.h"

namespace corral::thread_names {

namespace {

using trace::Name;

constinit SpinLock lock{Rank::thread_names, "names of threads"};
constinit trace::NameHistory history GUARDED_BY(lock);
constinit Atomic<bool> is_kept{false};  // the history has memory: one look for each thread that ends while nobody wants a trace

Name name_of(const Thread& thread) REQUIRES(lock) {
  Name name;
  static_assert(sizeof thread.name == sizeof name);
  memcpy(&name, thread.name, sizeof name);
  return name;
}

void note_former(const Thread& thread) REQUIRES(lock) {
  if (history.has_memory()) history.add(thread.id().value, trace::stamp(), name_of(thread));
}

}  // namespace

bool keep(trace::NameHistory::Page** pages, u64 count) {
  LockGuard guard{lock};
  if (history.has_memory()) return false;
  history.give_memory(pages, count);
  is_kept.store(true, Order::relaxed);
  return true;
}

bool kept() {
  return is_kept.load(Order::relaxed);
}

void change(Thread& thread, std::string_view name) {
  char fresh[sizeof thread.name] = {};
  memcpy(fresh, name.data(), name.size() < sizeof fresh ? name.size() : sizeof fresh - 1);
  LockGuard guard{lock};
  note_former(thread);
  memcpy(thread.name, fresh, sizeof fresh);
}

void note_end(const Thread& thread) {
  if (!kept()) return;
  LockGuard guard{lock};
  note_former(thread);
}

// First the thread, then the history: one that ends in between is in both.
Name at(i32 number, u64 stamp) {
  const Ref<Thread> thread = processes::find_thread(ThreadId{number});  // let go of after the lock
  LockGuard guard{lock};
  if (!thread) return history.find(number, stamp, nullptr);
  const Name present = name_of(*thread);
  return history.find(number, stamp, &present);
}

}  // namespace corral::thread_names

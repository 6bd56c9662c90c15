// All processes and threads by number. Processes and threads share one range of numbers, as in Linux.
// Everything is guarded by processes::lock() (rank process_table).
#pragma once

#include "lib/red_black_tree.h"
#include "lib/setting.h"
#include "task/process.h"

namespace corral {

class ProcessTable {
 public:
  // The highest number that is given away, and how many threads there may be. As Linux's pid_max and threads-max.
  static inline constinit Setting highest_id{32768, 301, 4'194'304};
  static inline constinit Setting most_threads{most_threads_at_boot, 20, 0x3fff'ffff};

  // A number that no process or thread has; eagain: none left, or too many threads.
  Result<i32> allocate_id() REQUIRES(lock);
  void add(Process& process) REQUIRES(lock);
  void add(Thread& thread) REQUIRES(lock);
  void remove(Process& process) REQUIRES(lock);
  void remove(Thread& thread) REQUIRES(lock);
  [[nodiscard]] Process* find(ProcessId id) REQUIRES(lock);
  [[nodiscard]] Process* next(ProcessId after) REQUIRES(lock);
  [[nodiscard]] Thread* find(ThreadId id) REQUIRES(lock);
  // In the order of their numbers; null: no more.
  [[nodiscard]] Thread* next(ThreadId after) REQUIRES(lock);
  [[nodiscard]] Thread* next(const Thread& thread) REQUIRES(lock) { return threads_.next(thread); }
  // Gives `thread` another number.
  void renumber(Thread& thread, ThreadId id) REQUIRES(lock);

  SpinLock lock{Rank::process_table, "processes"};
  Process* first GUARDED_BY(lock) = nullptr;
  u32 process_count GUARDED_BY(lock) = 0;
  u32 thread_count GUARDED_BY(lock) = 0;
  u64 created GUARDED_BY(lock) = 0;

 private:
  struct ProcessOrder {
    bool operator()(const Process& a, const Process& b) const { return a.id() < b.id(); }
  };
  struct ThreadOrder {
    bool operator()(const Thread& a, const Thread& b) const { return a.id() < b.id(); }
  };
  RedBlackTree<Process, &Process::table_link, ProcessOrder> processes_ GUARDED_BY(lock);
  RedBlackTree<Thread, &Thread::table_link_, ThreadOrder> threads_ GUARDED_BY(lock);
  i32 last_id_ GUARDED_BY(lock) = 0;
};

[[nodiscard]] ProcessTable& process_table();

}  // namespace corral

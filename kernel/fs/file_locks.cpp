// See file_locks.h.
#include "fs/file_locks.h"

#include "fs/file_lock_table.h"
#include "memory/heap.h"
#include "sync/waiter.h"
#include "task/process.h"
#include "task/thread.h"

namespace corral::fs::file_locks {

constinit SpinLock all_locks{Rank::file, "locks of files"};

FileLockTable* table_of(Inode& inode) {
  FileLockTable* table = inode.locks.load(Order::relaxed);
  if (table == nullptr) {
    const Result<FileLockTable*> made = memory::make<FileLockTable>(all_locks);
    if (!made.ok()) return nullptr;
    table = made.value();
    inode.locks.store(table, Order::release);
  }
  return table;
}

namespace {

// A process that waits for another one's record lock.
struct Waiting {
  ListLink link;
  const void* owner;
  const void* holder;
};
constinit IntrusiveList<Waiting, &Waiting::link> waiting_processes GUARDED_BY(all_locks);
constexpr unsigned word_waiting = 4;  // of the thread's StepState

bool overlap(const Range& a, const Range& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool keeps_out(const FileLock& held, Kind kind, const void* owner, const Range& range, bool exclusive) {
  if ((held.kind == Kind::whole) != (kind == Kind::whole)) return false;  // flock and fcntl do not know one another
  return held.owner != owner && (held.exclusive || exclusive) && overlap(held.range, range);
}

FileLock* obstacle(FileLockTable& table, Kind kind, const void* owner, const Range& range, bool exclusive) {
  FileLock* first = nullptr;  // in the file
  for (FileLock* held = table.locks.front(); held != nullptr; held = table.locks.next(*held)) {
    if (!keeps_out(*held, kind, owner, range, exclusive)) continue;
    if (first == nullptr || held->range.first < first->range.first) first = held;
  }
  return first;
}

// Follows who waits for whom; each process waits for one other.
bool leads_back(const void* holder, const void* owner) REQUIRES(all_locks) {
  constexpr u32 farthest = 64;
  for (u32 i = 0; i < farthest; ++i) {
    if (holder == owner) return true;
    const Waiting* next = nullptr;
    for (Waiting* w = waiting_processes.front(); w != nullptr && next == nullptr; w = waiting_processes.next(*w)) {
      if (w->owner == holder) next = w;
    }
    if (next == nullptr) return false;
    holder = next->holder;
  }
  return false;
}

void stop_waiting(Thread& thread) REQUIRES(all_locks) {
  auto* waiting = reinterpret_cast<Waiting*>(std::exchange(thread.step.word[word_waiting], 0));
  if (waiting == nullptr) return;
  waiting_processes.remove(*waiting);
  delete waiting;
}

// Takes the owner's locks out of the range: cut at its ends, and split in two by `spare` where it lies inside one.
void cut_out(FileLockTable& table, Kind kind, const void* owner, const Range& range, FileLock*& spare) {
  table.locks.for_each([&](FileLock& held) {
    if (held.owner != owner || held.kind != kind || !overlap(held.range, range)) return;
    const bool before = held.range.first < range.first;
    const bool behind = held.range.last > range.last;
    if (before && behind) {
      FileLock& rest = *std::exchange(spare, nullptr);
      rest.set(kind, owner, {range.last + 1, held.range.last}, held.exclusive, held.process);
      held.range.last = range.first - 1;
      table.locks.push_back(rest);
    } else if (before) {
      held.range.last = range.first - 1;
    } else if (behind) {
      held.range.first = range.last + 1;
    } else {
      table.locks.remove(held);
      delete &held;
    }
  });
}

// Neighbours of the same kind become one.
void merge_into(FileLockTable& table, FileLock& fresh) {
  table.locks.for_each([&](FileLock& held) {
    if (&held == &fresh || held.owner != fresh.owner || held.kind != fresh.kind || held.exclusive != fresh.exclusive) return;
    if (held.range.last + 1 == fresh.range.first) {
      fresh.range.first = held.range.first;
    } else if (fresh.range.last + 1 == held.range.first) {
      fresh.range.last = held.range.last;
    } else {
      return;
    }
    table.locks.remove(held);
    delete &held;
  });
}

FileLock* make_lock() {
  const Result<FileLock*> made = memory::make<FileLock>();
  return made.ok() ? made.value() : nullptr;
}

Errno wait_for(Thread& thread, FileLockTable& table, Kind kind, const void* owner, const FileLock& held) REQUIRES(all_locks) {
  if (kind != Kind::of_process) return table.changed.wait(thread);
  if (held.kind == Kind::of_process && leads_back(held.owner, owner)) return Errno::edeadlk;
  const Result<Waiting*> made = memory::make<Waiting>();
  if (!made.ok()) return made.error();
  Waiting& waiting = *made.value();
  waiting.owner = owner;
  waiting.holder = held.owner;
  waiting_processes.push_back(waiting);
  thread.step.word[word_waiting] = reinterpret_cast<u64>(&waiting);
  const Errno outcome = table.changed.wait(thread);
  if (outcome != Errno::blocked) stop_waiting(thread);
  return outcome;
}

}  // namespace

Result<void> lock(Thread& thread, Inode& inode, Kind kind, const void* owner, const Range& range, bool exclusive, bool wait) {
  FileLock* fresh = make_lock();
  FileLock* spare = make_lock();
  const Errno outcome = [&]() -> Errno {
    LockGuard guard{all_locks};
    stop_waiting(thread);
    FileLockTable* table = table_of(inode);
    if (table == nullptr || fresh == nullptr || spare == nullptr) return Errno::enomem;
    if (kind == Kind::whole) {  // a change of kind gives up what was held, also if the new one is not to be had
      cut_out(*table, kind, owner, {}, spare);
      (void)table->changed.wake_all();
    }
    if (const FileLock* held = obstacle(*table, kind, owner, range, exclusive)) {
      return wait ? wait_for(thread, *table, kind, owner, *held) : Errno::eagain;
    }
    cut_out(*table, kind, owner, range, spare);
    const i32 process = kind == Kind::of_open_file ? -1 : thread.process().id().value;
    fresh->set(kind, owner, range, exclusive, process);
    table->locks.push_back(*fresh);
    merge_into(*table, *std::exchange(fresh, nullptr));
    (void)table->changed.wake_all();  // an exclusive one may have become shared
    return {};
  }();
  delete fresh;
  delete spare;
  return outcome;
}

Result<void> unlock(Inode& inode, Kind kind, const void* owner, const Range& range) {
  if (inode.locks.load(Order::acquire) == nullptr) return {};
  FileLock* spare = make_lock();
  if (spare == nullptr) return Errno::enomem;
  {
    LockGuard guard{all_locks};
    FileLockTable& table = *inode.locks.load(Order::relaxed);
    cut_out(table, kind, owner, range, spare);
    (void)table.changed.wake_all();
  }
  delete spare;
  return {};
}

bool find(Inode& inode, Kind kind, const void* owner, const Range& range, bool exclusive, Found& found) {
  LockGuard guard{all_locks};
  FileLockTable* table = inode.locks.load(Order::relaxed);
  const FileLock* held = table == nullptr ? nullptr : obstacle(*table, kind, owner, range, exclusive);
  if (held == nullptr) return false;
  found = {held->range, held->exclusive, held->process};
  return true;
}

void give_up(Thread& thread) {
  if (thread.step.word[word_waiting] == 0) return;
  LockGuard guard{all_locks};
  stop_waiting(thread);
}

void closed(Inode& inode, const void* owner) {
  if (inode.locks.load(Order::acquire) == nullptr) return;
  LockGuard guard{all_locks};
  FileLockTable& table = *inode.locks.load(Order::relaxed);
  table.locks.for_each([&](FileLock& held) {
    if (held.owner != owner) return;
    table.locks.remove(held);
    delete &held;
  });
  leases::closed(table, owner);
  (void)table.changed.wake_all();
}

void forget(Inode& inode) {
  FileLockTable* table = inode.locks.load(Order::relaxed);
  if (table == nullptr) return;
  {
    LockGuard guard{all_locks};
    while (FileLock* held = table->locks.pop_front()) delete held;
  }
  delete table;
}

}  // namespace corral::fs::file_locks

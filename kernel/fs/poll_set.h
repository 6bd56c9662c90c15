// Waiting for several files at once, without losing a wake-up.
//
// Every object that can be waited for has one PollSource under its own lock. A thread that polls makes one PollEntry for each
// file, all belonging to one PollSet, and enlists them while it looks at each file's readiness under that file's lock.
// Whoever changes a file's readiness notifies its source under the same lock; that marks the set and wakes the thread. A
// change before the look is seen by the look; a change after it finds the entry: none falls between.
//
// Locks: the source's lock is the object's (rank terminal, pipe …); a set's lock has rank wait_queue and is taken inside.
#pragma once

#include "fs/open_file.h"
#include "lib/intrusive_list.h"
#include "sync/waiter.h"

namespace corral::fs {

class PollSet;
class PollSource;

class PollEntry {
 public:
  PollEntry() = default;
  PollEntry(const PollEntry&) = delete;
  PollEntry& operator=(const PollEntry&) = delete;
  ~PollEntry() { leave(); }
  void join(PollSet& set, Ref<OpenFile> file) {
    set_ = &set;
    file_ = static_cast<Ref<OpenFile>&&>(file);
  }
  [[nodiscard]] OpenFile* file() const { return file_.get(); }
  void leave();  // is told no more; lets go of the file

 private:
  friend class PollSource;
  ListLink link_;                 // guarded by the source's lock
  PollSource* source_ = nullptr;  // own thread; lives as long as file_
  PollSet* set_ = nullptr;
  Ref<OpenFile> file_;
};

class PollSource {
 public:
  // `lock` protects the readiness that this source stands for; it is held in enlist() and notify().
  constexpr explicit PollSource(SpinLock& lock) : lock_{lock} {}
  PollSource(const PollSource&) = delete;
  PollSource& operator=(const PollSource&) = delete;
  void enlist(PollEntry& entry);
  void notify();

 private:
  friend class PollEntry;
  SpinLock& lock_;
  IntrusiveList<PollEntry, &PollEntry::link_> entries_ GUARDED_BY(lock_);
};

class PollSet {
 public:
  PollSet() = default;
  PollSet(const PollSet&) = delete;
  PollSet& operator=(const PollSet&) = delete;
  ~PollSet();
  // Room for `count` entries. enomem.
  Result<void> allocate(u64 count);
  [[nodiscard]] PollEntry& entry(u64 index) { return entries_[index]; }
  // Forgets earlier marks; call before looking at the files again.
  void begin_look() EXCLUDES(lock_);
  // Waits until a file has changed since begin_look(). Errno{}: one has; look again. blocked; restart.
  [[nodiscard]] Errno wait(Waiter& waiter, Instant deadline) EXCLUDES(lock_);

 private:
  friend class PollSource;
  void mark() EXCLUDES(lock_);
  SpinLock lock_{Rank::wait_queue, "poll set"};
  WaitQueue queue_{lock_};
  bool marked_ GUARDED_BY(lock_) = false;
  PollEntry* entries_ = nullptr;
  u64 count_ = 0;
};

}  // namespace corral::fs

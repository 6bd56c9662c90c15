// Waiting for several files at once (poll, select), without losing a wake-up: see fs/poll_source.h.
//
// A thread that polls makes one entry for each file, all belonging to one PollSet, and enlists them while it looks at each
// file's readiness. A change marks the set and wakes the thread.
//
// Locks: the source's lock is the object's (rank terminal, pipe …); the set's lock has rank wait_queue and is taken inside.
#pragma once

#include "fs/open_file.h"
#include "fs/poll_source.h"
#include "sync/waiter.h"

namespace corral::fs {

class PollSet final : public PollListener {
 public:
  PollSet() = default;
  PollSet(const PollSet&) = delete;
  PollSet& operator=(const PollSet&) = delete;
  ~PollSet();
  // Room for `count` files, none of them there. enomem.
  Result<void> allocate(u64 count);
  // The file takes the place `index`; what is returned is to be enlisted, and wants `bits`.
  PollEntry& put(u64 index, Ref<OpenFile> file, u32 bits);
  [[nodiscard]] OpenFile* file(u64 index) { return members_[index].file.get(); }
  // Forgets earlier marks; call before looking at the files again.
  void begin_look() EXCLUDES(lock_);
  // Waits until a file has changed since begin_look(). Errno{}: one has; look again. blocked; restart.
  [[nodiscard]] Errno wait(Waiter& waiter, Instant deadline) EXCLUDES(lock_);
  bool on_change(u32 bits) override EXCLUDES(lock_);

 private:
  struct Member {
    Ref<OpenFile> file;  // goes after the entry has left
    PollEntry entry;
  };
  SpinLock lock_{Rank::wait_queue, "poll set"};
  WaitQueue queue_{lock_};
  bool marked_ GUARDED_BY(lock_) = false;
  Member* members_ = nullptr;
  u64 count_ = 0;
};

}  // namespace corral::fs

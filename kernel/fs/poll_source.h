// Being told when a file's readiness changes.
//
// Every object that can be waited for has one PollSource under its own lock. Who wants to be told enlists a PollEntry while
// it looks at the readiness under that lock; whoever changes the readiness notifies the source under the same lock. A
// change before the look is seen by the look; a change after it finds the entry: none falls between.
// Listeners: PollSet (poll, select), EventWatch (epoll).
#pragma once

#include "fs/types.h"
#include "lib/atomic.h"
#include "lib/intrusive_list.h"
#include "sync/spin_lock.h"

namespace corral::fs {

class PollEntry;
class PollSource;

class PollListener {
 public:
  // Something of `bits` (which the entry asks for) may hold now that did not. The source's lock is held: only locks of higher
  // rank may be taken. True: somebody was woken that will see to it, so that exclusive entries behind need not be told.
  virtual bool on_change(u32 bits) = 0;

 protected:
  ~PollListener() = default;
};

class PollEntry {
 public:
  PollEntry() = default;
  PollEntry(const PollEntry&) = delete;
  PollEntry& operator=(const PollEntry&) = delete;
  ~PollEntry() { leave(); }
  // Before it is enlisted.
  void join(PollListener& listener, bool exclusive = false) {
    listener_ = &listener;
    exclusive_ = exclusive;
  }
  // The poll_ bits that the listener wants to be told of. Who asks for more must look at the file afterwards.
  void want(u32 bits) { wanted_.store(bits, Order::relaxed); }
  // Is told no more. The source must still be there.
  void leave();

 private:
  friend class PollSource;
  ListLink link_;  // guarded by the source's lock
  Atomic<PollSource*> source_{nullptr};
  PollListener* listener_ = nullptr;
  Atomic<u32> wanted_{0};
  u32 relevant_ = ~0u;  // guarded by the source's lock
  bool exclusive_ = false;
};

class PollSource {
 public:
  // `lock` protects the readiness that this source stands for; it is held in enlist(), notify() and in_use().
  constexpr explicit PollSource(SpinLock& lock) : lock_{lock} {}
  PollSource(const PollSource&) = delete;
  PollSource& operator=(const PollSource&) = delete;
  // `relevant`: what can become of the file that the entry is for, when the source stands for more than that.
  void enlist(PollEntry& entry, u32 relevant = ~0u);
  void notify(u32 bits) NO_THREAD_SAFETY_ANALYSIS {  // the caller knows the lock by another name
    if (!entries_.empty()) [[unlikely]]
      tell(bits);
  }
  [[nodiscard]] bool in_use() const NO_THREAD_SAFETY_ANALYSIS { return !entries_.empty(); }

 private:
  friend class PollEntry;
  void tell(u32 bits);
  SpinLock& lock_;
  IntrusiveList<PollEntry, &PollEntry::link_> entries_ GUARDED_BY(lock_);  // exclusive ones last
};

}  // namespace corral::fs

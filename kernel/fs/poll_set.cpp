// Polling. See poll_set.h.
#include "fs/poll_set.h"

#include "fs/inode.h"
#include "memory/heap.h"

namespace corral::fs {

void PollEntry::leave() {
  if (source_ != nullptr) {
    LockGuard guard{source_->lock_};
    if (link_.linked()) IntrusiveList<PollEntry, &PollEntry::link_>::remove(*this);
  }
  source_ = nullptr;
  file_ = {};
}

void PollSource::enlist(PollEntry& entry) NO_THREAD_SAFETY_ANALYSIS {  // the caller holds the object's lock, which is lock_
  if (entry.link_.linked()) return;
  entry.source_ = this;
  entries_.push_back(entry);
}

void PollSource::notify() NO_THREAD_SAFETY_ANALYSIS {  // as above
  entries_.for_each([](PollEntry& entry) { entry.set_->mark(); });
}

PollSet::~PollSet() {
  for (u64 i = 0; i < count_; ++i) entries_[i].~PollEntry();
  memory::release(entries_);
}

Result<void> PollSet::allocate(u64 count) {
  if (count == 0) return {};
  void* storage = memory::allocate(count * sizeof(PollEntry));
  if (storage == nullptr) return Errno::enomem;
  entries_ = static_cast<PollEntry*>(storage);
  for (; count_ < count; ++count_) ::new (&entries_[count_]) PollEntry();
  return {};
}

void PollSet::begin_look() {
  LockGuard guard{lock_};
  marked_ = false;
}

Errno PollSet::wait(Waiter& waiter, Instant deadline) {
  LockGuard guard{lock_};
  if (marked_) return Errno{};
  return queue_.wait(waiter, deadline);
}

void PollSet::mark() {
  LockGuard guard{lock_};
  marked_ = true;
  queue_.wake_all();
}

}  // namespace corral::fs

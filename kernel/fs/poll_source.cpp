// See poll_source.h.
#include "fs/poll_source.h"

namespace corral::fs {

void PollEntry::leave() {
  PollSource* source = source_.load(Order::acquire);
  if (source == nullptr) return;
  LockGuard guard{source->lock_};
  if (link_.linked()) IntrusiveList<PollEntry, &PollEntry::link_>::remove(*this);
  source_.store(nullptr, Order::relaxed);
}

void PollSource::enlist(PollEntry& entry,
                        u32 relevant) NO_THREAD_SAFETY_ANALYSIS {  // the caller holds the object's lock, which is lock_
  if (entry.link_.linked()) return;
  entry.relevant_ = relevant;
  entry.source_.store(this, Order::release);
  if (entry.exclusive_) {
    entries_.push_back(entry);
  } else {
    entries_.push_front(entry);
  }
}

void PollSource::tell(u32 bits) NO_THREAD_SAFETY_ANALYSIS {  // as above
  for (PollEntry* entry = entries_.front(); entry != nullptr; entry = entries_.next(*entry)) {
    if ((entry->wanted_.load(Order::relaxed) & entry->relevant_ & bits) == 0) continue;
    if (entry->listener_->on_change(bits) && entry->exclusive_) return;
  }
}

}  // namespace corral::fs

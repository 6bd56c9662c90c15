// See poll_set.h.
#include "fs/poll_set.h"

#include "fs/inode.h"
#include "memory/heap.h"

namespace corral::fs {

PollSet::~PollSet() {
  for (u64 i = 0; i < count_; ++i) members_[i].~Member();
  memory::release(members_);
}

Result<void> PollSet::allocate(u64 count) {
  if (count == 0) return {};
  members_ = static_cast<Member*>(memory::allocate(count * sizeof(Member)));
  if (members_ == nullptr) return Errno::enomem;
  for (; count_ < count; ++count_) ::new (&members_[count_]) Member();
  return {};
}

PollEntry& PollSet::put(u64 index, Ref<OpenFile> file, u32 bits) {
  Member& member = members_[index];
  member.file = static_cast<Ref<OpenFile>&&>(file);
  member.entry.join(*this);
  member.entry.want(bits);
  return member.entry;
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

bool PollSet::on_change(u32) {
  LockGuard guard{lock_};
  marked_ = true;
  return queue_.wake_all() > 0;
}

}  // namespace corral::fs

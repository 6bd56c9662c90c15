// See write_errors.h.
#include "fs/write_errors.h"

#include "fs/inode.h"

namespace corral::fs {

namespace {

u64 sample(const WriteErrors* errors) {
  return errors != nullptr ? errors->sample() : 0;
}

Result<void> tell(WriteErrors* errors, Atomic<u64>& told) {
  return errors != nullptr ? errors->tell(told) : Result<void>{};
}

}  // namespace

bool WriteErrors::note(Errno error) {
  u64 before = state_.load(Order::relaxed);
  u64 after = 0;
  do {
    after = (before & ~(one_more - 1)) + one_more + static_cast<u64>(error);
  } while (!state_.compare_exchange(before, after, Order::acq_rel, Order::relaxed));
  return before == 0 || (before & was_told) != 0;
}

u64 WriteErrors::sample() const {
  const u64 now = state_.load(Order::acquire);
  return (now & was_told) != 0 ? now : 0;
}

Result<void> WriteErrors::tell(Atomic<u64>& told) {
  u64 now = state_.load(Order::acquire);
  do {
    if (now == told.load(Order::relaxed)) return {};
  } while ((now & was_told) == 0 && !state_.compare_exchange(now, now | was_told, Order::acq_rel, Order::acquire));
  now |= was_told;
  if (told.exchange(now, Order::relaxed) == now) return {};  // another thread has been told by the same file
  return static_cast<Errno>(now & (was_told - 1));
}

WriteErrorsTold::WriteErrorsTold(Inode& inode)
    : data_{sample(inode.write_errors())},
      own_{sample(inode.file_system().own_errors())},
      all_data_{inode.file_system().data_errors.sample()} {}

Result<void> WriteErrorsTold::of_file(Inode& inode) {
  const Result<void> data = tell(inode.write_errors(), data_);
  const Result<void> own = tell(inode.file_system().own_errors(), own_);
  return data.ok() ? own : data;
}

Result<void> WriteErrorsTold::of_file_system(Inode& inode) {
  const Result<void> data = inode.file_system().data_errors.tell(all_data_);
  const Result<void> own = tell(inode.file_system().own_errors(), own_);
  return data.ok() ? own : data;
}

}  // namespace corral::fs

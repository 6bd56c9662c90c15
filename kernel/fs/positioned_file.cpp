// Open files with a position. See positioned_file.h.
#include "fs/positioned_file.h"

#include "fs/transfer.h"
#include "fs/watch/directory_notice.h"
#include "memory/heap.h"
#include "task/process.h"

namespace corral::fs {

namespace {

// Moves bytes piece by piece until the transfer is complete, `move` answers 0, or an error comes when nothing has been
// moved yet. `move(ready)` moves at most that many and answers how many.
template <class Move>
Result<u64> in_pieces(Thread& thread, Transfer& transfer, vm::Access access, Move&& move) {
  const u64 before = transfer.done();
  while (transfer.left() > 0) {
    if (transfer.done() - before >= bytes_without_pause) {
      if (pause_step(thread) == Errno::blocked) return Errno::blocked;
      break;  // a signal: what has been moved is the answer
    }
    const Result<u64> ready = transfer.prepare(transfer.left(), access);
    if (!ready.ok()) {
      if (ready.error() == Errno::blocked || transfer.done() == 0) return ready.error();
      break;
    }
    const Result<u64> moved = move(ready.value());
    if (!moved.ok()) {
      if (moved.error() == Errno::blocked || transfer.done() == 0) return moved.error();
      break;
    }
    if (moved.value() == 0) break;
    transfer.advance(moved.value());
    if (transfer.from_kernel()) break;  // what has been moved is the answer: its caller would not come again for the rest
  }
  return transfer.done();
}

// RLIMIT_FSIZE for a write. The signal is sent when no lock is held any more.
class SizeLimit {
 public:
  SizeLimit(Thread& thread, const Inode& file)
      : thread_{thread}, limit_{file.type() == FileType::regular ? thread.process().limits.file_size : no_limit} {}
  [[nodiscard]] bool exists() const { return limit_ != no_limit; }
  // How many of `size` bytes may be written at `offset`; efbig: none.
  Result<u64> allowed(u64 offset, u64 size) {
    reached_ = offset >= limit_ && size > 0;
    if (reached_) return Errno::efbig;
    return smaller(size, limit_ - offset);
  }
  // The result of the whole write: tells the thread if the limit left nothing of it.
  Result<u64> told(Result<u64> result) {
    if (!result && result.error() == Errno::efbig && reached_) signal();
    return result;
  }
  void signal() {
    (void)signals::send(thread_, {.number = sigxfsz, .code = code_user, .sender = thread_.process().id().value});
  }

 private:
  Thread& thread_;
  const u64 limit_;
  bool reached_ = false;
};

}  // namespace

Result<void> check_new_size(Thread& thread, Inode& file, u64 size) {
  SizeLimit limit{thread, file};
  if (!limit.exists() || size <= file.attributes().size || size <= thread.process().limits.file_size) return {};
  limit.signal();
  return Errno::efbig;
}

Result<u64> seek_target(i64 offset, Whence whence, u64 position, u64 size) {
  u64 base = 0;
  switch (whence) {
    case Whence::start: break;
    case Whence::current: base = position; break;
    case Whence::end: base = size; break;
    case Whence::data:
    case Whence::hole:
      if (offset < 0 || static_cast<u64>(offset) >= size) return Errno::enxio;
      return whence == Whence::data ? static_cast<u64>(offset) : size;
    default: return Errno::einval;
  }
  const u64 target = base + static_cast<u64>(offset);
  if (offset > 0 && target < base) return Errno::eoverflow;
  if (static_cast<i64>(target) < 0) return Errno::einval;
  return target;
}

Result<u64> PositionedFile::read(Thread& thread, Transfer& transfer) {
  return in_pieces(thread, transfer, vm::Access::write, [&](u64 ready) -> Result<u64> {
    LockGuard guard{position_lock_};
    const u64 moved = TRY(inode().read(position_, transfer, 0, ready));
    position_ += moved;
    return moved;
  });
}

Result<u64> PositionedFile::write(Thread& thread, Transfer& transfer) {
  SizeLimit limit{thread, inode()};
  return limit.told(in_pieces(thread, transfer, vm::Access::read, [&](u64 ready) -> Result<u64> {
    LockGuard guard{position_lock_};
    const bool appends = (flags() & o_append) != 0;
    if (limit.exists()) ready = TRY(limit.allowed(appends ? inode().attributes().size : position_, ready));
    if (appends) return inode().append(transfer, 0, ready, position_);
    const u64 moved = TRY(inode().write(position_, transfer, 0, ready));
    position_ += moved;
    return moved;
  }));
}

Result<u64> PositionedFile::read_at(Thread& thread, u64 offset, Transfer& transfer) {
  return in_pieces(thread, transfer, vm::Access::write,
                   [&](u64 ready) { return inode().read(offset + transfer.done(), transfer, 0, ready); });
}

Result<u64> PositionedFile::write_at(Thread& thread, u64 offset, Transfer& transfer) {
  SizeLimit limit{thread, inode()};
  return limit.told(in_pieces(thread, transfer, vm::Access::read, [&](u64 ready) -> Result<u64> {
    u64 end = 0;
    // Linux appends in pwrite too when the file was opened with O_APPEND.
    const bool appends = (flags() & o_append) != 0;
    const u64 from = offset + transfer.done();
    if (limit.exists()) ready = TRY(limit.allowed(appends ? inode().attributes().size : from, ready));
    if (appends) return inode().append(transfer, 0, ready, end);
    return inode().write(from, transfer, 0, ready);
  }));
}

Result<u64> PositionedFile::append(Thread& thread, Transfer& transfer, bool moves) {
  return in_pieces(thread, transfer, vm::Access::read, [&](u64 ready) -> Result<u64> {
    u64 end = 0;
    if (!moves) return inode().append(transfer, 0, ready, end);
    LockGuard guard{position_lock_};
    return inode().append(transfer, 0, ready, position_);
  });
}

Result<u64> PositionedFile::seek(i64 offset, Whence whence) {
  if (whence == Whence::data || whence == Whence::hole) {
    if (offset < 0) return Errno::enxio;
    const u64 place = TRY(inode().seek_data(static_cast<u64>(offset), whence == Whence::hole));
    LockGuard guard{position_lock_};
    position_ = place;
    return place;
  }
  // Asked only where it counts: each pread() comes here to learn whether there are places at all.
  const u64 size = whence == Whence::end ? inode().attributes().size : 0;
  LockGuard guard{position_lock_};
  position_ = TRY(seek_target(offset, whence, position_, size));
  return position_;
}

Result<void> PositionedFile::resize(u64 size) {
  return inode().resize(size);
}

Result<u64> PositionedFile::available() {
  const u64 size = inode().attributes().size;
  LockGuard guard{position_lock_};
  return position_ < size ? size - position_ : 0;
}

DirectoryFile::~DirectoryFile() {
  delete notice_.load(Order::acquire);
}

Result<void> DirectoryFile::notify(const FileTable& table, u32 wanted) {
  DirectoryNotice* notice = notice_.load(Order::acquire);
  if ((wanted & ~DirectoryNotice::again) == 0) {
    if (notice != nullptr) notice->end();
    return {};
  }
  if (notice == nullptr) {
    FileSignals* own = TRY(FileSignals::of(*this));
    DirectoryNotice* made = TRY(memory::make<DirectoryNotice>(*own));
    if (notice_.compare_exchange(notice, made, Order::acq_rel, Order::acquire)) {
      notice = made;
    } else {
      delete made;  // another thread was first, and its own is there
    }
  }
  return notice->set(Ref<Inode>::share(inode()), &table, wanted);
}

void DirectoryFile::descriptor_closed(const FileTable& table) {
  DirectoryNotice* notice = notice_.load(Order::acquire);
  if (notice != nullptr) notice->closed(&table);
}

Result<u64> DirectoryFile::seek(i64 offset, Whence whence) {
  const u64 target = TRY(seek_target(offset, whence, position_.load(Order::relaxed), 0));
  position_.store(target, Order::relaxed);
  return target;
}

}  // namespace corral::fs

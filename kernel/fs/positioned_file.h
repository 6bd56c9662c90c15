// An open file with a position: regular files. Threads that share it never write over one another: position and bytes
// move together, piece by piece (Transfer::prepare_limit), under position_lock_.
#pragma once

#include "fs/inode.h"
#include "sync/spin_lock.h"

namespace corral::fs {

// For a regular file that is to get this size. efbig: RLIMIT_FSIZE, and SIGXFSZ has been sent; shrinking is always allowed. Any
// step; no lock is held.
Result<void> check_new_size(Thread& thread, Inode& file, u64 size);

class PositionedFile final : public OpenFile {
 public:
  using OpenFile::OpenFile;
  Result<u64> read(Thread& thread, Transfer& transfer) override;
  Result<u64> write(Thread& thread, Transfer& transfer) override;
  Result<u64> read_at(Thread& thread, u64 offset, Transfer& transfer) override;
  Result<u64> write_at(Thread& thread, u64 offset, Transfer& transfer) override;
  Result<u64> append(Thread& thread, Transfer& transfer, bool moves) override;
  Result<u64> seek(i64 offset, Whence whence) override;
  Result<void> resize(u64 size) override;
  Result<Ref<vm::Backing>> backing() override { return inode().backing(); }
  Result<Ref<vm::Backing>> writable_backing() override { return inode().writable_backing(); }
  Result<u64> available() override;

 private:
  SpinLock position_lock_{Rank::file, "file position"};
  u64 position_ GUARDED_BY(position_lock_) = 0;
};

class DirectoryNotice;

// An open directory: a position for getdents64, and what F_NOTIFY wants to be told.
class DirectoryFile final : public OpenFile {
 public:
  using OpenFile::OpenFile;
  ~DirectoryFile() override;
  Result<void> notify(const FileTable& table, u32 wanted) override;
  void descriptor_closed(const FileTable& table) override;
  Result<u64> seek(i64 offset, Whence whence) override;
  Result<void> list(Listing& listing) override { return inode().list(position_.load(Order::relaxed), listing); }
  void set_directory_position(u64 position) override { position_.store(position, Order::relaxed); }

 private:
  Atomic<u64> position_{0};
  Atomic<DirectoryNotice*> notice_{nullptr};  // owned; null until it is asked for
};

// The place to seek to; einval, enxio, eoverflow as lseek(2).
[[nodiscard]] Result<u64> seek_target(i64 offset, Whence whence, u64 position, u64 size);

}  // namespace corral::fs

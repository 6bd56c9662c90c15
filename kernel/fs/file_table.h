// A process's descriptors: small numbers for open files. Guarded by lock_ (rank files); files are let go of outside it,
// because closing one may wake others. Any thread of the process; /proc reads the tables of others.
#pragma once

#include "fs/open_file.h"
#include "sync/spin_lock.h"

namespace corral::fs {

class FileTable final : public RefCounted<FileTable> {
 public:
  FileTable() = default;
  ~FileTable();

  Result<Ref<OpenFile>> get(int descriptor) EXCLUDES(lock_);  // ebadf
  // `count` files at once, with references: files[i] is the one at descriptor_of(i), or null. False: a descriptor that is not
  // negative is not open, or a name only (O_PATH).
  template <class DescriptorOf>
  bool hold(u64 count, OpenFile** files, DescriptorOf&& descriptor_of) EXCLUDES(lock_);
  // The lowest free number that is at least `from` and below `limit`. emfile, enomem; einval: `from` >= limit.
  Result<int> install(Ref<OpenFile> file, bool close_on_exec, u64 limit, int from = 0) EXCLUDES(lock_);
  // install() would find a number now. emfile.
  Result<void> check_room(u64 limit) EXCLUDES(lock_);
  // Exactly this number; what was there is closed. ebadf: not below `limit`; enomem.
  Result<void> replace(int descriptor, Ref<OpenFile> file, bool close_on_exec, u64 limit) EXCLUDES(lock_);
  Result<void> close(int descriptor) EXCLUDES(lock_);  // ebadf
  // Those from `first` to `last`, both included: closes them, or marks them.
  void close_range(u32 first, u32 last, bool only_mark) EXCLUDES(lock_);
  Result<bool> close_on_exec(int descriptor) EXCLUDES(lock_);  // ebadf
  Result<void> set_close_on_exec(int descriptor, bool value) EXCLUDES(lock_);
  // The lowest number in use that is at least `from`; -1: none.
  [[nodiscard]] int next_used(int from) EXCLUDES(lock_);

  Result<Ref<FileTable>> duplicate() EXCLUDES(lock_);  // for fork: the same open files. enomem
  void close_marked() EXCLUDES(lock_);  // exec
  void close_all() EXCLUDES(lock_);

  static constexpr u32 max_descriptors = 1u << 20;

 private:
  struct Slot {
    OpenFile* file = nullptr;  // a reference
    bool close_on_exec = false;
  };
  Result<void> grow(u32 wanted) REQUIRES(lock_);
  // Takes the lowest file out that is at `from` or above and fits; `from` moves behind it.
  Ref<OpenFile> take_next(u32& from, u32 last, bool only_marked) EXCLUDES(lock_);

  SpinLock lock_{Rank::files, "descriptors"};
  Slot* slots_ GUARDED_BY(lock_) = nullptr;
  u32 capacity_ GUARDED_BY(lock_) = 0;
  u32 lowest_free_ GUARDED_BY(lock_) = 0;  // no number below it is free
};

template <class DescriptorOf>
bool FileTable::hold(u64 count, OpenFile** files, DescriptorOf&& descriptor_of) {
  LockGuard guard{lock_};
  bool all = true;
  for (u64 i = 0; i < count; ++i) {
    const int descriptor = descriptor_of(i);
    OpenFile* file = static_cast<u32>(descriptor) < capacity_ ? slots_[descriptor].file : nullptr;
    if (file != nullptr && (file->flags() & o_path) != 0) file = nullptr;
    files[i] = file;
    if (file != nullptr) {
      file->retain();
    } else if (descriptor >= 0) {
      all = false;
    }
  }
  return all;
}

}  // namespace corral::fs

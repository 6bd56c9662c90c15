// What fs/ keeps for a process: descriptors, working directory, root directory, umask.
// Any thread of the process; /proc reads those of others. lock_ has rank files and is never held with another's.
#pragma once

#include "fs/file_table.h"
#include "fs/walk.h"
#include "fs/write_denial.h"
#include "task/process.h"

namespace corral::fs {

class Resources final : public ProcessResources {
 public:
  Resources(Ref<Inode> root, Ref<Inode> directory, Ref<FileTable> files)
      : files_{static_cast<Ref<FileTable>&&>(files)},
        root_{static_cast<Ref<Inode>&&>(root)},
        directory_{static_cast<Ref<Inode>&&>(directory)} {}

  static Resources& of(Process& process) { return static_cast<Resources&>(*process.resources); }

  // Another process's; null before it has any.
  static Ref<Resources> of_another(Process& process) {
    return Ref<Resources>::adopt(static_cast<Resources*>(process.resources_for_others().release()));
  }

  Result<Ref<ProcessResources>> duplicate() override;
  void before_exec() override { files_->close_marked(); }
  void release_all() override EXCLUDES(lock_);

  [[nodiscard]] FileTable& files() { return *files_; }
  // Null after release_all().
  [[nodiscard]] Ref<Inode> root() EXCLUDES(lock_);
  [[nodiscard]] Ref<Inode> directory() EXCLUDES(lock_);
  void set_root(Ref<Inode> root) EXCLUDES(lock_);
  void set_directory(Ref<Inode> directory) EXCLUDES(lock_);
  // The program that the process runs from now on: nobody may write to it.
  void set_program(WriteDenial program) EXCLUDES(lock_);
  // Where a path starts whose first argument is `descriptor` (at_fdcwd: the working directory). ebadf, enotdir.
  Result<WalkStart> start_at(Thread& thread, int descriptor, std::string_view path) EXCLUDES(lock_);

  Atomic<u32> umask{022};

 private:
  Ref<FileTable> files_;
  SpinLock lock_{Rank::files, "directories"};
  Ref<Inode> root_ GUARDED_BY(lock_);
  Ref<Inode> directory_ GUARDED_BY(lock_);
  WriteDenial program_ GUARDED_BY(lock_);
};

}  // namespace corral::fs

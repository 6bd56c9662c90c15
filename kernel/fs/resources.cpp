// See resources.h.
#include "fs/resources.h"

#include "fs/path_cursor.h"
#include "memory/heap.h"

namespace corral::fs {

Result<Ref<ProcessResources>> Resources::duplicate() {
  Ref<FileTable> files = TRY(files_->duplicate());
  Ref<Resources> copy = Ref<Resources>::adopt(TRY(memory::make<Resources>(root(), directory(), files)));
  Ref<Inode> program;
  {
    LockGuard guard{lock_};
    program = program_.file();
  }
  if (program) {
    Result<WriteDenial> own =
        WriteDenial::of(program);  // fails when the program has just been given up, by an end of the process
    if (own.ok()) copy->set_program(own.take());
  }
  copy->umask.store(umask.load(Order::relaxed), Order::relaxed);
  return Ref<ProcessResources>{copy};
}

void Resources::release_all() {
  if (references() > 1) return;  // shared with another process (clone with CLONE_FILES), which goes on
  files_->close_all();
  set_program({});
  Ref<Inode> root, directory;
  LockGuard guard{lock_};
  std::swap(root, root_);
  std::swap(directory, directory_);
}

Ref<Inode> Resources::root() {
  LockGuard guard{lock_};
  return root_;
}

Ref<Inode> Resources::directory() {
  LockGuard guard{lock_};
  return directory_;
}

void Resources::set_root(Ref<Inode> root) {
  LockGuard guard{lock_};
  std::swap(root_, root);
}

void Resources::set_directory(Ref<Inode> directory) {
  LockGuard guard{lock_};
  std::swap(directory_, directory);
}

void Resources::set_program(WriteDenial program) {
  LockGuard guard{lock_};
  std::swap(program_, program);  // what was there goes without the lock
}

Result<WalkStart> Resources::start_at(Thread& thread, int descriptor, std::string_view path) {
  WalkStart start;
  start.thread = &thread;
  start.credentials = &thread.credentials();
  start.root = root();
  if (is_absolute(path)) {
    start.directory = start.root;
  } else if (descriptor == at_fdcwd) {
    start.directory = directory();
  } else {
    const Ref<OpenFile> file = TRY(files_->get(descriptor));
    if (!path.empty() && !file->inode().is_directory()) return Errno::enotdir;
    start.directory = Ref<Inode>::share(file->inode());
  }
  return Result<WalkStart>{std::move(start)};
}

}  // namespace corral::fs

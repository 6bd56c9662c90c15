// See executable.h.
#include "fs/executable.h"

#include "fs/leases.h"
#include "fs/permission.h"
#include "fs/resources.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs {

namespace {

Result<Ref<Inode>> find_program(Thread& thread, int directory, std::string_view path, u32 flags) {
  Resources& resources = Resources::of(thread.process());
  Ref<Inode> file;
  if (path.empty() && (flags & at_empty_path) != 0) {
    Ref<OpenFile> open = TRY(resources.files().get(directory));
    file = Ref<Inode>::share(open->inode());
  } else {
    const WalkStart start = TRY(resources.start_at(thread, directory, path));
    file = TRY(find(start, path, (flags & at_symlink_nofollow) != 0 ? Follow::no : Follow::yes));
    if (file->type() == FileType::symlink) return Errno::eloop;
  }
  if (file->type() != FileType::regular) return Errno::eacces;
  TRY(permission::check(*file, thread.credentials(), may_execute));
  if (file->file_system().forbids(mount_no_execute)) return Errno::eacces;
  return file;
}

}  // namespace

Result<Executable> Executable::open(Thread& thread, int directory, std::string_view path, u32 flags) {
  Ref<Inode> file = TRY(find_program(thread, directory, path, flags));
  Ref<OpenFile> open = Ref<OpenFile>::adopt(TRY(memory::make<OpenFile>(file, o_path)));
  TRY(leases::break_for_open(thread, *file, o_rdonly));
  return Executable{static_cast<Ref<OpenFile>&&>(open), TRY(WriteDenial::of(file))};
}

Result<std::string_view> name_of(Inode& file, std::span<char> to) {
  const Result<std::string_view> path = path_of(file, to);
  if (!path.ok() && path.error() == Errno::erange) return Errno::enametoolong;
  if (!path.ok()) return path.error();
  memmove(to.data(), path.value().data(), path.value().size());
  return std::string_view{to.data(), path.value().size()};
}

Result<u64> Executable::read_at(u64 offset, std::span<u8> to) {
  return file().read_kernel(offset, to);
}

Result<Ref<vm::Backing>> Executable::backing() {
  return file().backing();
}

u64 Executable::size() {
  return file().attributes().size;
}

}  // namespace corral::fs

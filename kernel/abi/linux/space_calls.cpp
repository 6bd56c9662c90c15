// Room for files' contents, and advice about it: fallocate, fadvise64, readahead, sync_file_range; memfd_create, whose files are
// contents only. The order of the checks is Linux's. Source: the Linux man-pages of these calls.
#include "abi/linux/file_handlers.h"
#include "fs/allocation.h"
#include "fs/anonymous.h"
#include "fs/inode.h"
#include "fs/positioned_file.h"
#include "fs/watch/notices.h"

namespace corral::abi {

namespace {

using fs::FileType;
using fs::OpenFile;

constexpr u64 largest_size = ~u64{0} >> 1;

Result<void> check_mode(u32 mode) {
  constexpr u32 punch = fs::allocate_punch_hole, zero = fs::allocate_zero, keep = fs::allocate_keep_size;
  if ((mode & ~fs::all_allocation_modes) != 0) return Errno::eopnotsupp;
  if ((mode & (punch | zero)) == (punch | zero)) return Errno::eopnotsupp;
  if ((mode & punch) != 0 && (mode & keep) == 0) return Errno::eopnotsupp;
  for (const u32 alone : {fs::allocate_collapse, fs::allocate_insert}) {
    if ((mode & alone) != 0 && (mode & ~alone) != 0) return Errno::einval;
  }
  if ((mode & fs::allocate_unshare) != 0 && (mode & ~(fs::allocate_unshare | keep)) != 0) return Errno::einval;
  return {};
}

Result<i64> sys_fallocate(Call& call) {
  Ref<OpenFile> file = TRY(real_file_at(call, 0));
  const u32 mode = static_cast<u32>(call.argument[1]);
  const i64 offset = static_cast<i64>(call.argument[2]);
  const i64 length = static_cast<i64>(call.argument[3]);
  if (offset < 0 || length <= 0) return Errno::einval;
  TRY(check_mode(mode));
  if (!file->writable()) return Errno::ebadf;
  const bool grows_only = (mode & ~fs::allocate_keep_size) == 0;
  if (file->inode().has_flag(grows_only ? fs::flag_immutable : fs::flag_immutable | fs::flag_append)) return Errno::eperm;
  switch (file->inode().type()) {
    case FileType::fifo: return Errno::espipe;
    case FileType::directory: return Errno::eisdir;
    case FileType::regular: break;
    default: return Errno::enodev;
  }
  if (call.argument[2] + call.argument[3] > largest_size) return Errno::efbig;
  if ((mode & fs::allocate_keep_size) == 0 && call.thread.step.word[0] == 0) {
    TRY(fs::check_new_size(call.thread, file->inode(), call.argument[2] + call.argument[3]));
  }
  TRY(file->inode().allocate(mode, call.argument[2], call.argument[3], call.thread.step.word[0]));
  fs::notices::tell(file->inode(), fs::notices::modified);
  return 0;
}

Result<i64> sys_fadvise64(Call& call) {
  Ref<OpenFile> file = TRY(real_file_at(call, 0));
  if (file->inode().type() == FileType::fifo) return Errno::espipe;
  if (static_cast<i64>(call.argument[2]) < 0) return Errno::einval;
  return call.argument[3] <= 5 ? Result<i64>{i64{0}} : Errno::einval;
}

// Reading ahead is the page cache's own affair.
Result<i64> sys_readahead(Call& call) {
  Ref<OpenFile> file = TRY(file_at(call, 0));
  if (!file->readable()) return Errno::ebadf;
  const FileType type = file->inode().type();
  if (type != FileType::regular && type != FileType::block) return Errno::einval;
  if (static_cast<i64>(call.argument[2]) < 0) return Errno::einval;
  return 0;
}

Result<i64> sys_sync_file_range(Call& call) {
  constexpr u32 known = 7;
  Ref<OpenFile> file = TRY(real_file_at(call, 0));
  const i64 offset = static_cast<i64>(call.argument[1]);
  const i64 end = static_cast<i64>(call.argument[1] + call.argument[2]);
  if ((static_cast<u32>(call.argument[3]) & ~known) != 0 || offset < 0 || end < offset) return Errno::einval;
  const FileType type = file->inode().type();
  if (type != FileType::regular && type != FileType::block && type != FileType::directory) return Errno::espipe;
  if (static_cast<u32>(call.argument[3]) == 0) return 0;
  return success(file->sync(call.thread.step.word[0]));
}

Result<i64> sys_memfd_create(Call& call) {
  constexpr u32 cloexec = 1, allow_sealing = 2;
  constexpr u64 longest_name = 249;
  const u32 flags = static_cast<u32>(call.argument[1]);
  if ((flags & ~(cloexec | allow_sealing)) != 0) return Errno::einval;
  UserPath name;
  const Result<void> taken = name.take(call, call.address(0));
  if (!taken.ok()) return taken.error() == Errno::enametoolong ? Errno::einval : taken.error();
  if (name.text().size() > longest_name) return Errno::einval;
  Ref<fs::Inode> inode = TRY(fs::make_memory_file(name.text(), (flags & allow_sealing) != 0));
  Ref<OpenFile> file = TRY(inode->open({call.thread, fs::o_rdwr | fs::o_largefile}));
  return i64{TRY(resources_of(call).files().install(file, (flags & cloexec) != 0, call.process.limits.open_files))};
}

constexpr Entry entries[] = {
    {187, "readahead", sys_readahead}, {221, "fadvise64", sys_fadvise64},       {277, "sync_file_range", sys_sync_file_range},
    {285, "fallocate", sys_fallocate}, {319, "memfd_create", sys_memfd_create},
};

}  // namespace

std::span<const Entry> space_calls() {
  return entries;
}

}  // namespace corral::abi

// Making, removing and renaming names: mkdir, mknod, rmdir, unlink, rename, link, symlink and their *at forms.
// Source: the Linux man-pages of these calls.
#include "abi/linux/open_found.h"
#include "fs/inode.h"
#include "fs/permission.h"
#include "fs/watch/notices.h"

namespace corral::abi {

namespace {

using fs::Creation;
using fs::FileType;
using fs::Follow;
using fs::Inode;
using fs::Walk;

Result<i64> create(Call& call, int directory, VirtualAddress path_at, Creation creation) {
  NamedFile named;
  TRY(named.look(call, directory, path_at, Follow::never));
  const Walk& walk = named.walk;
  if (walk.file) return Errno::eexist;
  if (walk.must_be_directory && creation.type != FileType::directory) return Errno::enoent;
  TRY(may_change(*walk.directory));
  const Credentials& credentials = call.thread.credentials();
  TRY(fs::permission::check_add(*walk.directory, credentials));
  const bool device = creation.type == FileType::character || creation.type == FileType::block;
  if (device && !credentials.may(Capability::mknod)) return Errno::eperm;
  fs::permission::set_owner(creation, *walk.directory, credentials, umask_of(call));
  (void)TRY(walk.directory->create(walk.name(), creation));
  fs::notices::made(*walk.directory, walk.name(), creation.type == FileType::directory);
  return 0;
}

// ---- mkdir, mknod ----------------------------------------------------------------------------------------------------------

Result<i64> make_directory(Call& call, int directory, VirtualAddress path_at, u64 mode) {
  return create(call, directory, path_at, {.type = FileType::directory, .permissions = static_cast<u32>(mode) & 01777});
}

Result<i64> sys_mkdir(Call& call) {
  return make_directory(call, fs::at_fdcwd, call.address(0), call.argument[1]);
}

Result<i64> sys_mkdirat(Call& call) {
  return make_directory(call, call.number(0), call.address(1), call.argument[2]);
}

Result<i64> make_node(Call& call, int directory, VirtualAddress path_at, u64 mode, u64 number) {
  FileType type = fs::type_of_mode(static_cast<u32>(mode));
  constexpr u64 type_bits = 0170000;
  if (type == FileType::unknown && (mode & type_bits) != 0) return Errno::einval;
  if (type == FileType::unknown) type = FileType::regular;
  if (type == FileType::directory) return Errno::eperm;
  if (type == FileType::symlink) return Errno::einval;
  Creation creation{.type = type, .permissions = static_cast<u32>(mode) & 07777};
  creation.special = fs::DeviceNumber::decoded(number & 0xffff'ffff);
  return create(call, directory, path_at, creation);
}

Result<i64> sys_mknod(Call& call) {
  return make_node(call, fs::at_fdcwd, call.address(0), call.argument[1], call.argument[2]);
}

Result<i64> sys_mknodat(Call& call) {
  return make_node(call, call.number(0), call.address(1), call.argument[2], call.argument[3]);
}

// ---- unlink, rmdir ---------------------------------------------------------------------------------------------------------

Result<i64> remove_directory(Call& call, int directory, VirtualAddress path_at) {
  NamedFile named;
  TRY(named.look(call, directory, path_at, Follow::never));
  const Walk& walk = named.walk;
  switch (walk.end) {
    case Walk::End::dot: return Errno::einval;
    case Walk::End::dot_dot: return Errno::enotempty;
    case Walk::End::root: return Errno::ebusy;
    case Walk::End::name: break;
  }
  TRY(may_change(*walk.directory));
  if (!walk.file) return Errno::enoent;
  // A mount's root, or a directory that one covers, is in use.
  if (walk.file->is_directory() && &walk.file->file_system() != &walk.directory->file_system()) return Errno::ebusy;
  TRY(fs::permission::check_remove(*walk.directory, *walk.file, call.thread.credentials()));
  TRY(walk.directory->remove_directory(walk.name()));
  fs::notices::removed(*walk.directory, walk.name(), *walk.file);
  return 0;
}

Result<i64> unlink(Call& call, int directory, VirtualAddress path_at) {
  NamedFile named;
  TRY(named.look(call, directory, path_at, Follow::never));
  return success(unlink_found(call, named.walk));
}

Result<i64> sys_rmdir(Call& call) {
  return remove_directory(call, fs::at_fdcwd, call.address(0));
}

Result<i64> sys_unlink(Call& call) {
  return unlink(call, fs::at_fdcwd, call.address(0));
}

Result<i64> sys_unlinkat(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[2]);
  if ((flags & ~fs::at_removedir) != 0) return Errno::einval;
  return flags != 0 ? remove_directory(call, call.number(0), call.address(1)) : unlink(call, call.number(0), call.address(1));
}

// ---- rename, link, symlink -------------------------------------------------------------------------------------------------

// Both names may go from where they are, and a directory that gets another above it is written to.
Result<void> check_rename(const Credentials& credentials, const Walk& old, const Walk& fresh, bool exchanged) {
  TRY(fs::permission::check_remove(*old.directory, *old.file, credentials));
  if (fresh.file) {
    TRY(fs::permission::check_remove(*fresh.directory, *fresh.file, credentials));
  } else {
    TRY(fs::permission::check_add(*fresh.directory, credentials));
  }
  if (old.directory.get() == fresh.directory.get()) return {};
  if (old.file->is_directory()) TRY(fs::permission::check(*old.file, credentials, fs::may_write));
  if (exchanged && fresh.file->is_directory()) TRY(fs::permission::check(*fresh.file, credentials, fs::may_write));
  return {};
}

Result<i64> rename(Call& call, int from, VirtualAddress from_at, int to, VirtualAddress to_at, u32 flags) {
  constexpr u32 noreplace = 1, exchange = 2;
  if ((flags & ~(noreplace | exchange)) != 0 || flags == (noreplace | exchange)) return Errno::einval;
  NamedFile old;
  NamedFile fresh;
  TRY(old.look(call, from, from_at, Follow::never));
  TRY(fresh.look(call, to, to_at, Follow::never));
  if (old.walk.end != Walk::End::name) return Errno::ebusy;
  if (fresh.walk.end != Walk::End::name) return flags == noreplace ? Errno::eexist : Errno::ebusy;
  TRY(may_change(*old.walk.directory));
  if (!old.walk.file) return Errno::enoent;
  const bool exchanged = flags == exchange;
  if (flags == noreplace && fresh.walk.file) return Errno::eexist;
  if (exchanged) {
    if (!fresh.walk.file) return Errno::enoent;
    if (fresh.walk.must_be_directory && !fresh.walk.file->is_directory()) return Errno::enotdir;
  }
  const bool directory_meant = old.walk.must_be_directory || (!exchanged && fresh.walk.must_be_directory);
  if (directory_meant && !old.walk.file->is_directory()) return Errno::enotdir;
  if (fresh.walk.file.get() != old.walk.file.get())
    TRY(check_rename(call.thread.credentials(), old.walk, fresh.walk, exchanged));
  TRY(old.walk.directory->rename(old.walk.name(), *fresh.walk.directory, fresh.walk.name(), flags));
  if (fresh.walk.file.get() == old.walk.file.get()) return 0;  // both names are the file's: nothing has happened
  fs::notices::moved(*old.walk.directory, old.walk.name(), *fresh.walk.directory, fresh.walk.name(), *old.walk.file,
                     exchanged ? nullptr : fresh.walk.file.get());
  if (exchanged) {
    fs::notices::moved(*fresh.walk.directory, fresh.walk.name(), *old.walk.directory, old.walk.name(), *fresh.walk.file,
                       nullptr);
  }
  return 0;
}

Result<i64> sys_rename(Call& call) {
  return rename(call, fs::at_fdcwd, call.address(0), fs::at_fdcwd, call.address(1), 0);
}

Result<i64> sys_renameat(Call& call) {
  return rename(call, call.number(0), call.address(1), call.number(2), call.address(3), 0);
}

Result<i64> sys_renameat2(Call& call) {
  return rename(call, call.number(0), call.address(1), call.number(2), call.address(3), static_cast<u32>(call.argument[4]));
}

Result<i64> link(Call& call, int from, VirtualAddress from_at, int to, VirtualAddress to_at, u32 flags) {
  if ((flags & ~(fs::at_symlink_follow | fs::at_empty_path)) != 0) return Errno::einval;
  NamedFile old;
  NamedFile fresh;
  const Follow follow = (flags & fs::at_symlink_follow) != 0 ? Follow::yes : Follow::no;
  Ref<Inode> file = TRY(old.existing(call, from, from_at, follow, flags));
  TRY(fresh.look(call, to, to_at, Follow::never));
  if (fresh.walk.file) return Errno::eexist;
  if (fresh.walk.must_be_directory) return Errno::enoent;
  TRY(may_change(*fresh.walk.directory));
  TRY(fs::permission::check_add(*fresh.walk.directory, call.thread.credentials()));
  if (file->is_protected()) return &file->file_system() == &fresh.walk.directory->file_system() ? Errno::eperm : Errno::exdev;
  TRY(fresh.walk.directory->link(fresh.walk.name(), *file));
  fs::notices::tell_alone(*file, fs::notices::attributes_changed);
  fs::notices::made(*fresh.walk.directory, fresh.walk.name(), false);
  return 0;
}

Result<i64> sys_link(Call& call) {
  return link(call, fs::at_fdcwd, call.address(0), fs::at_fdcwd, call.address(1), 0);
}

Result<i64> sys_linkat(Call& call) {
  return link(call, call.number(0), call.address(1), call.number(2), call.address(3), static_cast<u32>(call.argument[4]));
}

Result<i64> symlink(Call& call, VirtualAddress target_at, int directory, VirtualAddress path_at) {
  UserPath target;
  TRY(target.take(call, target_at));
  if (target.text().empty()) return Errno::enoent;
  return create(call, directory, path_at, {.type = FileType::symlink, .permissions = 0777, .target = target.text()});
}

Result<i64> sys_symlink(Call& call) {
  return symlink(call, call.address(0), fs::at_fdcwd, call.address(1));
}

Result<i64> sys_symlinkat(Call& call) {
  return symlink(call, call.address(0), call.number(1), call.address(2));
}

constexpr Entry entries[] = {
    {82, "rename", sys_rename},        {83, "mkdir", sys_mkdir},
    {84, "rmdir", sys_rmdir},          {86, "link", sys_link},
    {87, "unlink", sys_unlink},        {88, "symlink", sys_symlink},
    {133, "mknod", sys_mknod},         {258, "mkdirat", sys_mkdirat},
    {259, "mknodat", sys_mknodat},     {263, "unlinkat", sys_unlinkat},
    {264, "renameat", sys_renameat},   {265, "linkat", sys_linkat},
    {266, "symlinkat", sys_symlinkat}, {316, "renameat2", sys_renameat2},
};

}  // namespace

Result<void> unlink_found(Call& call, const Walk& walk) {
  if (walk.end != Walk::End::name) return Errno::eisdir;
  TRY(may_change(*walk.directory));
  if (!walk.file) return Errno::enoent;
  if (walk.must_be_directory && !walk.file->is_directory()) return Errno::enotdir;
  TRY(fs::permission::check_remove(*walk.directory, *walk.file, call.thread.credentials()));
  TRY(walk.directory->unlink(walk.name()));
  fs::notices::removed(*walk.directory, walk.name(), *walk.file);
  return {};
}

std::span<const Entry> name_calls() {
  return entries;
}

}  // namespace corral::abi

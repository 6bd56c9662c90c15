// open, openat, openat2, creat, truncate, readlink, access. Source: Linux man-pages open(2), openat2(2), truncate(2),
// readlink(2), access(2).
#include "abi/linux/open_found.h"
#include "fs/inode.h"
#include "fs/leases.h"
#include "fs/permission.h"
#include "fs/pipe.h"
#include "fs/positioned_file.h"
#include "fs/shrinking.h"
#include "fs/watch/notices.h"
#include "memory/page_allocator.h"

namespace corral::abi {

namespace {

using fs::Inode;
using fs::OpenFile;

// ---- open --------------------------------------------------------------------------------------------------------------

// eacces; eperm: what may only grow is opened otherwise, or only its owner may read a file without leaving a trace (O_NOATIME).
Result<void> check_open(Call& call, Inode& inode, u32 flags) {
  constexpr u32 wanted[] = {fs::may_read, fs::may_write, fs::may_read | fs::may_write, fs::may_read | fs::may_write};
  const Credentials& credentials = call.thread.credentials();
  const u32 truncates = (flags & fs::o_trunc) != 0 ? fs::may_write : 0;
  TRY(fs::permission::check(inode, credentials, wanted[flags & fs::o_accmode] | truncates));
  const bool appends = (flags & fs::o_accmode) == fs::o_rdonly || (flags & fs::o_append) != 0;
  if (inode.has_flag(fs::flag_append) && (!appends || truncates != 0)) return Errno::eperm;
  if ((flags & fs::o_noatime) != 0 && !fs::permission::owns(inode, credentials)) return Errno::eperm;
  return {};
}

Result<Ref<OpenFile>> open_allowed(Call& call, Inode& inode, u32 flags, bool created) {
  const bool writes = (flags & fs::o_accmode) != fs::o_rdonly;
  const bool wants_directory = (flags & (fs::o_directory | fs::o_tmpfile)) == fs::o_directory;
  if (wants_directory && !inode.is_directory()) return Errno::enotdir;
  if ((flags & fs::o_path) != 0) {
    auto* file = new (std::nothrow) OpenFile(Ref<Inode>::share(inode), flags);
    if (file == nullptr) return Errno::enomem;
    return Ref<OpenFile>::adopt(file);
  }
  if (inode.type() == fs::FileType::symlink) return Errno::eloop;
  if (inode.is_directory() && (writes || (flags & fs::o_trunc) != 0)) return Errno::eisdir;
  if ((flags & fs::o_direct) != 0 && !reads_directly(inode)) return Errno::einval;
  if (!created) {
    TRY(check_open(call, inode, flags));
    TRY(fs::leases::break_for_open(call.thread, inode, flags));
    const bool cuts = (flags & fs::o_trunc) != 0 && inode.type() == fs::FileType::regular;  // also to be read only, as on Linux
    if (cuts) TRY(fs::resize_mapped(call.thread, inode, nullptr, 0));
  }
  return inode.open({call.thread, flags});
}

// Linux takes a descriptor before it looks for the file: with none left nothing is made or cut. emfile; a wrong path is told first.
Result<void> check_room(Call& call, VirtualAddress path_at) {
  const Result<void> room = resources_of(call).files().check_room(call.process.limits.open_files);
  if (room.ok()) return {};
  UserPath path;
  TRY(path.take(call, path_at));
  return path.text().empty() ? Errno::enoent : room.error();
}

// O_TMPFILE: a file without a name in the directory that the path leads to.
Result<i64> open_unnamed(Call& call, int directory, VirtualAddress path_at, u32 flags, u32 permissions, u32 restrictions) {
  NamedFile named;
  named.restrictions = restrictions;
  Ref<Inode> where = TRY(named.existing(call, directory, path_at, follow_unless(flags, fs::o_nofollow)));
  if (!where->is_directory()) return Errno::enotdir;
  TRY(may_change(*where));
  const Credentials& credentials = call.thread.credentials();
  TRY(fs::permission::check_add(*where, credentials));
  fs::Creation creation{.type = fs::FileType::regular, .permissions = permissions & 07777};
  fs::permission::set_owner(creation, *where, credentials, umask_of(call));
  Ref<Inode> inode = TRY(where->create_unnamed(creation.permissions, (flags & fs::o_excl) == 0));
  TRY(inode->change({.set_user = true, .set_group = true, .user = creation.user, .group = creation.group}));
  Ref<OpenFile> file = TRY(open_found(call, *inode, flags | fs::o_largefile, true));
  return i64{TRY(resources_of(call).files().install(file, (flags & fs::o_cloexec) != 0, call.process.limits.open_files))};
}

// A directory is meant, whatever there is.
bool means_directory_below_root(std::string_view path) {
  return path.ends_with('/') && path.find_first_not_of('/') != std::string_view::npos;
}

Result<i64> open_step(Call& call, int directory, VirtualAddress path_at, u32 flags, u32 permissions, u32 restrictions) {
  if ((flags & fs::o_path) != 0) flags &= fs::o_path | fs::o_cloexec | fs::o_directory | fs::o_nofollow;
  constexpr u32 unnamed = fs::o_tmpfile | fs::o_directory;
  if ((flags & fs::o_tmpfile) != 0) {
    if ((flags & (unnamed | fs::o_creat)) != unnamed || (flags & fs::o_accmode) == fs::o_rdonly) return Errno::einval;
    TRY(check_room(call, path_at));
    return open_unnamed(call, directory, path_at, flags, permissions, restrictions);
  }
  if ((flags & (fs::o_creat | fs::o_directory)) == (fs::o_creat | fs::o_directory)) return Errno::einval;
  TRY(check_room(call, path_at));
  const bool exclusive = (flags & (fs::o_creat | fs::o_excl)) == (fs::o_creat | fs::o_excl);
  const fs::Follow follow = (flags & fs::o_nofollow) != 0 || exclusive ? fs::Follow::no : fs::Follow::yes;
  NamedFile named;
  named.restrictions = restrictions;
  Result<void> found = named.look(call, directory, path_at, follow);
  if ((flags & fs::o_creat) != 0 && means_directory_below_root(named.path.text())) {
    if (!found.ok() && found.error() == Errno::enotdir) found = named.look(call, directory, path_at, fs::Follow::never);
    return found.ok() ? Errno::eisdir : found.error();
  }
  TRY(found);
  bool created = false;
  Ref<Inode> inode = TRY(find_or_create(call, named.walk, flags, permissions, created));
  if ((flags & fs::o_path) == 0) flags |= fs::o_largefile;
  Ref<OpenFile> file = TRY(open_found(call, *inode, flags, created));
  const bool marked = (flags & fs::o_cloexec) != 0;
  return i64{TRY(resources_of(call).files().install(file, marked, call.process.limits.open_files))};
}

Result<i64> open_at(Call& call, int directory, VirtualAddress path_at, u32 flags, u32 permissions, u32 restrictions = 0) {
  (void)TRY(fs::finish_shrinking(call.thread));
  Result<i64> outcome = open_step(call, directory, path_at, flags, permissions, restrictions);
  if (outcome.ok() || outcome.error() != Errno::blocked) fs::abandon_fifo_open(call.thread);
  return outcome;
}

Result<i64> sys_open(Call& call) {
  return open_at(call, fs::at_fdcwd, call.address(0), static_cast<u32>(call.argument[1]), static_cast<u32>(call.argument[2]));
}

Result<i64> sys_openat(Call& call) {
  return open_at(call, call.number(0), call.address(1), static_cast<u32>(call.argument[2]), static_cast<u32>(call.argument[3]));
}

Result<i64> sys_creat(Call& call) {
  constexpr u32 flags = fs::o_creat | fs::o_wronly | fs::o_trunc;
  return open_at(call, fs::at_fdcwd, call.address(0), flags, static_cast<u32>(call.argument[1]));
}

Result<i64> sys_openat2(Call& call) {
  struct How {  // struct open_how
    u64 flags, mode, resolve;
  };
  constexpr u64 known_flags = 037777703;
  if (call.argument[3] < sizeof(How)) return Errno::einval;
  if (call.argument[3] > page_size) return Errno::e2big;
  const How how = TRY(call.read<How>(call.address(2)));
  for (u64 at = sizeof(How); at < call.argument[3]; ++at) {  // fields that a later Linux may have
    if (TRY(call.read<u8>(call.address(2) + at)) != 0) return Errno::e2big;
  }
  if ((how.flags & ~known_flags) != 0) return Errno::einval;
  if ((how.resolve & ~u64{fs::resolve_all}) != 0) return Errno::einval;
  constexpr u64 both = fs::resolve_beneath | fs::resolve_in_root;
  if ((how.resolve & both) == both) return Errno::einval;
  const u32 flags = static_cast<u32>(how.flags);
  const bool creates = (flags & (fs::o_creat | fs::o_tmpfile)) != 0;
  if (creates ? (how.mode & ~u64{07777}) != 0 : how.mode != 0) return Errno::einval;
  if ((flags & fs::o_path) != 0 && (flags & ~(fs::o_path | fs::o_cloexec | fs::o_directory | fs::o_nofollow)) != 0) {
    return Errno::einval;
  }
  if ((how.resolve & fs::resolve_cached) != 0 && (flags & (fs::o_trunc | fs::o_creat | fs::o_tmpfile)) != 0) {
    return Errno::eagain;
  }
  const u32 permissions = static_cast<u32>(how.mode);
  return open_at(call, call.number(0), call.address(1), flags, permissions, static_cast<u32>(how.resolve));
}

// ---- others --------------------------------------------------------------------------------------------------------------

Result<i64> sys_truncate(Call& call) {
  if (TRY(fs::finish_shrinking(call.thread))) return 0;
  if (static_cast<i64>(call.argument[1]) < 0) return Errno::einval;
  NamedFile named;
  Ref<Inode> file = TRY(named.existing(call, fs::at_fdcwd, call.address(0), fs::Follow::yes));
  if (file->type() != fs::FileType::regular) return success(file->resize(call.argument[1]));
  TRY(fs::permission::check(*file, call.thread.credentials(), fs::may_write));
  TRY(may_change(*file));
  if (file->has_flag(fs::flag_append)) return Errno::eperm;
  TRY(fs::check_new_size(call.thread, *file, call.argument[1]));
  if (!file->begin_writing()) return Errno::etxtbsy;
  Result<void> resized = fs::leases::break_all(call.thread, *file, true, true);
  if (resized.ok()) resized = fs::resize_mapped(call.thread, *file, nullptr, call.argument[1]);
  file->end_writing();
  return success(resized);
}

Result<i64> read_link(Call& call, int directory, VirtualAddress path_at, VirtualAddress to, u64 size) {
  if (static_cast<i32>(size) <= 0) return Errno::einval;
  NamedFile named;
  Ref<Inode> file = TRY(named.existing(call, directory, path_at, fs::Follow::no, fs::at_empty_path));
  if (file->type() != fs::FileType::symlink) return named.path.text().empty() ? Errno::enoent : Errno::einval;
  Frame* page = TRY(memory::allocate_page(memory::Zero::no));
  Result<std::string_view> text =
      file->read_link({reinterpret_cast<char*>(memory::contents(*page)), fs::smaller(size, page_size)});
  Result<void> copied = text.ok() ? vm::copy_out(call.space, call.thread.caller, to, text.value().data(), text.value().size())
                                  : Result<void>{text.error()};
  memory::release_page(*page);
  if (!copied.ok()) return copied.error();
  return static_cast<i64>(text.value().size());
}

Result<i64> sys_readlink(Call& call) {
  return read_link(call, fs::at_fdcwd, call.address(0), call.address(1), call.argument[2]);
}

Result<i64> sys_readlinkat(Call& call) {
  return read_link(call, call.number(0), call.address(1), call.address(2), call.argument[3]);
}

// With the rights of the real user, unless the effective one is asked about.
Result<i64> access(Call& call, int directory, VirtualAddress path_at, u32 mode, u32 flags) {
  if ((mode & ~7u) != 0 || (flags & ~(fs::at_eaccess | fs::at_symlink_nofollow | fs::at_empty_path)) != 0) return Errno::einval;
  const Credentials& own = call.thread.credentials();
  NamedFile named;
  Ref<Credentials> real;
  if ((flags & fs::at_eaccess) == 0 && !fs::permission::acts_as_real(own)) {
    real = TRY(fs::permission::with_real_ids(own));
    named.credentials = real.get();
  }
  Ref<Inode> file = TRY(named.existing(call, directory, path_at, follow_unless(flags, fs::at_symlink_nofollow), flags));
  TRY(fs::permission::check(*file, real ? *real : own, mode));
  constexpr u32 write = 2;
  const fs::FileType kind = file->type();
  const bool contents = kind == fs::FileType::regular || kind == fs::FileType::directory || kind == fs::FileType::symlink;
  if ((mode & write) != 0 && contents) TRY(may_change(*file));
  const bool program = (mode & fs::may_execute) != 0 && kind == fs::FileType::regular;
  if (program && file->file_system().forbids(fs::mount_no_execute)) return Errno::eacces;
  return 0;
}

Result<i64> sys_access(Call& call) {
  return access(call, fs::at_fdcwd, call.address(0), static_cast<u32>(call.argument[1]), 0);
}

Result<i64> sys_faccessat(Call& call) {
  return access(call, call.number(0), call.address(1), static_cast<u32>(call.argument[2]), 0);
}

Result<i64> sys_faccessat2(Call& call) {
  return access(call, call.number(0), call.address(1), static_cast<u32>(call.argument[2]), static_cast<u32>(call.argument[3]));
}

constexpr Entry entries[] = {
    {2, "open", sys_open},
    {21, "access", sys_access},
    {76, "truncate", sys_truncate},
    {85, "creat", sys_creat},
    {89, "readlink", sys_readlink},
    {257, "openat", sys_openat},
    {267, "readlinkat", sys_readlinkat},
    {269, "faccessat", sys_faccessat},
    {437, "openat2", sys_openat2},
    {439, "faccessat2", sys_faccessat2},
};

}  // namespace

Result<Ref<fs::Inode>> find_or_create(Call& call, const fs::Walk& walk, u32 flags, u32 permissions, bool& created) {
  if (walk.file) {
    if ((flags & fs::o_creat) == 0) return walk.file;
    if ((flags & fs::o_excl) != 0) return Errno::eexist;
    if (walk.file->is_directory()) return Errno::eisdir;
    return walk.file;
  }
  if ((flags & fs::o_creat) == 0) return Errno::enoent;
  TRY(may_change(*walk.directory));
  const Credentials& credentials = call.thread.credentials();
  TRY(fs::permission::check_add(*walk.directory, credentials));
  fs::Creation creation{.type = fs::FileType::regular, .permissions = permissions & 07777};
  fs::permission::set_owner(creation, *walk.directory, credentials, umask_of(call));
  Result<Ref<Inode>> made = walk.directory->create(walk.name(), creation);
  if (!made.ok() && made.error() == Errno::eexist && (flags & fs::o_excl) == 0) {
    return walk.directory->lookup(walk.name());  // another thread was faster
  }
  created = made.ok();
  if (created) fs::notices::made(*walk.directory, walk.name(), false);
  return made;
}

Result<Ref<fs::OpenFile>> open_found(Call& call, fs::Inode& inode, u32 flags, bool created) {
  using fs::FileType;
  const bool name_only = (flags & fs::o_path) != 0;
  const bool device = inode.type() == FileType::character || inode.type() == FileType::block;
  if (device && !name_only && inode.file_system().forbids(fs::mount_no_devices)) return Errno::eacces;
  const bool changes = inode.type() == FileType::regular && !name_only;
  const bool writes = changes && (flags & fs::o_accmode) != fs::o_rdonly;
  const bool only_cuts = changes && !writes && !created && (flags & fs::o_trunc) != 0;
  if (writes || only_cuts) {
    if (!created && (flags & fs::o_directory) == 0) TRY(check_open(call, inode, flags));  // told before ETXTBSY
    TRY(may_change(inode));
    if (!inode.begin_writing()) return Errno::etxtbsy;
  }
  Result<Ref<OpenFile>> file = open_allowed(call, inode, flags, created);
  if (!file.ok()) {
    if (writes || only_cuts) inode.end_writing();
    return file;
  }
  if (writes) file.value()->note_writing();
  if (only_cuts) inode.end_writing();
  if (!name_only && !created) TRY(fs::leases::break_for_open(call.thread, inode, flags));  // it counts as open only now
  if (!name_only) fs::notices::tell(inode, fs::notices::opened);
  return file;
}

std::span<const Entry> open_calls() {
  return entries;
}

}  // namespace corral::abi

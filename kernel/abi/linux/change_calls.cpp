// chmod, chown, utime and their relatives; umask. Who may change what: fs/permission.h. Source: the Linux man-pages of these
// calls.
#include "abi/linux/file_handlers.h"
#include "fs/inode.h"
#include "fs/permission.h"
#include "fs/watch/notices.h"

namespace corral::abi {

namespace {

using fs::AttributeChange;
using fs::Follow;
using fs::Inode;

// The change of one file, told to those who watch it. `wanted` may be an error, which is told once the file has been found.
Result<i64> apply(Call& call, Inode& file, const Result<AttributeChange>& wanted) {
  if (!wanted.ok()) return wanted.error();
  TRY(may_change(file));
  TRY(file.change(TRY(fs::permission::check_change(file, call.thread.credentials(), wanted.value()))));
  fs::notices::tell(file, fs::notices::attributes_changed);
  return 0;
}

Result<i64> change(Call& call, int directory, VirtualAddress path_at, Follow follow, u32 flags,
                   const Result<AttributeChange>& wanted) {
  NamedFile named;
  Ref<Inode> file = TRY(named.existing(call, directory, path_at, follow, flags));
  const bool link = file->type() == fs::FileType::symlink;
  if (link && wanted.ok() && wanted.value().set_permissions) return Errno::eopnotsupp;  // it has none
  return apply(call, *file, wanted);
}

Result<i64> change_open(Call& call, const Result<AttributeChange>& wanted) {
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  return apply(call, file->inode(), wanted);
}

// ---- permissions -----------------------------------------------------------------------------------------------------------

AttributeChange permissions(u64 mode) {
  return {.set_permissions = true, .permissions = static_cast<u32>(mode) & 07777};
}

Result<i64> sys_chmod(Call& call) {
  return change(call, fs::at_fdcwd, call.address(0), Follow::yes, 0, permissions(call.argument[1]));
}

Result<i64> sys_fchmod(Call& call) {
  return change_open(call, permissions(call.argument[1]));
}

Result<i64> sys_fchmodat(Call& call) {
  return change(call, call.number(0), call.address(1), Follow::yes, 0, permissions(call.argument[2]));
}

Result<i64> sys_fchmodat2(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[3]);
  if ((flags & ~(fs::at_symlink_nofollow | fs::at_empty_path)) != 0) return Errno::einval;
  const Follow follow = follow_unless(flags, fs::at_symlink_nofollow);
  return change(call, call.number(0), call.address(1), follow, flags, permissions(call.argument[2]));
}

// ---- owners ----------------------------------------------------------------------------------------------------------------

AttributeChange owner(u64 user_argument, u64 group_argument) {
  constexpr u32 keep = ~u32{0};
  const u32 user = static_cast<u32>(user_argument);
  const u32 group = static_cast<u32>(group_argument);
  return {.set_user = user != keep, .set_group = group != keep, .of_owner = true, .user = user, .group = group};
}

Result<i64> sys_chown(Call& call) {
  return change(call, fs::at_fdcwd, call.address(0), Follow::yes, 0, owner(call.argument[1], call.argument[2]));
}

Result<i64> sys_lchown(Call& call) {
  return change(call, fs::at_fdcwd, call.address(0), Follow::no, 0, owner(call.argument[1], call.argument[2]));
}

Result<i64> sys_fchown(Call& call) {
  return change_open(call, owner(call.argument[1], call.argument[2]));
}

Result<i64> sys_fchownat(Call& call) {
  const u32 flags = static_cast<u32>(call.argument[4]);
  if ((flags & ~(fs::at_symlink_nofollow | fs::at_empty_path)) != 0) return Errno::einval;
  const Follow follow = follow_unless(flags, fs::at_symlink_nofollow);
  return change(call, call.number(0), call.address(1), follow, flags, owner(call.argument[2], call.argument[3]));
}

// ---- times -----------------------------------------------------------------------------------------------------------------

constexpr i64 utime_now = 0x3fff'ffff, utime_omit = 0x3fff'fffe;

AttributeChange now() {
  const i64 ns = fs::wall_time_ns();
  return {.set_accessed = true, .set_modified = true, .to_present = true, .accessed_ns = ns, .modified_ns = ns};
}

// einval: nanoseconds out of range.
Result<AttributeChange> from_specs(const TimeSpec (&specs)[2]) {
  AttributeChange wanted;
  for (int i = 0; i < 2; ++i) {
    const i64 ns = specs[i].nanoseconds;
    if (ns == utime_omit) continue;
    if (ns != utime_now && (ns < 0 || ns >= 1'000'000'000)) return Errno::einval;
    const i64 time = ns == utime_now ? fs::wall_time_ns() : specs[i].seconds * 1'000'000'000 + ns;
    (i == 0 ? wanted.set_accessed : wanted.set_modified) = true;
    (i == 0 ? wanted.accessed_ns : wanted.modified_ns) = time;
  }
  wanted.to_present = specs[0].nanoseconds == utime_now && specs[1].nanoseconds == utime_now;
  return wanted;
}

Result<i64> sys_utimensat(Call& call) {
  struct Specs {
    TimeSpec values[2];
  };
  const u32 flags = static_cast<u32>(call.argument[3]);
  const VirtualAddress times_at = call.address(2);
  const Result<AttributeChange> wanted =
      times_at.value == 0 ? Result<AttributeChange>{now()} : from_specs(TRY(call.read<Specs>(times_at)).values);
  if (wanted.ok() && !wanted.value().set_accessed && !wanted.value().set_modified) return 0;  // nothing is looked at
  if (call.argument[1] == 0 && call.number(0) != fs::at_fdcwd) {  // futimens
    if (flags != 0) return Errno::einval;
    return change_open(call, wanted);
  }
  if ((flags & ~(fs::at_symlink_nofollow | fs::at_empty_path)) != 0) return Errno::einval;
  return change(call, call.number(0), call.address(1), follow_unless(flags, fs::at_symlink_nofollow), flags, wanted);
}

Result<i64> change_times(Call& call, int directory, VirtualAddress path_at, VirtualAddress times_at) {
  struct Values {
    TimeValue values[2];
  };
  AttributeChange wanted = now();
  if (times_at.value != 0) {
    const Values times = TRY(call.read<Values>(times_at));
    TimeSpec specs[2];
    for (int i = 0; i < 2; ++i) {
      if (times.values[i].microseconds < 0 || times.values[i].microseconds >= 1'000'000) return Errno::einval;
      specs[i] = {times.values[i].seconds, times.values[i].microseconds * 1000};
    }
    wanted = TRY(from_specs(specs));
  }
  return change(call, directory, path_at, Follow::yes, 0, wanted);
}

Result<i64> sys_utimes(Call& call) {
  return change_times(call, fs::at_fdcwd, call.address(0), call.address(1));
}

Result<i64> sys_futimesat(Call& call) {
  return change_times(call, call.number(0), call.address(1), call.address(2));
}

Result<i64> sys_utime(Call& call) {
  struct Times {
    i64 accessed, modified;  // seconds
  };
  AttributeChange wanted = now();
  if (call.argument[1] != 0) {
    const Times times = TRY(call.read<Times>(call.address(1)));
    wanted.to_present = false;
    wanted.accessed_ns = times.accessed * 1'000'000'000;
    wanted.modified_ns = times.modified * 1'000'000'000;
  }
  return change(call, fs::at_fdcwd, call.address(0), Follow::yes, 0, wanted);
}

// ---- others ----------------------------------------------------------------------------------------------------------------

Result<i64> sys_umask(Call& call) {
  return static_cast<i64>(resources_of(call).umask.exchange(static_cast<u32>(call.argument[0]) & 0777, Order::relaxed));
}

constexpr Entry entries[] = {
    {90, "chmod", sys_chmod},          {91, "fchmod", sys_fchmod},      {92, "chown", sys_chown},
    {93, "fchown", sys_fchown},        {94, "lchown", sys_lchown},      {95, "umask", sys_umask},
    {132, "utime", sys_utime},         {235, "utimes", sys_utimes},     {260, "fchownat", sys_fchownat},
    {261, "futimesat", sys_futimesat}, {268, "fchmodat", sys_fchmodat}, {280, "utimensat", sys_utimensat},
    {452, "fchmodat2", sys_fchmodat2},
};

}  // namespace

std::span<const Entry> change_calls() {
  return entries;
}

}  // namespace corral::abi

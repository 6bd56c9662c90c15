// stat and its relatives, statx, statfs. Source: Linux man-pages stat(2), statx(2), statfs(2); uapi asm/stat.h (x86-64),
// linux/stat.h, asm-generic/statfs.h.
#include "abi/linux/file_handlers.h"
#include "fs/inode.h"

namespace corral::abi {

namespace {

using fs::Attributes;
using fs::Follow;
using fs::Inode;

struct Stat {
  u64 device, inode, links;
  u32 mode, user, group, padding;
  u64 special;
  i64 size, block_size, blocks;
  TimeSpec accessed, modified, changed;
  i64 unused[3];
};
static_assert(sizeof(Stat) == 144 && offsetof(Stat, size) == 48 && offsetof(Stat, accessed) == 72);

Result<i64> tell(Call& call, VirtualAddress to, const Attributes& a) {
  Stat stat{};
  stat.device = fs::DeviceNumber{0, static_cast<u32>(a.device)}.encoded();
  stat.inode = a.inode;
  stat.links = a.links;
  stat.mode = fs::mode_of(a.type) | a.permissions;
  stat.user = a.user;
  stat.group = a.group;
  stat.special = a.special.encoded();
  stat.size = static_cast<i64>(a.size);
  stat.block_size = a.block_size;
  stat.blocks = static_cast<i64>(a.blocks);
  stat.accessed = time_spec(a.accessed_ns);
  stat.modified = time_spec(a.modified_ns);
  stat.changed = time_spec(a.changed_ns);
  return success(call.write(to, stat));
}

Result<i64> stat_path(Call& call, int directory, unsigned path_index, unsigned to_index, Follow follow, u32 flags) {
  NamedFile named;
  Ref<Inode> file = TRY(named.existing(call, directory, call.address(path_index), follow, flags));
  return tell(call, call.address(to_index), file->attributes());
}

Result<i64> sys_stat(Call& call) {
  return stat_path(call, fs::at_fdcwd, 0, 1, Follow::yes, 0);
}

Result<i64> sys_lstat(Call& call) {
  return stat_path(call, fs::at_fdcwd, 0, 1, Follow::no, 0);
}

Result<i64> sys_fstat(Call& call) {
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  return tell(call, call.address(1), file->inode().attributes());
}

Result<i64> sys_newfstatat(Call& call) {
  constexpr u32 no_automount = 0x800, sync_flags = 0x6000;
  const u32 flags = static_cast<u32>(call.argument[3]);
  if ((flags & ~(fs::at_symlink_nofollow | fs::at_empty_path | no_automount | sync_flags)) != 0) return Errno::einval;
  return stat_path(call, call.number(0), 1, 2, follow_unless(flags, fs::at_symlink_nofollow), flags);
}

// ---- statx -------------------------------------------------------------------------------------------------------------------

struct StatxTime {
  i64 seconds;
  u32 nanoseconds;
  i32 padding;
};

struct Statx {
  u32 mask, block_size;
  u64 attributes;
  u32 links, user, group;
  u16 mode, padding_1;
  u64 inode, size, blocks, attributes_mask;
  StatxTime accessed, born, changed, modified;
  u32 special_major, special_minor, device_major, device_minor;
  u64 mount;
  u64 unused[13];
};
static_assert(sizeof(Statx) == 256 && offsetof(Statx, accessed) == 64 && offsetof(Statx, special_major) == 128);

StatxTime statx_time(i64 ns) {
  const TimeSpec spec = time_spec(ns);
  return {spec.seconds, static_cast<u32>(spec.nanoseconds), 0};
}

constexpr u64 attribute_automount = 0x1000, attribute_mount_root = 0x2000, attribute_direct = 0x20'0000;

bool is_mount_root(Inode& file) {
  if (!file.is_directory()) return false;
  const Result<Ref<Inode>> parent = file.parent();
  return parent.ok() && parent.value().get() == &file;
}

Result<i64> sys_statx(Call& call) {
  constexpr u32 basic_and_birth = 0xfff, mount_number = 0x1000, reserved = 0x8000'0000, sync_flags = 0x6000,
                no_automount = 0x800;
  const u32 flags = static_cast<u32>(call.argument[2]);
  if ((flags & ~(fs::at_symlink_nofollow | fs::at_empty_path | no_automount | sync_flags)) != 0) return Errno::einval;
  if ((flags & sync_flags) == sync_flags || (call.argument[3] & reserved) != 0) return Errno::einval;
  NamedFile named;
  Ref<Inode> file =
      TRY(named.existing(call, call.number(0), call.address(1), follow_unless(flags, fs::at_symlink_nofollow), flags));
  const Attributes a = file->attributes();
  Statx statx{};
  statx.mask = basic_and_birth | mount_number;
  const u32 told_flags = file->told_flags();
  statx.attributes_mask = attribute_automount | attribute_mount_root | attribute_direct | told_flags;
  statx.attributes = file->file_flags.load(Order::relaxed) & told_flags;
  if (is_mount_root(*file)) statx.attributes |= attribute_mount_root;
  statx.mount = a.device;  // each file system is mounted once
  statx.block_size = a.block_size;
  statx.links = a.links;
  statx.user = a.user;
  statx.group = a.group;
  statx.mode = static_cast<u16>(fs::mode_of(a.type) | a.permissions);
  statx.inode = a.inode;
  statx.size = a.size;
  statx.blocks = a.blocks;
  statx.accessed = statx_time(a.accessed_ns);
  statx.born = statx_time(a.born_ns);
  statx.changed = statx_time(a.changed_ns);
  statx.modified = statx_time(a.modified_ns);
  statx.special_major = a.special.major;
  statx.special_minor = a.special.minor;
  statx.device_minor = static_cast<u32>(a.device);
  return success(call.write(call.address(4), statx));
}

// ---- statfs ------------------------------------------------------------------------------------------------------------------

struct StatFs {
  i64 type, block_size;
  u64 blocks, blocks_free, blocks_available, files, files_free;
  i32 id[2];
  i64 name_length, fragment_size, flags;
  i64 unused[4];
};
static_assert(sizeof(StatFs) == 120);

Result<i64> tell_file_system(Call& call, VirtualAddress to, Inode& file) {
  TRY(file.file_system().refresh_statistics());
  const fs::FileSystemStatistics statistics = file.file_system().statistics();
  StatFs answer{};
  answer.type = static_cast<i64>(statistics.magic);
  answer.block_size = answer.fragment_size = static_cast<i64>(statistics.block_size);
  answer.blocks = statistics.blocks;
  answer.blocks_free = statistics.blocks_free;
  answer.blocks_available = statistics.blocks_free - statistics.blocks_kept;
  constexpr i64 has_flags = 0x20;  // ST_VALID
  const u32 flags = file.file_system().flags.load(Order::relaxed) & fs::mount_flags;
  constexpr u32 no_links = 0x2000;  // ST_NOSYMFOLLOW; the others have the numbers that mount takes
  answer.flags = has_flags | (flags & ~fs::mount_no_links) | ((flags & fs::mount_no_links) != 0 ? no_links : 0);
  if (file.file_system().read_only()) answer.flags |= fs::mount_read_only;
  answer.files = statistics.files;
  answer.files_free = statistics.files_free;
  answer.id[0] = static_cast<i32>(file.file_system().device());
  answer.name_length = fs::name_max;
  return success(call.write(to, answer));
}

Result<i64> sys_statfs(Call& call) {
  NamedFile named;
  Ref<Inode> file = TRY(named.existing(call, fs::at_fdcwd, call.address(0), Follow::yes));
  return tell_file_system(call, call.address(1), *file);
}

Result<i64> sys_fstatfs(Call& call) {
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  return tell_file_system(call, call.address(1), file->inode());
}

constexpr Entry entries[] = {
    {4, "stat", sys_stat},       {5, "fstat", sys_fstat},       {6, "lstat", sys_lstat},
    {137, "statfs", sys_statfs}, {138, "fstatfs", sys_fstatfs}, {262, "newfstatat", sys_newfstatat},
    {332, "statx", sys_statx},
};

}  // namespace

std::span<const Entry> stat_calls() {
  return entries;
}

}  // namespace corral::abi

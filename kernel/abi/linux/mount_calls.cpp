// Where a process is in the tree of files, and the tree itself: getcwd, chdir, fchdir, chroot, mount, umount2.
// Source: the Linux man-pages of these calls.
#include <algorithm>

#include "abi/linux/file_handlers.h"
#include "fs/disk.h"
#include "fs/ext2/file_system.h"
#include "fs/inode.h"
#include "fs/mounts.h"
#include "fs/nine/file_system.h"
#include "fs/permission.h"
#include "fs/ram/ram_file_system.h"
#include "fs/step_memory.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"

namespace corral::abi {

namespace {

using fs::Follow;
using fs::Inode;

Result<i64> tell_directory(Call& call, std::span<char> text) {
  fs::Resources& resources = resources_of(call);
  Ref<Inode> directory = resources.directory();
  Ref<Inode> root = resources.root();
  constexpr std::string_view outside = "(unreachable)";  // of the root directory: stands before the path
  text.back() = 0;
  bool is_below = true;
  const auto room = text.subspan(outside.size(), text.size() - outside.size() - 1);
  const Result<std::string_view> path = fs::path_below(*directory, *root, room, &is_below);
  if (!path.ok()) return path.error() == Errno::erange ? Errno::enametoolong : path.error();
  u64 size = path.value().size() + 1;  // with the NUL that stands behind it
  char* start = text.data() + (text.size() - size);
  if (!is_below) {
    size += outside.size();
    start -= outside.size();
    memcpy(start, outside.data(), outside.size());
  }
  if (size > call.argument[1]) return Errno::erange;
  TRY(vm::copy_out(call.space, call.thread.caller, call.address(0), start, size));
  return static_cast<i64>(size);
}

Result<i64> sys_getcwd(Call& call) {
  Frame* page = TRY(memory::allocate_page(memory::Zero::no));
  Result<i64> outcome = tell_directory(call, {reinterpret_cast<char*>(memory::contents(*page)), page_size});
  memory::release_page(*page);
  return outcome;
}

Result<Ref<Inode>> directory_named(Call& call) {
  NamedFile named;
  Ref<Inode> directory = TRY(named.existing(call, fs::at_fdcwd, call.address(0), Follow::yes));
  if (!directory->is_directory()) return Errno::enotdir;
  TRY(fs::permission::check(*directory, call.thread.credentials(), fs::may_execute));
  return directory;
}

Result<i64> sys_chdir(Call& call) {
  resources_of(call).set_directory(TRY(directory_named(call)));
  return 0;
}

Result<i64> sys_fchdir(Call& call) {
  Ref<fs::OpenFile> file = TRY(file_at(call, 0));
  if (!file->inode().is_directory()) return Errno::enotdir;
  TRY(fs::permission::check(file->inode(), call.thread.credentials(), fs::may_execute));
  resources_of(call).set_directory(Ref<Inode>::share(file->inode()));
  return 0;
}

Result<i64> sys_chroot(Call& call) {
  Ref<Inode> root = TRY(directory_named(call));
  if (!call.thread.may(Capability::sys_chroot)) return Errno::eperm;
  resources_of(call).set_root(std::move(root));
  return 0;
}

// ---- mount -------------------------------------------------------------------------------------------------------------------

constexpr u64 longest_path = 192;

// The number behind "size=" with its unit, in pages; `otherwise` when there is none.
u64 page_limit(std::string_view options, u64 otherwise) {
  const size_t at = options.find("size=");
  if (at == std::string_view::npos) return otherwise;
  u64 value = 0;
  size_t i = at + 5;
  for (; i < options.size() && options[i] >= '0' && options[i] <= '9' && value < u64{1} << 40; ++i) {
    value = value * 10 + static_cast<u64>(options[i] - '0');
  }
  const char unit = i < options.size() ? options[i] : ' ';
  if (unit == '%') return memory::page_statistics().total * fs::smaller(value, 100) / 100;
  const u32 shift = unit == 'k' || unit == 'K' ? 10 : unit == 'm' || unit == 'M' ? 20 : unit == 'g' || unit == 'G' ? 30 : 0;
  return round_up(value << shift, page_size) / page_size;
}

// The disk that a path to its device node names. enoent …; enotblk: it is something else; enxio: there is no such disk.
Result<fs::Disk*> disk_named(Call& call) {
  NamedFile named;
  Ref<Inode> node = TRY(named.existing(call, fs::at_fdcwd, call.address(0), Follow::yes));
  if (node->type() != fs::FileType::block) return Errno::enotblk;
  fs::Disk* disk = fs::Disk::find(node->attributes().special);
  if (disk == nullptr) return Errno::enxio;
  return disk;
}

// Of one of the known types; `disk` is that of an ext2. blocked; errors of the type.
Result<Ref<fs::FileSystem>> make_file_system(Call& call, std::string_view type, std::string_view source,
                                             std::string_view options, fs::Disk* disk, u32 flags) {
  if (type == "ext2") return fs::ext2::mount(call.thread, *disk, (flags & fs::mount_read_only) != 0);
  if (type == "9p") return fs::nine::mount(call.thread, source);  // a folder of the host; the source is its mount tag
  const u64 limit = page_limit(options, memory::page_statistics().total / 2);
  return Ref<fs::FileSystem>{TRY(fs::RamFileSystem::create(type == "tmpfs" ? "tmpfs" : "ramfs", limit, 01777))};
}

// einval: nothing is mounted there; ebusy: somebody has a file open for writing; erofs: what it is on cannot be written.
Result<i64> remount(Call& call, Inode& directory, u32 flags) {
  const Result<Ref<Inode>> above = directory.parent();
  if (!above.ok() || above.value().get() != &directory) return Errno::einval;
  fs::FileSystem& mounted = directory.file_system();
  const bool read_only = (flags & fs::mount_read_only) != 0;
  if (read_only && !mounted.read_only() && mounted.writers.load(Order::acquire) != 0) return Errno::ebusy;
  if (!read_only && mounted.read_only() && !mounted.forbids(fs::mount_read_only)) return Errno::erofs;
  if (read_only && !mounted.read_only()) {  // who wants nothing written any more wants it written by then
    const Result<void> synced = sync_file_system(call, mounted);
    if (!synced.ok() && synced.error() == Errno::blocked) return Errno::blocked;
  }
  mounted.flags.store(flags, Order::relaxed);
  fs::mounts::note_change();
  return 0;
}

Result<i64> sys_mount(Call& call) {
  constexpr u64 again = 0x20, bind = 0x1000, move = 0x2000, propagation = 0x1e'0000;
  const u64 flags = call.argument[3];
  NamedFile named;
  Ref<Inode> directory = TRY(named.existing(call, fs::at_fdcwd, call.address(1), Follow::yes));
  if (!call.thread.may(Capability::sys_admin)) return Errno::eperm;
  if (!directory->is_directory()) return Errno::enotdir;
  const u32 kept = static_cast<u32>(flags) & fs::mount_flags;
  if ((flags & propagation) != 0) return 0;  // there is nobody to tell
  if ((flags & again) != 0) return remount(call, *directory, kept);
  if ((flags & (bind | move)) != 0) return Errno::einval;
  UserPath source, type, options;
  if (call.argument[0] != 0) TRY(source.take(call, call.address(0)));
  if (call.argument[2] == 0) return Errno::einval;
  TRY(type.take(call, call.address(2)));
  if (call.argument[4] != 0) TRY(options.take(call, call.address(4)));
  const std::string_view kind = type.text();
  // There is one of each of these, where it belongs.
  if (kind == "proc" || kind == "sysfs" || kind == "devtmpfs") return Errno::ebusy;
  const bool in_memory = kind == "tmpfs" || kind == "ramfs";
  if (!in_memory && kind != "ext2" && kind != "9p") return Errno::enodev;
  if (kind == "ext2" && call.argument[0] == 0) return Errno::einval;
  fs::Disk* disk = kind == "ext2" ? TRY(disk_named(call)) : nullptr;
  char text[longest_path];
  const std::string_view path = TRY(fs::path_of(*directory, text));
  const std::string_view shown = in_memory && source.text().empty() ? kind : source.text();
  return success(fs::mounts::add(*directory, path, shown, kept, [&]() -> Result<Ref<fs::FileSystem>> {
    return make_file_system(call, kind, source.text(), options.text(), disk, kept);
  }));
}

Result<i64> sys_umount2(Call& call) {
  constexpr u32 known = 0xf, force = 1, detach = 2, expire = 4, no_follow = 8;
  const u32 flags = static_cast<u32>(call.argument[1]);
  if ((flags & ~known) != 0) return Errno::einval;
  if (!call.thread.may(Capability::sys_admin)) return Errno::eperm;
  Ref<Inode> directory;
  {
    NamedFile named;
    named.restrictions = fs::walk_unnoticed;
    directory = TRY(named.existing(call, fs::at_fdcwd, call.address(0), (flags & no_follow) != 0 ? Follow::no : Follow::yes));
  }
  if ((flags & expire) != 0) {
    if ((flags & (force | detach)) != 0) return Errno::einval;
    TRY(fs::mounts::expire(*directory));
  }
  // Whether it is in use is told from the references to its files.
  if (fs::StepMemory* memory = fs::StepMemory::find(call.thread)) memory->forget_walks();
  u64(&word)[6] = call.thread.step.word;
  fs::UnmountProgress progress{word[0], {word[1], word[2], word[3]}, word[4], word[5]};
  const Result<void> removed = fs::mounts::remove(*directory, progress, (flags & detach) != 0);
  word[0] = progress.phase;
  std::ranges::copy(progress.files, word + 1);
  word[4] = progress.own_blocks;
  word[5] = progress.looks;
  return success(removed);
}

constexpr Entry entries[] = {
    {79, "getcwd", sys_getcwd},  {80, "chdir", sys_chdir},  {81, "fchdir", sys_fchdir},
    {161, "chroot", sys_chroot}, {165, "mount", sys_mount}, {166, "umount2", sys_umount2},
};

}  // namespace

std::span<const Entry> mount_calls() {
  return entries;
}

}  // namespace corral::abi

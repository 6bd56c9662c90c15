// Putting the tree of files together at start-up. See setup.h.
#include "fs/setup.h"

#include "fs/anonymous.h"
#include "fs/cache/reclaim.h"
#include "fs/cache/write_back.h"
#include "fs/console_terminal.h"
#include "fs/device_files.h"
#include "fs/disk.h"
#include "fs/ext2/file_system.h"
#include "fs/initramfs.h"
#include "fs/mounts.h"
#include "fs/nine/file_system.h"
#include "fs/proc/load_average.h"
#include "fs/proc/proc.h"
#include "fs/resources.h"
#include "fs/terminals.h"
#include "ipc/posix/message_queue.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/exit.h"
#include "task/thread.h"
#include "trace/log.h"

namespace corral::fs {

namespace {

constexpr u64 proc_magic = 0x9fa0, sysfs_magic = 0x6265'6572;

// The directory `name` below the root, made if the initramfs has none.
Result<Ref<Inode>> directory_below(Inode& parent, std::string_view name, u32 permissions) {
  Result<Ref<Inode>> found = parent.lookup(name);
  if (found.ok() && found.value()->is_directory()) return found;
  if (found.ok()) TRY(parent.unlink(name));
  return parent.create(name, {.type = FileType::directory, .permissions = permissions});
}

Result<void> mount(Inode& root, std::string_view name, Ref<FileSystem> file_system, std::string_view source) {
  char path[32];
  Ref<Inode> directory = TRY(directory_below(root, name, 0755));
  return mounts::add(*directory, std::move(file_system), format_to(path, "/{}", name), source, true);
}

Result<void> symlink(Inode& directory, std::string_view name, std::string_view target) {
  (void)TRY(directory.create(name, {.type = FileType::symlink, .permissions = 0777, .target = target}));
  return {};
}

Result<Ref<FileSystem>> make_devices(u64 page_limit) {
  Ref<RamFileSystem> devices = TRY(RamFileSystem::create("devtmpfs", page_limit));
  Ref<Inode> root = devices->root();
  for (const DeviceFile& file : device_files()) {
    (void)TRY(root->create(file.name, {.type = FileType::character, .permissions = file.permissions, .special = file.number}));
  }
  TRY(Disk::start_all());
  for (Disk* disk = Disk::find_from(0); disk != nullptr; disk = Disk::find_from(disk->number().minor + 1)) {
    (void)TRY(root->create(disk->device_name(), {.type = FileType::block, .permissions = 0660, .special = disk->number()}));
  }
  TRY(symlink(*root, "fd", "/proc/self/fd"));
  TRY(symlink(*root, "stdin", "/proc/self/fd/0"));
  TRY(symlink(*root, "stdout", "/proc/self/fd/1"));
  TRY(symlink(*root, "stderr", "/proc/self/fd/2"));
  (void)TRY(directory_below(*root, "shm", 01777));
  return Ref<FileSystem>{devices};
}

// /dev/pts: its files come and go with pseudo-terminals.
Result<void> mount_terminals() {
  constexpr u64 devpts_magic = 0x1cd1;
  Ref<RamFileSystem> terminals = TRY(RamFileSystem::create("devpts", 0));
  terminals->stand_for(devpts_magic);
  Ref<Inode> names = terminals->root();
  (void)TRY(names->create("ptmx", {.type = FileType::character, .permissions = 0666, .special = {5, 2}}));
  Ref<Inode> root = mounts::root();
  const WalkStart start{nullptr, root, root};
  Ref<Inode> devices = TRY(find(start, "/dev", Follow::yes));
  Ref<Inode> covered = TRY(directory_below(*devices, "pts", 0755));
  TRY(mounts::add(*covered, Ref<FileSystem>{terminals}, "/dev/pts", "devpts", true));
  set_pseudo_terminal_directory(std::move(names));
  set_session_end(session_leader_ends);
  return {};
}

// /dev/mqueue: POSIX's message queues.
Result<void> mount_queues() {
  Ref<FileSystem> queues = TRY(ipc::message_queues::initialise());
  Ref<Inode> root = mounts::root();
  const WalkStart start{nullptr, root, root};
  Ref<Inode> devices = TRY(find(start, "/dev", Follow::yes));
  Ref<Inode> covered = TRY(directory_below(*devices, "mqueue", 01777));
  return mounts::add(*covered, queues, "/dev/mqueue", "mqueue", true);
}

}  // namespace

Result<void> initialise(std::span<const u8> archive, std::string_view command_line) {
  TRY(initialise_anonymous_files());
  reclaim::initialise();
  const u64 page_limit = memory::page_statistics().total / 2;
  Ref<RamFileSystem> files = TRY(RamFileSystem::create("rootfs", page_limit));
  TRY(mounts::set_root(files));
  if (archive.empty()) {
    log::error("there is no initramfs: give one with the kernel (QEMU: -initrd FILE; GRUB: module2 FILE)");
  } else {
    const Result<UnpackReport> report = unpack_initramfs(*files, archive);
    if (report.ok()) {
      log::info("initramfs: {} files, {} KiB", report.value().entries, report.value().bytes >> 10);
    } else if (report.error() == Errno::enomem) {
      return Errno::enomem;
    } else {
      log::error("initramfs: damaged; what came before the damage is used (make it again: ./corral run builds one)");
    }
  }
  Ref<Inode> root = files->root();
  TRY(mount(*root, "dev", TRY(make_devices(page_limit)), "devtmpfs"));
  TRY(mount_terminals());
  TRY(mount_queues());
  set_proc_command_line(command_line);
  TRY(mount(*root, "proc", TRY(make_generated_file_system("proc", proc_magic, proc_root())), "proc"));
  TRY(mount(*root, "sys", TRY(make_generated_file_system("sysfs", sysfs_magic, sys_root())), "sysfs"));
  (void)TRY(directory_below(*root, "tmp", 01777));
  start_load_sampling();
  return {};
}

void allow_provocations() {
  proc::allow_provocations();
}

void start_terminal() {
  for (u32 i = 0;; ++i) {
    auto* console = devices().find<ConsoleDevice>(i);
    if (console == nullptr) break;
    console_terminal().attach(*console);
  }
}

namespace {

// The file system of the n-th mount; null: there are fewer.
Ref<FileSystem> mounted(u32 number) {
  struct Wanted {
    u32 left;
    Ref<FileSystem> found;
  } wanted{number, {}};
  mounts::for_each(
      [](void* context, const Mount& mount) {
        auto& to = *static_cast<Wanted*>(context);
        if (to.left-- == 0) to.found = mount.file_system;
      },
      &wanted);
  return wanted.found;
}

void poll_devices() {
  nine::Server::poll_all();
  Disk::poll_all();
}

// All that is to be written has been, for good.
bool write_for_good() {
  constexpr Duration patience = seconds(20);
  return write_back::finish(poll_devices, patience) && Disk::flush_at_end(poll_devices, patience);
}
}  // namespace

void shut_down() {
  for (u32 number = 0;; ++number) {
    const Ref<FileSystem> file_system = mounted(number);
    if (!file_system) break;
    file_system->shut_down(poll_devices);
  }
  ext2::shut_down_detached(poll_devices);
  bool finished = write_for_good();
  if (finished && ext2::mark_all_in_order()) finished = write_for_good();
  if (!finished) log::error("files: not everything could be written");
  console_terminal().flush_now();
}

namespace {

// As directory_below, for a step that may be run again: it is asked for in the same way each time.
Result<Ref<Inode>> directory_made(Inode& root, std::string_view path, u32 permissions) {
  const std::string_view name{path.data() + 1, path.size() - 1};
  Result<Ref<Inode>> made = root.create(name, {.type = FileType::directory, .permissions = permissions});
  if (made.ok() || made.error() == Errno::blocked) return made;
  return root.lookup(name);
}

// What is in memory although the root is not: what Debian keeps there, or may keep there, and what no folder of the host can hold (sockets).
struct InMemory {
  std::string_view path;
  u32 permissions;
  Ref<Inode> directory;
  Ref<FileSystem> file_system;
};

}  // namespace

Result<void> change_root(Thread& thread, std::string_view source) {
  constexpr std::string_view prefix = "9p:";
  if (!source.starts_with(prefix)) return Errno::einval;
  const std::string_view tag{source.data() + prefix.size(), source.size() - prefix.size()};
  Ref<FileSystem> file_system = TRY(nine::mount(thread, tag));
  Ref<Inode> root = file_system->root();
  mounts::Moved moved[] = {{"/dev", {}}, {"/proc", {}}, {"/sys", {}}};
  for (mounts::Moved& place : moved) { place.directory = TRY(directory_made(*root, place.path, 0755)); }
  InMemory in_memory[] = {{"/tmp", 01777, {}, {}}, {"/run", 0755, {}, {}}};
  for (InMemory& place : in_memory) {
    place.directory = TRY(directory_made(*root, place.path, place.permissions));
    place.file_system = TRY(RamFileSystem::create("tmpfs", memory::page_statistics().total / 2, place.permissions));
  }
  TRY(mounts::replace_root(file_system, tag, moved));
  for (InMemory& place : in_memory) TRY(mounts::add(*place.directory, place.file_system, place.path, "tmpfs", false));
  Resources& resources = Resources::of(thread.process());
  resources.set_root(root);
  resources.set_directory(root);
  return {};
}

Result<Ref<ProcessResources>> first_resources(Process& process) {
  Ref<Inode> root = mounts::root();
  Ref<FileTable> files = Ref<FileTable>::adopt(TRY(memory::make<FileTable>()));
  const WalkStart start{nullptr, root, root};
  Ref<Inode> console = TRY(find(start, "/dev/console", Follow::yes));
  Ref<OpenFile> terminal = TRY(open_first_console(*console));
  for (int i = 0; i < 3; ++i) (void)TRY(files->install(terminal, false, FileTable::max_descriptors));
  console_terminal().adopt(process);
  return Ref<ProcessResources>{Ref<Resources>::adopt(TRY(memory::make<Resources>(root, root, files)))};
}

}  // namespace corral::fs

// Inode: a file by itself, whatever its names: directory, regular file, symbolic link, device node, pipe, or a
// generated file of /proc. FileSystem: what it belongs to.
//
// All answers are those of a step: nothing here keeps anything on a stack across a wait. Of a file system that is not in
// memory lookup, list, read_link, follow, read, write, append, backing and open can answer blocked, the thread whose step it is
// being enlisted: they are simply called again. So can what changes files: with nothing changed yet, and it is called again, or,
// where FileSystem::answers_later(), with its change under way. The others never do. Locks are taken only inside (rank directory and above); any thread may call.
// A file that cannot do something answers the error that Linux gives for it.
#pragma once

#include <span>
#include <string_view>

#include "fs/open_file.h"
#include "fs/passing_uses.h"
#include "fs/types.h"
#include "fs/watch/file_watch.h"
#include "fs/write_errors.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "vm/address_space.h"

namespace corral {
class Thread;
}

namespace corral::fs {

class Inode;
class Transfer;
struct FileLockTable;

// How far unmounting has come; zeros at first, kept by the caller.
struct UnmountProgress {
  u64 phase = 0, files[3] = {}, own_blocks = 0;
  u64 looks = 0;  // how often it was found that only the kernel itself used a file
};

// Who uses files of a file system, besides who unmounts it. The kernel does so for a moment only, and it can be asked again.
enum class Users : u8 { none, kernel, programs };

// What is not allowed in a file system as it is mounted; numbers as mount(2) has them.
inline constexpr u32 mount_read_only = 1, mount_no_set_id = 2, mount_no_devices = 4, mount_no_execute = 8,
                     mount_no_links = 0x100, mount_no_access_times = 0x400, mount_no_directory_access_times = 0x800;
inline constexpr u32 mount_flags = mount_read_only | mount_no_set_id | mount_no_devices | mount_no_execute | mount_no_links |
                                   mount_no_access_times | mount_no_directory_access_times;

class FileSystem : public RefCounted<FileSystem> {
 public:
  FileSystem();
  virtual ~FileSystem() = default;
  [[nodiscard]] virtual const char* type() const = 0;  // as mount -t has it
  [[nodiscard]] virtual Ref<Inode> root() = 0;
  [[nodiscard]] virtual FileSystemStatistics statistics() = 0;
  // Before statistics(): makes it recent. Can answer blocked.
  virtual Result<void> refresh_statistics() { return {}; }
  // Changes of its files (create, unlink, rename, change …) can answer blocked: see fs/step_memory.h.
  [[nodiscard]] virtual bool answers_later() const { return false; }
  // Its files count as memory in use.
  [[nodiscard]] virtual bool in_memory() const { return !answers_later(); }
  [[nodiscard]] virtual bool read_only() const { return forbids(mount_read_only); }
  [[nodiscard]] bool forbids(u32 flag) const { return (flags.load(Order::relaxed) & flag) != 0; }
  Atomic<u32> flags{0};  // of mount_flags
  Atomic<u32> writers{0};  // open files that may write to regular files of it
  // After its files: what else has to reach the disk. `progress` as in Inode::sync. Can answer blocked.
  virtual Result<void> sync(u64& progress) { return (void)progress, Result<void>{}; }
  // Before it is unmounted: everything reaches the disk. `lazy`: it may be in use. Can answer blocked; ebusy; eagain: only the kernel itself
  // uses it, and all is to be done once more.
  virtual Result<void> prepare_unmount(UnmountProgress& progress, bool lazy) {
    return (void)progress, (void)lazy, Result<void>{};
  }
  // Who uses files of it but the caller, who has a reference to its root and one to it. Who only watches a file is told and does not count.
  // The table of mounts is locked.
  [[nodiscard]] virtual Users users() { return Users::none; }
  // Unmounted: lets go of what would keep itself alive.
  virtual void dismantle() {}
  // The machine is about to be switched off, no thread runs any more: leaves it in good order. `poll` lets devices finish.
  virtual void shut_down(void (*poll)()) { (void)poll; }
  // For file handles: the number by which the file is found again, as long as it is there. eopnotsupp; enomem.
  virtual Result<u64> handle_of(Inode& file);
  virtual Result<Ref<Inode>> find_by_handle(u64 number);  // estale
  [[nodiscard]] u64 device() const { return device_; }  // st_dev; unique
  WriteErrors data_errors;  // of all its files
  PassingUses passing;
  // Of what is in no file; null: there is nothing, or it is written while the caller waits.
  [[nodiscard]] virtual WriteErrors* own_errors() { return nullptr; }
  // Kept by fs/watch, under notices::lock(); each keeps its file.
  WatchesOfFileSystem watches;

 private:
  u64 device_;
};

// Takes the names that a directory lists.
class Listing {
 public:
  // `next`: the position after this name. False: no room, ask again from this name on.
  virtual bool add(std::string_view name, u64 inode, FileType type, u64 next) = 0;

 protected:
  ~Listing() = default;
};

// What a directory is asked to make.
struct Creation {
  FileType type = FileType::regular;
  u32 permissions = 0;  // low 12 bits, umask applied
  u32 user = 0, group = 0;  // see fs/permission.h, set_owner
  DeviceNumber special{};  // character and block devices
  std::string_view target = {};  // symbolic links
};

// Extended attributes: the longest name, value, and list of all names of a file.
inline constexpr u64 longest_attribute_name = 255, longest_attribute = 65536, longest_attribute_list = 65536;

// A name being opened, in the thread that opens it.
struct OpenRequest {
  Thread& thread;
  u32 flags;
};

class Inode : public RefCounted<Inode> {
 public:
  Inode(FileSystem& file_system, FileType type) : file_system_{Ref<FileSystem>::share(file_system)}, type_{type} {}
  virtual ~Inode();

  [[nodiscard]] FileType type() const { return type_; }
  [[nodiscard]] bool is_directory() const { return type_ == FileType::directory; }
  [[nodiscard]] FileSystem& file_system() const { return *file_system_; }
  [[nodiscard]] virtual Attributes attributes() = 0;
  virtual Result<void> change(const AttributeChange& change);  // eperm

  // The directory that this one is in (itself: the root of its file system), for ".." and for finding its path. For other
  // files the directory of the name by which it was last linked. enoent: it was removed.
  virtual Result<Ref<Inode>> parent();
  // The name there; a prefix of `to`, which has at least name_max bytes. enoent.
  virtual Result<std::string_view> name(std::span<char> to);
  // The process whose directory in /proc it is; 0: it is none.
  [[nodiscard]] virtual i32 process_number() const { return 0; }
  // Text for files without a name ("pipe:[7]"); empty for the others.
  virtual std::string_view label(std::span<char> to);

  // ---- directories; enotdir for others ----
  virtual Result<Ref<Inode>> lookup(std::string_view name);  // enoent
  virtual Result<Ref<Inode>> create(std::string_view name, const Creation& creation);  // eexist, enospc, enomem, eperm
  // A regular file that no directory holds; with `linkable` it can be given a name later. eopnotsupp.
  virtual Result<Ref<Inode>> create_unnamed(u32 permissions, bool linkable);
  virtual Result<void> link(std::string_view name, Inode& file);  // eexist, emlink, exdev
  virtual Result<void> unlink(std::string_view name);  // eisdir, enoent
  virtual Result<void> remove_directory(std::string_view name);  // enotempty, enoent
  // Moves `name` of this directory to `new_name` of `target`. `flags`: RENAME_NOREPLACE 1, RENAME_EXCHANGE 2.
  virtual Result<void> rename(std::string_view name, Inode& target, std::string_view new_name, u32 flags);
  // Gives names from `position` on (0: the beginning, "." first).
  virtual Result<void> list(u64 position, Listing& listing);

  // ---- extended attributes, by names with their namespace ("user.x"), which the caller has checked and may use; eopnotsupp for
  // files that have none. An empty `to` asks for the size only; erange: `to` is too small.
  virtual Result<u64> attribute(std::string_view name, std::span<u8> to);  // enodata
  virtual Result<void> set_attribute(std::string_view name, std::span<const u8> value,
                                     AttributeSetting setting);  // enospc, enomem
  virtual Result<void> remove_attribute(std::string_view name);  // enodata
  // The names, a NUL behind each; with `trusted` also those of that namespace. Files that have none: 0.
  virtual Result<u64> list_attributes(std::span<char> to, bool trusted);

  // ---- flags (fs/types.h), which regular files and directories of some file systems have ----
  // Those that statx tells; 0: this file has no flags.
  [[nodiscard]] virtual u32 told_flags() const { return 0; }
  // `may_protect`: whoever asks may change immutable and append (eperm). enotty: it has none; eopnotsupp. Can answer blocked.
  virtual Result<void> set_flags(u32 wanted, bool may_protect);
  Atomic<u32> file_flags{0};  // kept by the file system
  [[nodiscard]] bool has_flag(u32 flags) const { return (file_flags.load(Order::relaxed) & flags) != 0; }
  // Neither its names nor its attributes may be changed by anyone.
  [[nodiscard]] bool is_protected() const { return has_flag(flag_immutable | flag_append); }

  // ---- symbolic links; einval for others ----
  virtual Result<std::string_view> read_link(std::span<char> to);  // cut when too long, as readlink does
  // The file that a link of /proc leads to without any text; null: follow the text.
  virtual Result<Ref<Inode>> follow(Thread& thread);

  // ---- regular files ----
  // Copies up to `size` bytes from `offset` on to the place `at` behind transfer.done(). Answers how many; 0: the end.
  // Can answer blocked (from the transfer).
  virtual Result<u64> read(u64 offset, Transfer& transfer, u64 at, u64 size);
  virtual Result<u64> write(u64 offset, Transfer& transfer, u64 at, u64 size);  // enospc, efbig
  // Writes at the end, whatever the end is by then.
  virtual Result<u64> append(Transfer& transfer, u64 at, u64 size, u64& end);
  virtual Result<void> resize(u64 size);  // einval, efbig
  // fallocate with the mode that was asked for (checked to be one of fs/allocation.h), the range being valid. Can answer
  // blocked; `progress` as in sync(). eopnotsupp, enospc, eperm.
  virtual Result<void> allocate(u32 mode, u64 offset, u64 length, u64& progress);
  // Where data (or, with `hole`, a hole) begins at `offset` or behind it. enxio: beyond the end.
  virtual Result<u64> seek_data(u64 offset, bool hole);
  // Seals (fs/seals.h). einval: the file has none.
  virtual Result<u32> seals();
  virtual Result<void> add_seals(u32 seals);  // eperm, ebusy
  // Brings what has been written to where the file is kept. `progress` is 0 at first and kept by the caller. Can answer
  // blocked. What could not be written is told by write_errors().
  virtual Result<void> sync(u64& progress);
  [[nodiscard]] virtual WriteErrors* write_errors() { return nullptr; }  // null: it is written while the caller waits
  virtual Result<Ref<vm::Backing>> backing();  // enodev; enomem
  // For shared mappings that may write. eperm: sealed.
  virtual Result<Ref<vm::Backing>> writable_backing() { return backing(); }
  Result<u64> read_kernel(u64 offset, std::span<u8> to);

  // Opens it. Can answer blocked (the two ends of a fifo wait for one another).
  virtual Result<Ref<OpenFile>> open(const OpenRequest& request);  // enxio, eisdir, enomem …

  // Something is mounted on this directory. Kept by fs/mounts.
  Atomic<bool> covered{false};
  // Mappings of it, or what can become such; and how often it became shorter (fs/shrinking.h).
  Atomic<u32> mappings{0};
  Atomic<u64> cuts{0};
  // ---- regular files: either somebody has it open for writing, or somebody runs it; etxtbsy for the other ----
  [[nodiscard]] bool begin_writing();
  void end_writing();
  // How many open files may write to it.
  [[nodiscard]] u32 writers() const {
    const i32 count = writers_.load(Order::seq_cst);
    return count < 0 ? 0 : static_cast<u32>(count);
  }
  // A program that is loaded or runs: see fs/write_denial.h.
  [[nodiscard]] bool begin_executing();
  void end_executing() { writers_.fetch_add(1, Order::release); }
  [[nodiscard]] bool is_executed() const { return writers_.load(Order::seq_cst) < 0; }
  // Open files that lead to it.
  Atomic<u32> opens{0};
  // Kept by fs/watch; null: nobody watches it.
  Atomic<FileWatch*> watches{nullptr};
  // Kept by fs/file_locks; null until somebody has locked the file.
  Atomic<FileLockTable*> locks{nullptr};

 private:
  Ref<FileSystem> file_system_;
  FileType type_;
  Atomic<i32> writers_{0};  // below zero: so many processes run it
};

}  // namespace corral::fs

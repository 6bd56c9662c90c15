// What the files of descriptor and path calls share. Context: system calls of the calling thread (call.h).
#pragma once

#include "abi/linux/call.h"
#include "abi/linux/time_values.h"
#include "fs/resources.h"
#include "fs/transfer.h"

namespace corral::abi {

// The lists of calls on descriptors and on names of files, for table.cpp.
[[nodiscard]] std::span<const Entry> transfer_calls();    // read, write and their relatives
[[nodiscard]] std::span<const Entry> directory_calls();   // getdents64
[[nodiscard]] std::span<const Entry> copy_calls();        // sendfile, copy_file_range
[[nodiscard]] std::span<const Entry> descriptor_calls();  // dup, fcntl, ioctl, lseek …
[[nodiscard]] std::span<const Entry> space_calls();       // fallocate, fadvise64, memfd_create
[[nodiscard]] std::span<const Entry> attribute_calls();   // extended attributes
[[nodiscard]] std::span<const Entry> handle_calls();      // name_to_handle_at, open_by_handle_at
[[nodiscard]] std::span<const Entry> splice_calls();
[[nodiscard]] std::span<const Entry> poll_calls();
[[nodiscard]] std::span<const Entry> epoll_calls();
[[nodiscard]] std::span<const Entry> event_calls();   // eventfd, timerfd
[[nodiscard]] std::span<const Entry> watch_calls();   // inotify
[[nodiscard]] std::span<const Entry> process_file_calls();  // pidfd_open, signalfd …
[[nodiscard]] std::span<const Entry> terminal_calls();
[[nodiscard]] std::span<const Entry> open_calls();
[[nodiscard]] std::span<const Entry> name_calls();    // mkdir, unlink, rename …
[[nodiscard]] std::span<const Entry> stat_calls();
[[nodiscard]] std::span<const Entry> change_calls();  // chmod, chown, utimensat …
[[nodiscard]] std::span<const Entry> mount_calls();   // mount, chroot, chdir …

inline fs::Resources& resources_of(Call& call) {
  return fs::Resources::of(call.process);
}

inline u32 umask_of(Call& call) {
  return resources_of(call).umask.load(Order::relaxed);
}

inline Result<Ref<fs::OpenFile>> file_at(Call& call, unsigned index) {
  return resources_of(call).files().get(call.number(index));
}

// The same; a descriptor that is a name only (O_PATH) is none.
inline Result<Ref<fs::OpenFile>> real_file_at(Call& call, unsigned index) {
  Ref<fs::OpenFile> file = TRY(file_at(call, index));
  if ((file->flags() & fs::o_path) != 0) return Errno::ebadf;
  return file;
}

// Brings everything of a file system to where it is kept, with the first four words of the step. blocked; as FileSystem::sync.
Result<void> sync_file_system(Call& call, fs::FileSystem& file_system);

// A path of the program, copied in; lives for one run of the step.
class UserPath {
 public:
  UserPath() = default;
  UserPath(const UserPath&) = delete;
  UserPath& operator=(const UserPath&) = delete;
  ~UserPath();
  // efault, enametoolong, enomem, blocked.
  Result<void> take(Call& call, VirtualAddress from);
  [[nodiscard]] std::string_view text() const { return {text_, size_}; }

 private:
  Frame* page_ = nullptr;
  char* text_ = nullptr;
  u64 size_ = 0;
};

// A file named by the arguments: a descriptor (or at_fdcwd) and a path.
struct NamedFile {
  UserPath path;
  fs::WalkStart start;
  fs::Walk walk;
  // Takes the path in and walks it. With at_empty_path in `flags` an empty path means the descriptor itself. The file may not
  // exist (walk.file is null): see existing().
  Result<void> look(Call& call, int directory, VirtualAddress path_at, fs::Follow follow, u32 flags = 0);
  u32 restrictions = 0;  // of fs/walk.h, set before look()
  const Credentials* credentials = nullptr;  // who searches, if not as the thread; set before look()
  // As look, and enoent when there is no such file.
  Result<Ref<fs::Inode>> existing(Call& call, int directory, VirtualAddress path_at, fs::Follow follow, u32 flags = 0);
};

// erofs: nothing in this file's file system may be changed.
inline Result<void> may_change(const fs::Inode& file) {
  if (file.file_system().read_only()) return Errno::erofs;
  return {};
}

// What may be opened with O_DIRECT.
inline bool reads_directly(const fs::Inode& file) {
  return file.type() == fs::FileType::regular || file.type() == fs::FileType::block;
}

inline fs::Follow follow_unless(u32 flags, u32 nofollow) {
  return (flags & nofollow) != 0 ? fs::Follow::no : fs::Follow::yes;
}

inline Result<i64> success(Result<void> outcome) {
  if (!outcome.ok()) return outcome.error();
  return i64{0};
}
inline Result<i64> count_of(Result<u64> outcome) {
  if (!outcome.ok()) return outcome.error();
  return static_cast<i64>(outcome.value());
}

}  // namespace corral::abi

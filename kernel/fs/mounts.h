// Which file systems are attached where. The table is short and changes rarely; a directory knows by Inode::covered that
// it is in it, so that look-ups of other names take no lock here.
#pragma once

#include "fs/inode.h"
#include "fs/poll_source.h"

namespace corral::fs {

struct Mount {
  ListLink link;
  Ref<Inode> covered;  // null: the root
  Ref<FileSystem> file_system;
  bool permanent = false;  // belongs to the system: umount answers ebusy
  bool expiring = false;   // asked for by expire(), and nobody has gone there since; with the table's lock
  char source[32] = {};
  char path[192] = {};
};

namespace mounts {
// Boot context: the file system at "/".
Result<void> set_root(Ref<FileSystem> file_system);
[[nodiscard]] Ref<Inode> root();
// Another file system takes the root's place. `moved`: the directories below it that keep what is mounted on those of the same path
// now; all others are detached. The step that asks has no lock.
struct Moved {
  std::string_view path;  // "/dev"
  Ref<Inode> directory;
};
Result<void> replace_root(Ref<FileSystem> file_system, std::string_view source, std::span<const Moved> moved);
// Attaches to `directory`, whose absolute path is `path` (shown in /proc/mounts). ebusy: something is there already;
// enotdir; enametoolong; enomem.
Result<void> add(Inode& directory, Ref<FileSystem> file_system, std::string_view path, std::string_view source, bool permanent);
// The same with the file system that `make` (Result<Ref<FileSystem>>) answers, which may answer blocked. It is asked last, when only
// ebusy is left: so a disk is not taken into use, and marked so, for nothing.
Result<Mount*> prepare(Inode& directory, std::string_view path, std::string_view source);
Result<void> add(Mount* prepared, Ref<FileSystem> file_system);  // takes `prepared` over
template <class Make>
Result<void> add(Inode& directory, std::string_view path, std::string_view source, u32 flags, Make&& make) {
  Mount* mount = TRY(prepare(directory, path, source));
  Result<Ref<FileSystem>> made = make();
  if (!made.ok()) {
    delete mount;
    return made.error();
  }
  made.value()->flags.store(flags, Order::relaxed);
  const Result<void> added = add(mount, made.value());
  if (!added.ok()) made.value()->dismantle();
  return added;
}
// Detaches the file system whose root is `directory`, to which the caller has one reference. einval: not the root of a mount;
// ebusy: the system needs it, or (unless `lazy`) it is on a disk and in use; open files elsewhere stay usable. blocked.
Result<void> remove(Inode& directory, UnmountProgress& progress, bool lazy);
// Whether what is mounted at this root may go because nobody has gone there since the last time that this was asked (MNT_EXPIRE).
// eagain: not yet; einval: nothing is mounted there.
Result<void> expire(Inode& directory);
// What one sees at `directory`: itself, or the root of what is mounted there. `noticed`: to be used.
[[nodiscard]] Ref<Inode> cross(Ref<Inode> directory, bool noticed = true);
// The directory that the root of a file system covers; null for the root of all, or a file system that is not mounted.
[[nodiscard]] Ref<Inode> covered_by(Inode& file_system_root);
// A number that grows with each change of what the table tells; `entry`, when given, is told of later ones.
[[nodiscard]] u64 version(PollEntry* entry);
// The flags of a mounted file system are others now.
void note_change();
// Calls visit for each mount, the root first, with the table's lock held (rank directory).
void for_each(void (*visit)(void* context, const Mount& mount), void* context);
}  // namespace mounts

}  // namespace corral::fs

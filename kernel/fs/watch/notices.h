// The one place where the rest of the kernel says what has happened to files, for those who watch them (inotify).
//
// Called after the change, by the step that made it, with no lock held. While nobody watches anything a notice costs one look.
// What happens to a file is told to those who watch it, and, with its name, to those who watch its directory: the name by
// which it was linked last. Bits as in Linux's inotify(7).
#pragma once

#include <string_view>

#include "lib/atomic.h"
#include "lib/types.h"
#include "sync/spin_lock.h"

namespace corral::fs {
class FileSystem;
class Inode;
class OpenFile;
}  // namespace corral::fs

namespace corral::fs::notices {

inline constexpr u32 accessed = 1, modified = 2, attributes_changed = 4, closed_written = 8, closed_unwritten = 0x10,
                     opened = 0x20, moved_from = 0x40, moved_to = 0x80, created = 0x100, deleted = 0x200, self_deleted = 0x400,
                     self_moved = 0x800;
inline constexpr u32 all_events = 0xfff;
inline constexpr u32 unmounted = 0x2000, overflow = 0x4000, ignored = 0x8000, of_directory = 0x4000'0000;

// Watches that there are.
[[nodiscard]] Atomic<u32>& watches();
[[nodiscard]] inline bool anyone() {
  return watches().load(Order::relaxed) != 0;
}

// While it is held no watch comes or goes. Taken before the locks of file systems on disks.
[[nodiscard]] SpinLock& lock();

namespace detail {
void tell(Inode& file, u32 event);
void tell_alone(Inode& file, u32 event);
void tell_name(Inode& directory, std::string_view name, u32 event, bool is_directory, u32 cookie);
void tell_deleted(Inode& directory, std::string_view name, Inode& file);
void tell_moved(Inode& from, std::string_view name, Inode& to, std::string_view new_name, Inode& file, Inode* replaced);
void tell_closed(OpenFile& file);
void tell_unmounted(FileSystem& file_system);
}  // namespace detail

// It was read, written, opened, or its attributes have changed.
inline void tell(Inode& file, u32 event) {
  if (anyone()) [[unlikely]]
    detail::tell(file, event);
}
// The number of its names has changed, which its directory's watchers are not told of.
inline void tell_alone(Inode& file, u32 event) {
  if (anyone()) [[unlikely]]
    detail::tell_alone(file, event);
}
inline void made(Inode& directory, std::string_view name, bool is_directory) {
  if (anyone()) [[unlikely]]
    detail::tell_name(directory, name, created, is_directory, 0);
}
// `name` was taken out of the directory; it was the file's.
inline void removed(Inode& directory, std::string_view name, Inode& file) {
  if (anyone()) [[unlikely]]
    detail::tell_deleted(directory, name, file);
}
// `replaced`: what had the new name before; null: nothing.
inline void moved(Inode& from, std::string_view name, Inode& to, std::string_view new_name, Inode& file, Inode* replaced) {
  if (anyone()) [[unlikely]]
    detail::tell_moved(from, name, to, new_name, file, replaced);
}
// The last reference to an open file is gone; it is still whole.
inline void closed(OpenFile& file) {
  if (anyone()) [[unlikely]]
    detail::tell_closed(file);
}
inline void gone(FileSystem& file_system) {
  if (anyone()) [[unlikely]]
    detail::tell_unmounted(file_system);
}

}  // namespace corral::fs::notices

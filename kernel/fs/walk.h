// From a path to a file: names, "." and "..", symbolic links, mounts.
//
// Context: the calling thread, no lock held; never waits. Errors as Linux's path_resolution(7): enoent, enotdir, eacces, eloop (more
// than 40 links), enametoolong (a name above 255 bytes, or a path above 4095), enomem; exdev and eloop where restrictions forbid the way.
#pragma once

#include "fs/inode.h"
#include "task/credentials.h"

namespace corral::fs {

// What a walk must not do; bits as in openat2(2), `resolve`.
inline constexpr u32 resolve_no_mounts = 1, resolve_no_magic_links = 2, resolve_no_links = 4, resolve_beneath = 8,
                     resolve_in_root = 16, resolve_cached = 32;
inline constexpr u32 resolve_all = 63;
// Of the kernel's own: going there does not count as using what is mounted there (mounts::expire).
inline constexpr u32 walk_unnoticed = 1u << 31;

// Where a path starts: "/" and the directory for relative ones.
struct WalkStart {
  Thread* thread = nullptr;  // for links like /proc/self/fd/1; null: those are followed by their text
  Ref<Inode> root;
  Ref<Inode> directory;
  u32 restrictions = 0;
  // Who must be allowed to search the directories on the way; null: the kernel, which may. Lives as long as the walk.
  const Credentials* credentials = nullptr;
};

// A symbolic link in the last place. `no` still follows one that a slash follows, as lstat does; `never` is for calls that make
// or remove the name itself: there a slash only sets must_be_directory, and the caller says what that means.
enum class Follow : u8 { no, yes, never };

class Walk {
 public:
  // Finds the file and, for making or removing it, the directory that holds it and its last name. The last name need not
  // exist: then file is null. einval-like ends of paths: see `end`.
  Result<void> run(const WalkStart& start, std::string_view path, Follow follow);

  enum class End : u8 { name, dot, dot_dot, root };
  Ref<Inode> directory;  // of the last name
  Ref<Inode> file;  // null: no such name in directory
  End end = End::root;
  bool must_be_directory = false;  // a slash stands at the end
  [[nodiscard]] std::string_view name() const { return {name_, name_size_}; }

 private:
  Result<void> step(const WalkStart& start, std::string_view name);
  Result<void> go_to_start(const WalkStart& start, std::string_view path);
  void remember(std::string_view name);
  u64 name_size_ = 0;
  char name_[name_max];
};

// The file that exists under this path. enoent …
Result<Ref<Inode>> find(const WalkStart& start, std::string_view path, Follow follow);

// The directory above, over the edges of mounts, not above `root`.
[[nodiscard]] Result<Ref<Inode>> parent_of(Inode& directory, const Inode& root);

// The absolute path of a file, somewhere in `to`. enoent: it has none any more; erange: longer than `to`.
Result<std::string_view> path_of(Inode& file, std::span<char> to);
Result<std::string_view> path_below(Inode& file, const Inode& root, std::span<char> to, bool* is_below = nullptr);

}  // namespace corral::fs

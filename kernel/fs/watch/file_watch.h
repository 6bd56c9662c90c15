// One watch: it keeps its file (the inode) and belongs to a watcher, who is told: an inotify queue or an open directory (F_NOTIFY). It is in
// the list of its file, in the tree of its watcher, and in the list of its file's file system, which is looked through when that one is unmounted.
// All of them are guarded by the one lock of all watches (notices.cpp).
#pragma once

#include <string_view>

#include "lib/intrusive_list.h"
#include "lib/red_black_tree.h"
#include "lib/ref.h"
#include "lib/result.h"
#include "lib/types.h"

namespace corral::fs {

class Inode;
class Watcher;

// Bits of a watch's mask beside the notices.
inline constexpr u32 watch_only_directory = 0x0100'0000, watch_no_follow = 0x0200'0000, watch_not_unlinked = 0x0400'0000,
                     watch_create = 0x1000'0000, watch_add = 0x2000'0000, watch_once = 0x8000'0000;

struct FileWatch {
  FileWatch(Watcher& owner, Ref<Inode> watched, i32 its_number, u32 wanted);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  Watcher& watcher;
  const Ref<Inode> file;
  const i32 number;
  u32 mask;  // notices that are wanted, and once
  FileWatch* next = nullptr;  // of the same file
  TreeLink by_number;  // in the watcher's tree
  ListLink link_in_file_system;
  struct Newer {
    bool operator()(const FileWatch& a, const FileWatch& b) const { return a.number > b.number; }
  };
};

class Watcher {
 public:
  // The number of the watch, of which there is one for each file. eexist, enospc, enomem.
  Result<i32> watch(const Ref<Inode>& file, u32 mask);
  Result<void> forget(i32 number);  // einval
  // Ends all its watches.
  void close();
  // The lock of all watches is held. False: it was not what is waited for, so that a watch for one event goes on.
  virtual bool post(i32 number, u32 event, u32 cookie, std::string_view name) = 0;

  // Guarded by the lock of all watches; the newest is the first.
  RedBlackTree<FileWatch, &FileWatch::by_number, FileWatch::Newer> watches;
  i32 last_number = 0;  // guarded by the lock of all watches

 protected:
  ~Watcher() = default;
};

// The watches of a file system's files.
struct WatchesOfFileSystem {
  IntrusiveList<FileWatch, &FileWatch::link_in_file_system> list;
  u64 count = 0;
};

}  // namespace corral::fs

// One watch of inotify: it keeps its file (the inode) and belongs to a queue. It is in the list of its file, in the tree of its queue, and
// in the list of its file's file system, which is looked through when that one is unmounted. All of them are guarded by the one lock of
// all watches (notices.cpp).
#pragma once

#include "lib/intrusive_list.h"
#include "lib/red_black_tree.h"
#include "lib/ref.h"
#include "lib/types.h"

namespace corral::fs {

class Inode;
class WatchQueue;

struct FileWatch {
  FileWatch(WatchQueue& owner, Ref<Inode> watched, i32 its_number, u32 wanted);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;
  WatchQueue& queue;
  const Ref<Inode> file;
  const i32 number;
  u32 mask;  // notices that are wanted, and once
  FileWatch* next = nullptr;  // of the same file
  TreeLink by_number;  // in the queue's tree
  ListLink link_in_file_system;
  struct Newer {
    bool operator()(const FileWatch& a, const FileWatch& b) const { return a.number > b.number; }
  };
};

// The watches of a file system's files.
struct WatchesOfFileSystem {
  IntrusiveList<FileWatch, &FileWatch::link_in_file_system> list;
  u64 count = 0;
};

}  // namespace corral::fs

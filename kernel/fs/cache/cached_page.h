// One page of a file in memory, and a run of neighbouring pages that is being moved between memory and where the file is.
#pragma once

#include <span>

#include "fs/passing_use.h"
#include "lib/intrusive_list.h"
#include "lib/red_black_tree.h"
#include "memory/frame.h"
#include "sync/waiter.h"

namespace corral::fs {

class FilePages;

// Where a page is kept, in the file system's own terms; all zero: nowhere.
struct PagePlace {
  u64 first = 0, rest = 0;
  bool operator==(const PagePlace&) const = default;
  [[nodiscard]] bool nowhere() const { return first == 0 && rest == 0; }
};

// Everything is guarded by its file's lock, except `recency`, by the lock of the recency list. A page is in memory for as long as its
// descriptor is in the file's index; who uses the bytes without the lock holds a reference to the frame.
struct CachedPage {
  CachedPage(FilePages& owner, SpinLock& lock, u64 number, Frame& memory)
      : file{&owner}, frame{&memory}, index{number}, waiters{lock} {}

  enum class State : u8 {
    loading,  // its bytes are on the way; waiters are woken when they are there
    valid,
    failed,  // they could not be read: `error`, told to the next who asks
  };
  FilePages* file;
  Frame* frame;  // with a reference
  u64 index;  // the page's number in the file
  PagePlace place;  // pages in one run have places in a row
  State state = State::loading;
  bool dirty = false;  // written since it was last brought to where the file is
  bool writing = false;  // on the way there
  bool mapped_for_writing = false;  // programs may write it without telling: as good as dirty while it is mapped
  bool used = false;  // since the reclaimer last looked
  Errno error{};
  TreeLink by_index;
  ListLink recency;
  WaitQueue waiters;

  // Must be written before it may be forgotten.
  [[nodiscard]] bool needs_write() const { return dirty || mapped_for_writing; }
};

// Neighbouring pages under way. Made by the file system (FilePages::Store::make_run), usually as part of its own request;
// belongs to whoever moves it, until finished().
class PageRun {
 public:
  static constexpr u32 most_pages = 32;
  virtual ~PageRun() = default;

  [[nodiscard]] u64 first_index() const { return pages_[0]->index; }
  // Of page i; as it was when the run was put together.
  [[nodiscard]] const PagePlace& place(u32 i) const { return places_[i]; }
  [[nodiscard]] u32 count() const { return count_; }
  [[nodiscard]] bool is_write() const { return write_; }
  [[nodiscard]] u64 offset() const { return first_index() * page_size; }
  // How much of it is to be moved: whole pages, or up to the file's end when writing.
  [[nodiscard]] u64 bytes() const { return bytes_; }
  [[nodiscard]] u8* memory(u32 i) const;  // of page i; page_size bytes
  [[nodiscard]] Inode& inode() const { return *inode_; }

  // It is done: `moved` bytes, or what went wrong. What a read did not bring is zero. Any context, no lock held; deletes the run.
  void finished(Result<u64> moved);

 private:
  friend class FilePages;
  PassingUse inode_;  // the file stays while its pages are under way
  FilePages* file_ = nullptr;
  CachedPage* pages_[most_pages] = {};
  PagePlace places_[most_pages] = {};
  u32 count_ = 0;
  bool write_ = false;
  u64 bytes_ = 0;
};

}  // namespace corral::fs

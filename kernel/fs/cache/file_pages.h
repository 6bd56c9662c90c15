// The pages of one file that are in memory: the page cache, as far as this file is concerned.
//
// A page that is not there is asked for, the thread enlists on it, and its core goes on with other threads; when the bytes
// have come (in an interrupt), all who wait are woken and run their steps again. Written pages are dirty; they are brought
// away after a while (write_back.h), by flush(), and when too many are dirty. Clean pages that nobody uses are given up when
// memory is short (reclaim.h). Mappings see the same pages as read and write.
//
// A file system derives from Store. Where a file's bytes are is its business; it may wait for that only in find() and reserve().
// lock_ (rank page_cache) protects the index and all page states; no bytes are copied and no Store function is called with it.
// Who moves the end holds end_, so that a write which appends, or reaches behind the end, is before or after all others that do, and before
// or after each resize. Writes inside the file do not need it: one that meets a cut is done again, with it.
// Context: the calling thread's step, unless a function says otherwise.
#pragma once

#include "fs/cache/cached_page.h"

namespace corral::fs {

class Transfer;

class FilePages {
 public:
  class Store {
   public:
    // Where page `index` is, and how many of the `count` pages from there on are in a row with it (at least 1). They are read as one
    // run. `waiter` null: eagain instead of blocked. eio.
    struct Extent {
      PagePlace place;  // nowhere: it is a hole
      u64 count;
    };
    virtual Result<Extent> find(u64 index, u64 count, Waiter* waiter) = 0;
    // Makes room for bytes `from` to `to` of a page that are about to be written, beyond the end or in a hole as well. Answers the
    // page's place. blocked or eagain as find(); enospc, efbig, eio.
    virtual Result<PagePlace> reserve(u64 index, u32 from, u32 to, Waiter* waiter) = 0;
    // About places, where they are more than one number; with the file's lock held. The place so many pages on; whether these bytes
    // of the page have room there; what remains of it when the file ends after so many bytes of the page.
    [[nodiscard]] virtual PagePlace behind(const PagePlace& place, u64 pages) const {
      return {place.first + pages, place.rest};
    }
    [[nodiscard]] virtual bool holds(const PagePlace& place, u32 from, u32 to) const {
      return (void)from, (void)to, !place.nowhere();
    }
    [[nodiscard]] virtual PagePlace cut(const PagePlace& place, u32 bytes) const { return (void)bytes, place; }
    // The file has no name any more: when nobody else uses it, what was written into it need not be kept. Any context.
    [[nodiscard]] virtual bool abandoned() const { return false; }
    // An empty run; null: no memory. Any context.
    virtual PageRun* make_run() = 0;
    // Moves the run's pages; calls run.finished() when that is done, which may be at once. Any context, no lock held.
    virtual void start(PageRun& run) = 0;

   protected:
    ~Store() = default;
  };

  // `inode` is the file that this is part of.
  FilePages(Inode& inode, Store& store) : inode_{inode}, store_{store} {}
  FilePages(const FilePages&) = delete;
  FilePages& operator=(const FilePages&) = delete;
  ~FilePages();  // nothing is under way or dirty: both keep the inode

  [[nodiscard]] u64 size() EXCLUDES(lock_);
  void set_size(u64 size) EXCLUDES(lock_);  // as the file system knows it, when it is first seen; drops nothing
  // The same, as whoever keeps the file has answered to a question of then. False: it is not believed, for a page was dirty or on its way
  // since, so that this side knows better.
  [[nodiscard]] bool take_size(u64 size, Instant asked) EXCLUDES(lock_);
  [[nodiscard]] u64 pages_in_memory() EXCLUDES(lock_);

  // As Inode::read and write: at most `size` bytes. Who reads, or appends, gets fewer than asked when the rest would have to be waited for.
  // What is written elsewhere goes into the file as a whole, as far as others cut it: blocked, however much has been written (the size tells),
  // and it is all written again after the wait. `waiter` null: eagain, or fewer than asked, instead of blocked.
  Result<u64> read(u64 offset, Transfer& transfer, u64 at, u64 size, Waiter* waiter) EXCLUDES(lock_);
  Result<u64> write(u64 offset, Transfer& transfer, u64 at, u64 size, Waiter* waiter) EXCLUDES(lock_, end_);
  // Writes at the end, wherever that is by then; answers how many bytes, and the new end.
  Result<u64> append(Transfer& transfer, u64 at, u64 size, u64& end, Waiter* waiter) EXCLUDES(lock_, end_);
  // The page with a reference for the caller. `waiter` null: eagain instead of blocked. efault: beyond the end; eio, enomem.
  Result<Frame*> page(u64 index, Waiter* waiter) EXCLUDES(lock_);
  // As vm::Backing::pages_at_hand.
  void pages_at_hand(u64 first, std::span<Frame*> frames) EXCLUDES(lock_);
  // A page that the caller has mapped, or has a reference to, is about to be written through a mapping. blocked, enospc.
  Result<void> prepare_write(u64 index, Waiter& waiter) EXCLUDES(lock_);
  // The caller has changed a page to which it has a reference from page(): it is dirty. Not for mapped memory.
  void wrote(u64 index) EXCLUDES(lock_);
  // Before truncate(), where bytes behind the end of a file are kept as well: the page in which the end will be, with a reference for
  // the caller; null: none is cut. When the file grows, room behind its old end, as far as a mapping may write there. blocked or
  // eagain; enospc, eio, enomem.
  Result<Frame*> hold_end(u64 size, Waiter* waiter) EXCLUDES(lock_);
  // The file has `size` bytes from now on. Pages behind it are forgotten, after those that are under way have arrived: blocked. With
  // end_lock(), which is taken before the file system's own locks.
  Result<void> truncate(u64 size, Waiter& waiter) REQUIRES(end_) EXCLUDES(lock_);
  // How often it was made shorter; and it has at least `size` bytes from now on, unless that has happened again.
  [[nodiscard]] u64 cuts() EXCLUDES(lock_);
  void grow(u64 size, u64 cuts) EXCLUDES(lock_, end_);
  [[nodiscard]] SpinLock& end_lock() RETURN_CAPABILITY(end_) { return end_; }
  // While somebody holds them no page sets out for where the file is: of a server that is told of another end, and answers in whatever
  // order, it might come before or after. Who flushes waits.
  void hold_writes() EXCLUDES(lock_);
  void resume_writes() EXCLUDES(lock_);
  // Brings every page that was dirty at the first call to where the file is. `progress` is 0 at the first call and the caller
  // keeps it. blocked; enomem. What could not be written is told by errors().
  Result<void> flush(u64& progress, Waiter& waiter) EXCLUDES(lock_);
  // Forgets clean pages that nobody uses: somebody else has changed the file.
  void forget_clean() EXCLUDES(lock_);
  // Waits while any of its pages is being written: blocked.
  Result<void> settle(Waiter& waiter) EXCLUDES(lock_);
  // Forgets a page, whatever was written into it; waits while it is under way: blocked, or eagain without a waiter.
  Result<void> discard(u64 index, Waiter* waiter) EXCLUDES(lock_);
  // Nobody but the list of dirty files uses it: what was written into an abandoned file is not written any more. Any context.
  void discard_abandoned() EXCLUDES(lock_);
  [[nodiscard]] bool has_dirty() EXCLUDES(lock_) {
    LockGuard guard{lock_};
    return is_dirty();
  }
  [[nodiscard]] WriteErrors& errors() { return errors_; }

  // ---- write_back.cpp: any context ----
  // Starts to write what needs it, from page `first` on, at most `most` runs. Answers where to go on, or one of these two.
  static constexpr u64 none_left = ~u64{0}, held_back = ~u64{0} - 1;
  u64 start_writes(u64 first, u32 most) EXCLUDES(lock_);
  // With its lock: some page is not where the file is.
  [[nodiscard]] bool is_dirty() const REQUIRES(lock_) { return dirty_count_ + writing_count_ + mapped_count_ != 0; }
  // No thread runs any more: what programs could write through mappings is written once more and then clean.
  void end_mapped_writes() EXCLUDES(lock_);
  // The same: who held its writes does not let them go any more.
  void end_holds() EXCLUDES(lock_);
  [[nodiscard]] Inode& inode() const { return inode_; }
  // ---- reclaim.cpp ----
  [[nodiscard]] SpinLock& lock() RETURN_CAPABILITY(lock_) { return lock_; }
  // With its lock and that of the recency list: takes the page out when it may be forgotten. False: it may not.
  [[nodiscard]] bool give_up(CachedPage& page, bool spare_used) REQUIRES(lock_);

  // ---- write_back.cpp, under its lock ----
  ListLink dirty_link;
  bool in_dirty_list = false;
  u64 place_in_list = 0;  // higher for those behind it

 private:
  friend class PageRun;
  [[nodiscard]] CachedPage* find(u64 index) const REQUIRES(lock_);
  // The page, valid, with a reference for the caller; reads it, and some behind it, when it is not there.
  Result<Frame*> obtain(u64 index, Waiter* waiter) EXCLUDES(lock_);
  Result<void> start_reading(u64 index, Waiter* waiter) EXCLUDES(lock_);
  // How many pages to read from `index` on: more when the file is read in a row.
  u64 window(u64 index) REQUIRES(lock_);
  // Puts a new page, loading, at `index`; null: there is one by now, or the file has been cut since `cuts`, so that the place may be
  // somebody else's. enomem.
  Result<CachedPage*> add_page(u64 index, const PagePlace& place, u64 cuts) EXCLUDES(lock_);
  void remove(CachedPage& page) REQUIRES(lock_);  // from the index; the caller disposes of it without the lock
  void finish_read(PageRun& run, Result<u64> moved) EXCLUDES(lock_);
  void finish_write(PageRun& run, const Result<u64>& moved) EXCLUDES(lock_);
  // What goes into one page.
  struct Piece {
    Transfer& transfer;
    u64 at;  // behind transfer.done()
    u64 cuts;  // of the file, when the write began
    u64 index, in_page, bytes;
    [[nodiscard]] u64 offset() const { return index * page_size + in_page; }
  };
  // estale: the file was cut since the write began, which has to be done again.
  Result<void> write_piece(const Piece& piece, Waiter* waiter) EXCLUDES(lock_);
  // Into a page that need not be read first and was not there. eexist: now it is.
  Result<void> write_new_page(const Piece& piece, Waiter* waiter) EXCLUDES(lock_);
  // Into a page that is there, to whose frame the caller has a reference. False: its place has been given back, so it needs another.
  Result<bool> write_into(const Piece& piece, Frame& frame) EXCLUDES(lock_);
  // The file is about to end at `size`: mappings that may write the page with its end now may write behind it then.
  Result<void> extend_mapped_end(u64 size, Waiter* waiter) EXCLUDES(lock_);
  // These bytes of the page have a place where they can be written to.
  Result<void> give_place(u64 index, u32 from, u32 to, Waiter* waiter) EXCLUDES(lock_);
  // Without the end's lock erange: it reaches behind the end; estale: it did so for a while, since the file was cut. Behind the end: only
  // the first page is waited for, since the end has moved then.
  enum class Place : u8 { inside, end_is_held, behind_end };
  Result<u64> write_pieces(u64 offset, Transfer& transfer, u64 at, u64 size, Place where, Waiter* waiter) EXCLUDES(lock_);
  // Bytes of pages behind the end and before `to` are zero: of a write that met a cut, before anybody else moves the end.
  void clear_behind_end(u64 to) REQUIRES(end_) EXCLUDES(lock_);
  // Waits while too much is dirty.
  Result<void> hold_back(Waiter* waiter) EXCLUDES(lock_);
  void note_dirty(CachedPage& page) REQUIRES(lock_);
  [[nodiscard]] bool busy_from(u64 index) const REQUIRES(lock_);
  // Pages that are in no index any more, linked where the list of the least used pages had them.
  using RemovedPages = IntrusiveList<CachedPage, &CachedPage::recency>;
  // From `index` on; none is under way.
  void take_from(u64 index, RemovedPages& to) REQUIRES(lock_);
  static void dispose_of(RemovedPages& pages);

  struct Before {
    bool operator()(const CachedPage& a, const CachedPage& b) const { return a.index < b.index; }
  };

  Inode& inode_;
  Store& store_;
  SpinLock end_{Rank::file_end, "end of file"};  // whoever moves it
  SpinLock lock_{Rank::page_cache, "file pages"};
  RedBlackTree<CachedPage, &CachedPage::by_index, Before> pages_ GUARDED_BY(lock_);
  WaitQueue arrivals_{lock_};  // those who wait for the end of all that is under way
  u64 size_ GUARDED_BY(lock_) = 0;
  u64 page_count_ GUARDED_BY(lock_) = 0;
  u64 dirty_count_ GUARDED_BY(lock_) = 0;  // pages with `dirty`
  u64 writing_count_ GUARDED_BY(lock_) = 0;  // pages with `writing`
  u64 mapped_count_ GUARDED_BY(lock_) = 0;  // pages with `mapped_for_writing`
  u64 expected_ GUARDED_BY(lock_) = 0;  // the page after the last run that was read
  u64 window_ GUARDED_BY(lock_) = 0;
  u64 cuts_ GUARDED_BY(lock_) = 0;  // how often it was made shorter
  u32 holders_ GUARDED_BY(lock_) = 0;  // of its writes
  Instant written_at_ GUARDED_BY(lock_){};  // when the last page arrived where the file is
  WriteErrors errors_;
};

// Pages as mappings see them: shared ones tell of writes. Its name is what the file was called when it was mapped. enomem.
Result<Ref<vm::Backing>> make_backing(Inode& inode, FilePages& pages);

}  // namespace corral::fs

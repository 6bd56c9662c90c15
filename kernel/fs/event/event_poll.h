// EventPoll: an epoll instance. Watches of files, and the list of those that may be ready.
//
// A change of a file puts its watch on the ready list (EventWatch::on_change, under the file's lock) and wakes one waiter.
// The waiter takes watches off the list one by one, asks each file again with no lock held, and tells what holds. A level-
// triggered watch goes back on the list, so the next waiter asks again. While a scan is under way others that find the
// list empty wait for its end, as what it holds may come back.
//
// Locks: a file's own (rank terminal … pipe) < nesting lock < an instance's lock_. An instance that is watched itself tells
// its watchers under the nesting lock, one for all instances; no two instances' locks are ever held at once. Programs'
// memory is written under lock_, as a pipe's is under its own.
// Source: Linux man-pages epoll(7), epoll_ctl(2), epoll_wait(2).
#pragma once

#include "fs/event/event_watch.h"
#include "fs/open_file.h"
#include "sync/waiter.h"

namespace corral::fs {

// Bits of struct epoll_event beside the poll_ ones.
inline constexpr u32 epoll_exclusive = 1u << 28, epoll_wakeup = 1u << 29, epoll_one_shot = 1u << 30, epoll_edge = 1u << 31;

class EventPoll final : public RefCounted<EventPoll> {
 public:
  static constexpr u32 max_chain = 5;  // instances that watch one another in a row, as Linux

  EventPoll();

  // `nested`: the instance behind `file`, when it is one. eexist, enomem, eloop, enospc.
  Result<void> add(OpenFile& file, int descriptor, const Event& event, EventPoll* nested) EXCLUDES(lock_);
  Result<void> modify(OpenFile& file, int descriptor, const Event& event) EXCLUDES(lock_);  // enoent; einval: exclusive
  Result<void> remove(OpenFile& file, int descriptor) EXCLUDES(lock_);                      // enoent
  // The instance's own file has gone.
  void dismantle() EXCLUDES(lock_);

  // Takes events. Where they go: false when one could not be told; it is not taken then.
  class Receiver {
   public:
    virtual bool take(const Event& event) = 0;

   protected:
    ~Receiver() = default;
  };
  // At most `most` events. 0: none now, and the waiter is not enlisted; blocked: a scan is under way (uninterruptible).
  Result<u64> collect(Waiter& waiter, Receiver& receiver, u64 most) EXCLUDES(lock_);
  // Errno{}: something may be ready. blocked; restart.
  [[nodiscard]] Errno wait(Waiter& waiter, Instant deadline) EXCLUDES(lock_);
  u32 poll(PollEntry* entry) EXCLUDES(lock_);
  // A line for each watch.
  void describe(TextBuffer& to) EXCLUDES(lock_);

 private:
  friend class EventWatch;
  friend void forget_watches(OpenFile& file);
  using Watches = IntrusiveList<EventWatch, &EventWatch::ready_link_>;
  struct ByFile {
    bool operator()(const EventWatch& a, const EventWatch& b) const {
      return &a.file_ != &b.file_ ? &a.file_ < &b.file_ : a.descriptor_ < b.descriptor_;
    }
  };
  [[nodiscard]] EventWatch* find(const OpenFile& file, int descriptor) REQUIRES(lock_);
  // Takes the watch out; false: somebody else did. The instance's reference goes to the caller.
  [[nodiscard]] bool take_out(EventWatch& watch) EXCLUDES(lock_);
  [[nodiscard]] bool take_out_locked(EventWatch& watch) REQUIRES(lock_);
  // What has been taken out is told no more, and goes.
  static void release(EventWatch& watch);
  Result<void> link(EventWatch& watch, EventPoll* nested);
  static void unlink(EventWatch& watch);
  // Asks the file now and puts the watch on the list if something holds.
  void look(EventWatch& watch, OpenFile& file) EXCLUDES(lock_);
  // On the list and a waiter woken; true: there was one.
  bool make_ready(EventWatch& watch) REQUIRES(lock_);
  void tell_watchers();
  // The next watch to be asked, with references to it and to its file.
  struct Asked {
    Ref<EventWatch> watch;  // null: none left
    Ref<OpenFile> file;
  };
  Asked first_to_ask() REQUIRES(lock_);  // stays on the list
  u64 collect_only(EventWatch& watch, Receiver& receiver) REQUIRES(lock_);
  void end_scan(Watches& again) REQUIRES(lock_);
  [[nodiscard]] bool any_ready() EXCLUDES(lock_);
  // How many instances are in the longest chain from this one on, itself included. The nesting lock is held.
  u32 chain_below(const EventPoll& sought, bool& found, u64 walk);
  u32 chain_above(u64 walk);

  SpinLock lock_{Rank::event_poll, "epoll"};
  RedBlackTree<EventWatch, &EventWatch::tree_link_, ByFile> watches_ GUARDED_BY(lock_);
  Watches ready_ GUARDED_BY(lock_);
  WaitQueue waiters_{lock_}, scan_end_wanted_{lock_};
  u32 scans_ GUARDED_BY(lock_) = 0;
  // False: the queue is empty for sure.
  bool waited_for_ GUARDED_BY(lock_) = false, scan_end_waited_for_ GUARDED_BY(lock_) = false;

  // source_ and telling_: the nesting lock, one for all instances. nested_ to chain_: the lock of the links.
  PollSource source_;
  IntrusiveList<EventWatch, &EventWatch::nested_link_> nested_;
  IntrusiveList<EventWatch, &EventWatch::watcher_link_> watchers_;
  u64 walk_ = 0;   // the last walk over instances that came by
  u32 chain_ = 0;  // what it found
  u64 telling_ = 0;  // the last telling that came by
  Atomic<bool> watched_{false};  // source_ has been in use
};

Result<Ref<OpenFile>> make_event_poll();  // enomem
// The instance behind an open file, or null.
[[nodiscard]] EventPoll* event_poll_of(OpenFile& file);

}  // namespace corral::fs

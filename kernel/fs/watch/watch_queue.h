// What one inotify descriptor stands for: watches on files, and the events that wait to be read. Source: Linux man-pages inotify(7).
//
// Watches (file_watch.h) are guarded by the one lock of all watches. The events are guarded by the queue's own lock, which ranks above it.
// At most most_events wait: then one event says that others were lost.
#pragma once

#include "fs/inode.h"
#include "fs/poll_source.h"
#include "fs/watch/file_watch.h"
#include "lib/intrusive_list.h"
#include "lib/setting.h"
#include "sync/waiter.h"

namespace corral::fs {

struct WatchLimits {
  static inline constinit Setting instances{128, 0, 0x7fff'ffff}, watches{65536, 0, 0x7fff'ffff}, events{16384, 0, 0x7fff'ffff};
};

class WatchQueue final : public RefCounted<WatchQueue>, public Watcher {
 public:
  static Result<Ref<WatchQueue>> create();  // emfile, enomem
  ~WatchQueue();
  // The watch with the highest number below `before`; null `file`: none.
  struct Watched {
    i32 number = 0;
    u32 mask = 0;
    Ref<Inode> file;
  };
  [[nodiscard]] Watched watched_below(i64 before);
  Result<u64> read(Thread& thread, Transfer& transfer, bool nonblocking) EXCLUDES(lock_);
  u32 poll(PollEntry* entry) EXCLUDES(lock_);
  [[nodiscard]] u64 available() EXCLUDES(lock_);
  bool post(i32 number, u32 event, u32 cookie, std::string_view name) override EXCLUDES(lock_);

 private:
  struct Event {
    ListLink link;
    i32 watch;
    u32 mask, cookie;
    u32 size;  // of the name as it is told: with NULs up to a multiple of 16; 0: none
    u32 name_size;
    char name[];
    [[nodiscard]] std::string_view text() const { return {name, name_size}; }
  };
  WatchQueue() = default;
  static Event* make_event(i32 number, u32 event, u32 cookie, std::string_view name);
  Result<void> give(const Event& event, Transfer& transfer) REQUIRES(lock_);

  SpinLock lock_{Rank::file_events, "file events"};
  WaitQueue readers_{lock_};
  PollSource source_{lock_};
  IntrusiveList<Event, &Event::link> events_ GUARDED_BY(lock_);
  Event* lost_ GUARDED_BY(lock_) = nullptr;  // says that events were lost; null: it is in the list
  u32 count_ GUARDED_BY(lock_) = 0;
  u64 bytes_ GUARDED_BY(lock_) = 0;
};

// An open file for a new queue. `flags`: o_nonblock or 0. emfile, enomem.
Result<Ref<OpenFile>> make_watch_file(u32 flags);
// The queue behind an open file, or null.
[[nodiscard]] WatchQueue* watch_queue_of(OpenFile& file);

}  // namespace corral::fs

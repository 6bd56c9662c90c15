// See write_back.h.
//
// The list holds a reference to each of its files, so that dirty pages outlive the last name and descriptor.
#include "fs/cache/write_back.h"

#include "core/core.h"
#include "device/clock.h"
#include "fs/cache/reclaim.h"
#include "memory/page_allocator.h"

namespace corral::fs::write_back {

namespace {

constexpr Duration period = milliseconds(1000);
constexpr u32 runs_at_once = 64;  // of one file, in one look
constexpr u64 dirty_share = 8;    // one page of memory in so many may be dirty

using DirtyList = IntrusiveList<FilePages, &FilePages::dirty_link>;

void look(TimerEvent& event);

constinit SpinLock list_lock{Rank::page_cache_lists, "dirty files"};
constinit DirtyList files GUARDED_BY(list_lock);
constinit bool timer_runs GUARDED_BY(list_lock) = false;
constinit Atomic<i64> dirty{0};
constinit Atomic<u64> next_sync{1};
alignas(TimerEvent) constinit u8 timer_storage[sizeof(TimerEvent)] = {};

// On the calling core: it looks from now on, as long as there are dirty files.
void start_timer() {
  auto* event = ::new (timer_storage) TimerEvent(look);
  this_core().timers().add(*event, clock::now() + period);
  this_core().rearm_timer();
}

// The n-th file of the list, with a reference. Null: there are fewer.
Ref<Inode> file_at(u64 number, FilePages*& file) {
  LockGuard guard{list_lock};
  for (FilePages* f = files.front(); f != nullptr; f = files.next(*f)) {
    if (number-- > 0) continue;
    file = f;
    return Ref<Inode>::share(f->inode());
  }
  return {};
}

// A file that this sync has not finished. `fresh`: it begins with it now.
Ref<Inode> file_for(u64 serial, const FileSystem* only, FilePages*& file, bool& fresh) {
  LockGuard guard{list_lock};
  for (FilePages* f = files.front(); f != nullptr; f = files.next(*f)) {
    if (f->sync_done >= serial || (only != nullptr && &f->inode().file_system() != only)) continue;
    fresh = f->sync_begun < serial;
    if (fresh) f->sync_begun = serial;
    file = f;
    return Ref<Inode>::share(f->inode());
  }
  return {};
}

void mark_done(FilePages& file, u64 serial) {
  LockGuard guard{list_lock};
  file.sync_done = larger(file.sync_done, serial);
}

// Takes a file that is all clean off the list. The list's reference goes at the end, without locks.
bool leave(FilePages& file) {
  Ref<Inode> last;
  if (file.has_dirty()) return false;
  {
    LockGuard files_lock{file.lock()};
    LockGuard guard{list_lock};
    if (!file.in_dirty_list) return false;
    file.in_dirty_list = false;
    DirtyList::remove(file);
    last = Ref<Inode>::adopt(&file.inode());
  }
  if (file.has_dirty()) {  // it was written to in between
    LockGuard files_lock{file.lock()};
    note(file);
    return false;
  }
  return true;
}

// `kept`: the caller's reference; the other one is the list's.
void drop_contents_if_abandoned(const Inode& kept, FilePages& file) {
  if (kept.references() == 2) file.discard_abandoned();
}

void start_all() {
  for (u64 number = 0;;) {
    FilePages* file = nullptr;
    const Ref<Inode> kept = file_at(number, file);
    if (!kept) return;
    drop_contents_if_abandoned(*kept, *file);
    (void)file->start_writes(0, runs_at_once);
    if (!leave(*file)) ++number;
  }
}

void look(TimerEvent& event) {
  start_all();
  LockGuard guard{list_lock};
  timer_runs = !files.empty();
  if (timer_runs) this_core().timers().add(event, clock::now() + period);
}

}  // namespace

void note(FilePages& file) {
  if (file.in_dirty_list) return;
  bool first = false;
  {
    LockGuard guard{list_lock};
    file.in_dirty_list = true;
    file.inode().retain();
    files.push_back(file);
    first = !timer_runs;
    timer_runs = true;
  }
  if (first) start_timer();
}

void count(i64 change) {
  dirty.fetch_add(change, Order::relaxed);
}

u64 dirty_pages() {
  const i64 pages = dirty.load(Order::relaxed);
  return pages > 0 ? static_cast<u64>(pages) : 0;
}

bool too_many() {
  return dirty_pages() > memory::total_pages() / dirty_share;
}

void drop_abandoned() {
  for (u64 number = 0;;) {
    FilePages* file = nullptr;
    const Ref<Inode> kept = file_at(number, file);
    if (!kept) return;
    drop_contents_if_abandoned(*kept, *file);
    if (!leave(*file)) ++number;
  }
}

void drop_clean(const FileSystem& of) {
  for (u64 number = 0;;) {
    FilePages* file = nullptr;
    const Ref<Inode> kept = file_at(number, file);
    if (!kept) return;
    if (&kept->file_system() != &of || !leave(*file)) ++number;
  }
}

Result<void> flush_all(u64& progress, Waiter& waiter, const FileSystem* only) {
  // progress: this sync's number, and FilePages::flush's for the file that it is at.
  constexpr u64 parts = 16;
  if (progress == 0) progress = next_sync.fetch_add(1, Order::relaxed) * parts;
  const u64 serial = progress / parts;
  for (;;) {
    FilePages* file = nullptr;
    bool fresh = false;
    const Ref<Inode> kept = file_for(serial, only, file, fresh);
    if (!kept) return {};
    u64 own = fresh ? 0 : progress % parts;
    const Result<void> flushed = file->flush(own, waiter);
    progress = serial * parts + own;
    if (!flushed.ok() && flushed.error() == Errno::blocked) return Errno::blocked;
    mark_done(*file, serial);
    progress = serial * parts;
  }
}

bool finish(void (*poll)(), Duration limit) {
  const Instant end = clock::now() + limit;
  for (;;) {
    bool left = false;
    for (u64 number = 0;;) {
      FilePages* file = nullptr;
      const Ref<Inode> kept = file_at(number, file);
      if (!kept) break;
      (void)file->start_writes(0, runs_at_once);
      if (leave(*file)) continue;  // another one has its number now
      left = true;
      ++number;
    }
    if (!left) return true;
    if (clock::now() >= end) return false;
    poll();
  }
}

}  // namespace corral::fs::write_back

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
constinit u64 next_place GUARDED_BY(list_lock) = 1;
constinit bool timer_runs GUARDED_BY(list_lock) = false;
constinit Atomic<i64> dirty{0};
alignas(TimerEvent) constinit u8 timer_storage[sizeof(TimerEvent)] = {};

// On the calling core: it looks from now on, as long as there are dirty files.
void start_timer() {
  auto* event = ::new (timer_storage) TimerEvent(look);
  this_core().timers().add(*event, clock::now() + period);
  this_core().rearm_timer();
}

// A part of the list: files come and go meanwhile, and none that stays is left out.
struct Part {
  u64 from = 0, end = 0;  // places in the list
};

Part all_of_it() {
  LockGuard guard{list_lock};
  return {0, next_place};
}

// The first file in that part, with a reference; the part begins there from now on. Null: there is none.
PassingUse first_in(Part& part, FilePages*& file, const FileSystem* only = nullptr) {
  LockGuard guard{list_lock};
  for (FilePages* f = files.front(); f != nullptr && f->place_in_list < part.end; f = files.next(*f)) {
    if (f->place_in_list < part.from || (only != nullptr && &f->inode().file_system() != only)) continue;
    part.from = f->place_in_list;
    file = f;
    return PassingUse::share(f->inode());
  }
  return {};
}

template <class Visit>
void for_each_file(const FileSystem* only, Visit&& visit) {
  for (Part part = all_of_it();; ++part.from) {
    FilePages* file = nullptr;
    const PassingUse kept = first_in(part, file, only);
    if (!kept) return;
    visit(*kept, *file);
  }
}

// Takes a file that is all clean off the list. The list's reference goes at the end, without locks.
void leave(FilePages& file) {
  PassingUse last;
  LockGuard files_lock{file.lock()};
  if (file.is_dirty() || !file.in_dirty_list) return;
  LockGuard guard{list_lock};
  last = PassingUse::adopt(file.inode());
  file.in_dirty_list = false;
  DirtyList::remove(file);
}

// `kept`: the caller's reference; the other one is the list's.
void drop_contents_if_abandoned(const Inode& kept, FilePages& file) {
  if (kept.references() == 2) file.discard_abandoned();
}

void start_all() {
  for_each_file(nullptr, [](const Inode& kept, FilePages& file) {
    drop_contents_if_abandoned(kept, file);
    (void)file.start_writes(0, runs_at_once);
    leave(file);
  });
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
    file.place_in_list = next_place++;
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
  for_each_file(nullptr, [](const Inode& kept, FilePages& file) {
    drop_contents_if_abandoned(kept, file);
    leave(file);
  });
}

void drop_clean(const FileSystem& of) {
  for_each_file(&of, [](const Inode&, FilePages& file) { leave(file); });
}

Result<void> flush_all(std::span<u64, 3> progress, Waiter& waiter, const FileSystem* only) {
  // FilePages::flush's progress is that of the file at `at`.
  u64 &at = progress[0], &end = progress[1], &own = progress[2];
  if (end == 0) end = all_of_it().end;
  for (;; ++at, own = 0) {
    Part part{at, end};
    FilePages* file = nullptr;
    const PassingUse kept = first_in(part, file, only);
    if (!kept) return {};
    if (part.from != at) own = 0;  // the one that was at has become clean
    at = part.from;
    const Result<void> flushed = file->flush(own, waiter);
    if (flushed.ok()) continue;
    const bool later = flushed.error() == Errno::enomem && only != nullptr;  // it is still to be written
    if (flushed.error() == Errno::blocked || later) return flushed.error();
  }
}

bool finish(void (*poll)(), Duration limit) {
  constexpr Duration answers_come = seconds(1);
  const Instant begin = clock::now();
  for_each_file(nullptr, [](const Inode&, FilePages& file) { file.end_mapped_writes(); });
  for (;;) {
    // Whoever cuts a file holds its pages until the server has answered, and does not go on any more.
    const bool answered = clock::now() >= begin + answers_come;
    for_each_file(nullptr, [&](const Inode&, FilePages& file) {
      if (answered) file.end_holds();
      (void)file.start_writes(0, runs_at_once);
      leave(file);
    });
    {
      LockGuard guard{list_lock};
      if (files.empty()) return true;
    }
    if (clock::now() >= begin + limit) return false;
    poll();
  }
}

}  // namespace corral::fs::write_back

// Giving up pages of files. See reclaim.h.
//
// The list is in the order in which pages came; one that was used since the last look goes to its end once more (second
// chance). The reclaimer holds the list's lock, whose rank is above files', so it only tries theirs.
#include "fs/cache/reclaim.h"

#include "memory/heap.h"
#include "memory/page_allocator.h"

namespace corral::fs::reclaim {

namespace {

using RecencyList = IntrusiveList<CachedPage, &CachedPage::recency>;

constinit SpinLock lists_lock{Rank::page_cache_lists, "recency"};
constinit RecencyList recent GUARDED_BY(lists_lock);
constinit RecencyList spare GUARDED_BY(lists_lock);  // descriptors that are in no index; their frames are gone
constinit Atomic<u64> count{0};

constexpr u64 free_share = 32;  // one page in so many is kept free
constexpr u64 step = 64;

u64 free_pages() {
  const memory::PageStatistics pages = memory::page_statistics();
  return pages.free_global + pages.free_local;
}

// Descriptors that nothing has used again.
void release_spare() {
  for (;;) {
    CachedPage* page = nullptr;
    {
      LockGuard guard{lists_lock};
      page = spare.pop_front();
    }
    if (page == nullptr) return;
    delete page;
  }
}

}  // namespace

void add(CachedPage& page) {
  LockGuard guard{lists_lock};
  recent.push_back(page);
  count.fetch_add(1, Order::relaxed);
}

void remove(CachedPage& page) {
  LockGuard guard{lists_lock};
  RecencyList::remove(page);
  count.fetch_sub(1, Order::relaxed);
}

u64 reclaim(u64 wanted) {
  if (!lists_lock.try_lock()) return 0;
  u64 freed = 0;
  // Each page is looked at twice at most: once to take its mark away.
  u64 looks = 2 * count.load(Order::relaxed);
  while (freed < wanted && looks-- > 0 && !recent.empty()) {
    CachedPage& page = *recent.pop_front();
    SpinLock& file_lock = page.file->lock();
    bool gone = false;
    if (file_lock.try_lock()) {
      page.file->lock().assert_held();
      gone = page.file->give_up(page, true);
      file_lock.unlock();
    }
    if (!gone) {
      recent.push_back(page);
      continue;
    }
    count.fetch_sub(1, Order::relaxed);
    memory::release_page(*page.frame);
    page.frame = nullptr;
    spare.push_back(page);
    ++freed;
  }
  lists_lock.unlock();
  return freed;
}

void make_room(u64 pages) {
  const u64 least = memory::total_pages() / free_share + pages;
  for (u64 rounds = 0; rounds < step && free_pages() < least; ++rounds) {
    if (reclaim(step) == 0) break;
  }
  release_spare();
}

u64 cached_pages() {
  return count.load(Order::relaxed);
}

void initialise() {
  memory::set_reclaimer(reclaim);
}

Result<CachedPage*> make_descriptor(FilePages& file, SpinLock& lock, u64 index, Frame& frame) {
  CachedPage* old = nullptr;
  {
    LockGuard guard{lists_lock};
    old = spare.pop_front();
  }
  if (old == nullptr) return memory::make<CachedPage>(file, lock, index, frame);
  old->~CachedPage();
  return ::new (old) CachedPage(file, lock, index, frame);
}

void dispose(CachedPage& page) {
  memory::release_page(*page.frame);
  delete &page;
}

}  // namespace corral::fs::reclaim

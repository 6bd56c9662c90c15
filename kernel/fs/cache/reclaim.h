// Which pages of files were used least, of all files: those are given up when memory is short.
#pragma once

#include "fs/cache/file_pages.h"

namespace corral::fs::reclaim {

void add(CachedPage& page);     // its file's lock is held
void remove(CachedPage& page);  // its file's lock is held
// Frees up to `wanted` pages that are clean and that nobody uses; answers how many. Any context, whatever locks are held.
u64 reclaim(u64 wanted);
// Before pages are added to the cache: keeps some memory free for everything else. No lock held.
void make_room(u64 pages);
[[nodiscard]] u64 cached_pages();
// Boot context: pages of files are given up when the page allocator has none.
void initialise();

// Descriptors of pages: reclaimed ones cannot go back to the heap at once. No lock held.
[[nodiscard]] Result<CachedPage*> make_descriptor(FilePages& file, SpinLock& lock, u64 index, Frame& frame);
void dispose(CachedPage& page);  // frees descriptor and page; it is in no index any more

}  // namespace corral::fs::reclaim

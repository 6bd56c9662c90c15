// Finding and reading pages of files. See file_pages.h.
#include "fs/cache/file_pages.h"

#include "fs/cache/reclaim.h"
#include "fs/cache/write_back.h"
#include "fs/transfer.h"
#include "lib/memory_functions.h"
#include "memory/page_allocator.h"
#include "trace/panic.h"

namespace corral::fs {

namespace {
constexpr u64 first_window = 4;
}

u8* PageRun::memory(u32 i) const {
  return memory::contents(*pages_[i]->frame);
}

void PageRun::finished(Result<u64> moved) {
  const PassingUse kept = std::move(inode_);  // so that the file outlives this
  if (write_) {
    file_->finish_write(*this, moved);
  } else {
    file_->finish_read(*this, std::move(moved));
  }
  delete this;
}

FilePages::~FilePages() {
  RemovedPages all;
  {
    LockGuard guard{lock_};
    take_from(0, all);
  }
  dispose_of(all);
}

u64 FilePages::size() {
  LockGuard guard{lock_};
  return size_;
}

void FilePages::set_size(u64 size) {
  LockGuard guard{lock_};
  size_ = size;
}

u64 FilePages::cuts() {
  LockGuard guard{lock_};
  return cuts_;
}

void FilePages::grow(u64 size, u64 cuts) {
  LockGuard ending{end_};
  LockGuard guard{lock_};
  if (cuts == cuts_) size_ = larger(size_, size);
}

u64 FilePages::pages_in_memory() {
  LockGuard guard{lock_};
  return page_count_;
}

bool FilePages::take_size(u64 size, Instant asked) {
  LockGuard guard{lock_};
  if (is_dirty() || written_at_ >= asked) return false;
  size_ = size;
  return true;
}

CachedPage* FilePages::find(u64 index) const {
  CachedPage* page = pages_.first_where([&](const CachedPage& p) { return p.index >= index; });
  return page != nullptr && page->index == index ? page : nullptr;
}

void FilePages::remove(CachedPage& page) {
  pages_.remove(page);
  --page_count_;
  if (page.dirty) {
    --dirty_count_;
    write_back::count(-1);
  }
  if (page.mapped_for_writing) --mapped_count_;
  page.dirty = page.mapped_for_writing = false;
}

bool FilePages::give_up(CachedPage& page, bool spare_used) {
  const bool idle = page.state != CachedPage::State::loading && !page.needs_write() && !page.writing && page.waiters.empty();
  if (!idle || page.frame->references.load(Order::acquire) != 1) return false;
  if (page.used && spare_used) {
    page.used = false;
    return false;
  }
  remove(page);
  return true;
}

void FilePages::take_from(u64 index, RemovedPages& to) {
  for (;;) {
    CachedPage* page = pages_.first_where([&](const CachedPage& p) { return p.index >= index; });
    if (page == nullptr) return;
    KERNEL_ASSERT(page->state != CachedPage::State::loading && !page->writing);
    remove(*page);
    reclaim::remove(*page);
    (void)page->waiters.wake_all();
    to.push_back(*page);
  }
}

void FilePages::dispose_of(RemovedPages& pages) {
  while (CachedPage* page = pages.pop_front()) reclaim::dispose(*page);
}

void FilePages::forget_clean() {
  u64 next = 0;
  for (;;) {
    CachedPage* page = nullptr;
    {
      LockGuard guard{lock_};
      page = pages_.first_where([&](const CachedPage& p) { return p.index >= next; });
      if (page == nullptr) return;
      next = page->index + 1;
      if (!give_up(*page, false)) continue;
      reclaim::remove(*page);
    }
    reclaim::dispose(*page);
  }
}

Result<void> FilePages::discard(u64 index, Waiter* waiter) {
  CachedPage* page = nullptr;
  {
    LockGuard guard{lock_};
    page = find(index);
    if (page == nullptr) return {};
    if (page->writing || page->state == CachedPage::State::loading) {
      if (waiter == nullptr) return Errno::eagain;
      return arrivals_.wait_uninterruptible(*waiter);
    }
    remove(*page);
    reclaim::remove(*page);
    (void)page->waiters.wake_all();
  }
  reclaim::dispose(*page);
  return {};
}

void FilePages::discard_abandoned() {
  if (!store_.abandoned()) return;
  LockGuard guard{lock_};
  for (CachedPage* page = pages_.first(); page != nullptr; page = pages_.next(*page)) {
    if (page->dirty) {
      --dirty_count_;
      write_back::count(-1);
    }
    if (page->mapped_for_writing) --mapped_count_;
    page->dirty = page->mapped_for_writing = false;
  }
}

Result<CachedPage*> FilePages::add_page(u64 index, const PagePlace& place, u64 cuts) {
  Frame& frame = *TRY(memory::allocate_page(memory::Zero::no));
  Result<CachedPage*> made = reclaim::make_descriptor(*this, lock_, index, frame);
  if (!made.ok()) {
    memory::release_page(frame);
    return made.error();
  }
  CachedPage* page = made.value();
  page->place = place;
  {
    LockGuard guard{lock_};
    if (find(index) == nullptr && cuts == cuts_) {
      pages_.insert(*page);
      ++page_count_;
      reclaim::add(*page);
      return page;
    }
  }
  reclaim::dispose(*page);
  return static_cast<CachedPage*>(nullptr);
}

u64 FilePages::window(u64 index) {
  window_ = index == expected_ ? smaller(larger(window_ * 2, first_window * 2), PageRun::most_pages) : first_window;
  const u64 end = round_up(size_, page_size) / page_size;
  u64 count = index < end ? smaller(window_, end - index) : 1;
  const CachedPage* next = pages_.first_where([&](const CachedPage& p) { return p.index > index; });
  if (next != nullptr) count = smaller(count, next->index - index);
  expected_ = index + count;
  return count;
}

Result<void> FilePages::start_reading(u64 index, Waiter* waiter) {
  u64 wanted = 0, cuts = 0;
  {
    LockGuard guard{lock_};
    wanted = window(index);
    cuts = cuts_;
  }
  const Store::Extent extent = TRY(store_.find(index, wanted, waiter));
  const u64 count = smaller(larger(extent.count, 1), wanted);
  reclaim::make_room(count);
  PageRun* run = store_.make_run();
  if (run == nullptr) return Errno::enomem;
  Errno error{};
  for (u64 i = 0; i < count; ++i) {
    const PagePlace place = extent.place.nowhere() ? PagePlace{} : store_.behind(extent.place, i);
    const Result<CachedPage*> page = add_page(index + i, place, cuts);
    if (!page.ok()) error = page.error();
    if (!page.ok() || page.value() == nullptr) break;  // a shorter run, if it has begun
    run->places_[run->count_] = place;
    run->pages_[run->count_++] = page.value();
  }
  if (run->count_ == 0) {
    delete run;
    if (error != Errno{}) return error;
    return {};  // somebody else reads it, or it is to be found again
  }
  run->inode_ = PassingUse::share(inode_);
  run->file_ = this;
  run->bytes_ = run->count_ * page_size;
  store_.start(*run);
  return {};
}

Result<Frame*> FilePages::obtain(u64 index, Waiter* waiter) {
  for (;;) {
    CachedPage* broken = nullptr;
    {
      LockGuard guard{lock_};
      CachedPage* page = find(index);
      if (page != nullptr && page->state == CachedPage::State::valid) {
        page->used = true;
        memory::share_page(*page->frame);
        return page->frame;
      }
      if (page != nullptr && page->state == CachedPage::State::loading) {
        if (waiter == nullptr) return Errno::eagain;
        return page->waiters.wait_uninterruptible(*waiter);
      }
      if (page != nullptr) {  // it could not be read: this one is told, the next one tries again
        remove(*page);
        reclaim::remove(*page);
        (void)page->waiters.wake_all();
        broken = page;
      }
    }
    if (broken != nullptr) {
      const Errno error = broken->error;
      reclaim::dispose(*broken);
      return error;
    }
    TRY(start_reading(index, waiter));
  }
}

void FilePages::finish_read(PageRun& run, Result<u64> moved) {
  if (moved.ok()) {
    for (u32 i = 0; i < run.count_; ++i) {
      const u64 start = i * page_size;
      const u64 there = moved.value() > start ? smaller(moved.value() - start, page_size) : 0;
      memset(run.memory(i) + there, 0, page_size - there);
    }
  }
  LockGuard guard{lock_};
  for (u32 i = 0; i < run.count_; ++i) {
    CachedPage& page = *run.pages_[i];
    page.state = moved.ok() ? CachedPage::State::valid : CachedPage::State::failed;
    if (!moved.ok()) page.error = moved.error();
    (void)page.waiters.wake_all();
  }
  (void)arrivals_.wake_all();
}

Result<u64> FilePages::read(u64 offset, Transfer& transfer, u64 at, u64 size, Waiter* waiter) {
  u64 done = 0;
  while (done < size) {
    const u64 place = offset + done;
    const u64 in_page = place % page_size;
    u64 now = smaller(size - done, page_size - in_page);
    {
      LockGuard guard{lock_};
      if (place >= size_) break;
      now = smaller(now, size_ - place);
    }
    // What is there is handed over before anything is waited for.
    const Result<Frame*> frame = obtain(place / page_size, done == 0 ? waiter : nullptr);
    if (!frame.ok()) {
      if (done == 0) return frame.error();
      break;
    }
    const Result<void> copied = transfer.put(at + done, memory::contents(*frame.value()) + in_page, now);
    memory::release_page(*frame.value());
    if (!copied.ok()) {
      if (done == 0 || copied.error() == Errno::blocked) return copied.error();
      break;
    }
    done += now;
  }
  return done;
}

Result<Frame*> FilePages::page(u64 index, Waiter* waiter) {
  {
    LockGuard guard{lock_};
    if (index >= round_up(size_, page_size) / page_size) return Errno::efault;
  }
  return obtain(index, waiter);
}

void FilePages::pages_at_hand(u64 first, std::span<Frame*> frames) {
  LockGuard guard{lock_};
  const u64 end = round_up(size_, page_size) / page_size;
  for (u64 i = 0; i < frames.size(); ++i) {
    CachedPage* page = first + i < end ? find(first + i) : nullptr;
    const bool here = page != nullptr && page->state == CachedPage::State::valid;
    frames[i] = here ? page->frame : nullptr;
    if (!here) continue;
    page->used = true;
    memory::share_page(*page->frame);
  }
}

bool FilePages::busy_from(u64 index) const {
  const CachedPage* page = pages_.first_where([&](const CachedPage& p) { return p.index >= index; });
  for (; page != nullptr; page = pages_.next(*page)) {
    if (page->writing || page->state == CachedPage::State::loading) return true;
  }
  return false;
}

Result<Frame*> FilePages::hold_end(u64 size, Waiter* waiter) {
  TRY(extend_mapped_end(size, waiter));
  {
    LockGuard guard{lock_};
    if (size >= size_ || size % page_size == 0) return static_cast<Frame*>(nullptr);
  }
  return obtain(size / page_size, waiter);
}

Result<void> FilePages::truncate(u64 size, Waiter& waiter) {
  Frame* last = nullptr;
  RemovedPages gone;
  {
    LockGuard guard{lock_};
    if (size < size_ && busy_from(size / page_size)) return arrivals_.wait_uninterruptible(waiter);
    if (size < size_) ++cuts_;
    if (size < size_ && size % page_size != 0) {
      if (CachedPage* page = find(size / page_size); page != nullptr && page->state == CachedPage::State::valid) {
        last = page->frame;
        memory::share_page(*last);
        page->place = store_.cut(page->place, static_cast<u32>(size % page_size));
      }
    }
    // At once, so that none of them comes to be under way.
    if (size < size_) take_from(round_up(size, page_size) / page_size, gone);
    size_ = size;
  }
  if (last != nullptr) {  // bytes behind the end are zero if the file grows again
    memset(memory::contents(*last) + size % page_size, 0, page_size - size % page_size);
    memory::release_page(*last);
  }
  dispose_of(gone);
  return {};
}

}  // namespace corral::fs

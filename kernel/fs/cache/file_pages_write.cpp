// Writing into pages of files, and bringing them to where the files are. See file_pages.h.
#include "device/clock.h"
#include "fs/cache/file_pages.h"
#include "fs/cache/reclaim.h"
#include "fs/cache/write_back.h"
#include "fs/transfer.h"
#include "lib/memory_functions.h"
#include "memory/page_allocator.h"
#include "trace/log.h"

namespace corral::fs {

namespace {
constexpr u64 largest_file = u64{1} << 62;
}

void FilePages::note_dirty(CachedPage& page) {
  if (!page.dirty) {
    page.dirty = true;
    ++dirty_count_;
    write_back::count(1);
  }
  page.used = true;
  write_back::note(*this);
}

Result<void> FilePages::give_place(u64 index, u32 from, u32 to, Waiter* waiter) {
  for (;;) {
    u64 cuts = 0;
    {
      LockGuard guard{lock_};
      const CachedPage* page = find(index);
      if (page == nullptr || store_.holds(page->place, from, to)) return {};
      cuts = cuts_;
    }
    const PagePlace place = TRY(store_.reserve(index, from, to, waiter));
    LockGuard guard{lock_};
    CachedPage* page = find(index);
    if (page == nullptr) return {};
    if (cuts != cuts_) continue;  // the place may have been given back since
    page->place = place;
    if (page->state == CachedPage::State::valid) note_dirty(*page);  // what is kept at a new place is not what the page has
    return {};
  }
}

Result<void> FilePages::extend_mapped_end(u64 size, Waiter* waiter) {
  u64 index = 0;
  u32 bytes = 0;
  {
    LockGuard guard{lock_};
    index = size_ / page_size;
    if (size <= size_ || size_ % page_size == 0 || mapped_count_ == 0) return {};
    const CachedPage* page = find(index);
    if (page == nullptr || !page->mapped_for_writing) return {};
    bytes = static_cast<u32>(smaller(size - index * page_size, page_size));
  }
  return give_place(index, 0, bytes, waiter);
}

Result<bool> FilePages::write_into(const Piece& piece, Frame& frame) {
  u8* to = memory::contents(frame) + piece.in_page;
  const Result<void> copied = piece.transfer.get(piece.at, to, piece.bytes);
  LockGuard guard{lock_};
  const u64 end = piece.offset() + piece.bytes;
  if (piece.cuts != cuts_) return Errno::estale;
  if (!copied.ok()) {
    if (end > size_) {  // what may have been copied lies behind the end, which this writer holds: bytes there are zero
      const u64 first = larger(piece.offset(), size_);
      memset(to + (first - piece.offset()), 0, end - first);
    }
    return copied.error();
  }
  CachedPage* page = find(piece.index);
  if (page == nullptr || page->frame != &frame) return true;  // discarded meanwhile
  const u32 from = static_cast<u32>(piece.in_page);
  if (!store_.holds(page->place, from, from + static_cast<u32>(piece.bytes))) return false;
  size_ = larger(size_, end);
  note_dirty(*page);
  return true;
}

Result<void> FilePages::write_new_page(const Piece& piece, Waiter* waiter) {
  reclaim::make_room(1);
  CachedPage* page = TRY(add_page(piece.index, {}, piece.cuts));
  if (page == nullptr) {
    LockGuard guard{lock_};
    return piece.cuts != cuts_ ? Errno::estale : Errno::eexist;
  }
  // Until it is valid the page is this writer's: others wait for it.
  u8* memory = memory::contents(*page->frame);
  memset(memory, 0, piece.in_page);
  memset(memory + piece.in_page + piece.bytes, 0, page_size - piece.in_page - piece.bytes);
  Errno error = piece.transfer.get(piece.at, memory + piece.in_page, piece.bytes).error();
  PagePlace place;
  if (error == Errno{}) {  // last, so that nothing that has been given a place is without contents
    const u32 from = static_cast<u32>(piece.in_page);
    const Result<PagePlace> reserved = store_.reserve(piece.index, from, from + static_cast<u32>(piece.bytes), waiter);
    if (reserved.ok()) {
      place = reserved.value();
    } else {
      error = reserved.error();
    }
  }
  {
    LockGuard guard{lock_};
    (void)page->waiters.wake_all();
    (void)arrivals_.wake_all();
    if (error == Errno{}) {
      page->place = place;
      page->state = CachedPage::State::valid;
      size_ = larger(size_, piece.offset() + piece.bytes);  // who cuts the file waits for this page
      note_dirty(*page);
      if (piece.cuts != cuts_) return Errno::estale;
      return {};
    }
    remove(*page);
    reclaim::remove(*page);
  }
  reclaim::dispose(*page);
  return error;
}

Result<void> FilePages::write_piece(const Piece& piece, Waiter* waiter) {
  for (;;) {
    bool whole = false;
    {
      LockGuard guard{lock_};
      const u64 start = piece.index * page_size;
      const bool to_the_end = piece.in_page == 0 && start + piece.bytes >= size_;
      whole = find(piece.index) == nullptr && (piece.bytes == page_size || to_the_end || start >= size_);
    }
    if (whole) {
      const Result<void> written = write_new_page(piece, waiter);
      if (!written.ok() && written.error() == Errno::eexist) continue;
      return written;
    }
    Frame& frame = *TRY(obtain(piece.index, waiter));
    const u32 from = static_cast<u32>(piece.in_page);
    const Result<void> placed = give_place(piece.index, from, from + static_cast<u32>(piece.bytes), waiter);
    const Result<bool> written = placed.ok() ? write_into(piece, frame) : Result<bool>{placed.error()};
    memory::release_page(frame);
    if (!written.ok()) return written.error();
    if (written.value()) return {};
  }
}

Result<void> FilePages::hold_back(Waiter* waiter) {
  if (waiter == nullptr || !write_back::too_many()) return {};
  (void)start_writes(0, ~u32{0});
  LockGuard guard{lock_};
  if (writing_count_ == 0) return {};  // it is others that have made so many
  return arrivals_.wait_uninterruptible(*waiter);
}

Result<u64> FilePages::write_pieces(u64 offset, Transfer& transfer, u64 at, u64 size, Place where, Waiter* waiter) {
  if (offset >= largest_file) return Errno::efbig;
  size = smaller(size, largest_file - offset);
  u64 cuts = 0;
  {
    LockGuard guard{lock_};
    if (where == Place::inside && offset + size > size_) return Errno::erange;
    cuts = cuts_;
  }
  TRY(hold_back(waiter));
  TRY(extend_mapped_end(offset + size, waiter));
  u64 done = 0;
  while (done < size) {
    const u64 place = offset + done;
    const u64 in_page = place % page_size;
    const u64 bytes = smaller(size - done, page_size - in_page);
    Waiter* const waits = done == 0 || where != Place::behind_end ? waiter : nullptr;
    const Result<void> written = write_piece({transfer, at + done, cuts, place / page_size, in_page, bytes}, waits);
    if (!written.ok()) {
      if (done == 0 || written.error() == Errno::blocked || written.error() == Errno::estale) return written.error();
      break;  // what has been written is the answer
    }
    done += bytes;
  }
  return done;
}

void FilePages::clear_behind_end(u64 to) {
  LockGuard guard{lock_};
  const u64 first = size_ / page_size;
  CachedPage* page = pages_.first_where([&](const CachedPage& p) { return p.index >= first; });
  for (; page != nullptr && page->index * page_size < to; page = pages_.next(*page)) {
    if (page->state != CachedPage::State::valid) continue;
    const u64 start = page->index * page_size;
    const u64 from = size_ > start ? size_ - start : 0;
    memset(memory::contents(*page->frame) + from, 0, page_size - from);
  }
}

Result<u64> FilePages::write(u64 offset, Transfer& transfer, u64 at, u64 size, Waiter* waiter) {
  Result<u64> done = write_pieces(offset, transfer, at, size, Place::inside, waiter);
  if (done.ok() || (done.error() != Errno::estale && done.error() != Errno::erange)) return done;
  LockGuard guard{end_};
  if (done.error() == Errno::estale) clear_behind_end(offset + size);  // of what was copied there before
  return write_pieces(offset, transfer, at, size, Place::end_is_held, waiter);
}

Result<u64> FilePages::append(Transfer& transfer, u64 at, u64 size, u64& end, Waiter* waiter) {
  LockGuard guard{end_};
  const u64 start = FilePages::size();
  Result<u64> done = write_pieces(start, transfer, at, size, Place::behind_end, waiter);
  if (done.ok()) {
    end = start + done.value();
  } else {
    // It is all written again after the wait (of the transfer, if some of it was written), wherever the end is by then.
    {
      LockGuard size_guard{lock_};
      size_ = start;
    }
    clear_behind_end(start + size);
  }
  return done;
}

void FilePages::wrote(u64 index) {
  LockGuard guard{lock_};
  CachedPage* page = find(index);
  if (page != nullptr && page->state == CachedPage::State::valid) note_dirty(*page);
}

Result<void> FilePages::prepare_write(u64 index, Waiter& waiter) {
  for (;;) {
    const u64 end = size();
    const u64 bytes = end > index * page_size ? smaller(end - index * page_size, page_size) : 0;
    TRY(give_place(index, 0, static_cast<u32>(bytes), &waiter));
    LockGuard guard{lock_};
    CachedPage* page = find(index);
    if (page == nullptr || page->state != CachedPage::State::valid) return Errno::eio;  // cut off
    if (end != size_) continue;
    if (!page->mapped_for_writing) {
      page->mapped_for_writing = true;
      ++mapped_count_;
    }
    write_back::note(*this);
    return {};
  }
}

void FilePages::hold_writes() {
  LockGuard guard{lock_};
  ++holders_;
}

void FilePages::resume_writes() {
  LockGuard guard{lock_};
  if (--holders_ == 0) (void)arrivals_.wake_all();
}

u64 FilePages::start_writes(u64 first, u32 most) {
  for (u32 started = 0; started < most; ++started) {
    PageRun* run = store_.make_run();
    if (run == nullptr) return first;
    bool held = false;
    {
      LockGuard guard{lock_};
      const auto ready = [](const CachedPage& p) {
        return p.needs_write() && !p.writing && p.state == CachedPage::State::valid;
      };
      held = holders_ != 0;
      CachedPage* page = held ? nullptr : pages_.first_where([&](const CachedPage& p) { return p.index >= first; });
      while (page != nullptr && !ready(*page)) page = pages_.next(*page);
      while (page != nullptr && run->count_ < PageRun::most_pages && ready(*page)) {
        const u32 n = run->count_;
        if (n > 0 && (page->index != run->pages_[n - 1]->index + 1 || page->place != store_.behind(run->places_[n - 1], 1)))
          break;
        if (page->dirty) {
          --dirty_count_;
          write_back::count(-1);
        }
        page->dirty = false;
        // The cache's own reference is the last: no mapping can write any more.
        if (page->mapped_for_writing && page->frame->references.load(Order::acquire) == 1) {
          page->mapped_for_writing = false;
          --mapped_count_;
        }
        page->writing = true;
        ++writing_count_;
        run->places_[n] = page->place;
        run->pages_[run->count_++] = page;
        first = page->index + 1;
        page = pages_.next(*page);
      }
      if (run->count_ > 0) {
        run->inode_ = PassingUse::share(inode_);
        run->file_ = this;
        run->write_ = true;
        run->bytes_ = smaller(run->count_ * page_size, size_ > run->offset() ? size_ - run->offset() : 0);
      }
    }
    if (run->count_ == 0) {
      delete run;
      return held ? held_back : none_left;
    }
    store_.start(*run);
  }
  return first;
}

// As on Linux the pages count as written, and whoever synchronises is told.
void FilePages::finish_write(PageRun& run, const Result<u64>& moved) {
  if (!moved.ok() || moved.value() < run.bytes_) {
    const Errno error = moved.ok() ? Errno::eio : moved.error();
    inode_.file_system().data_errors.note(error);
    if (errors_.note(error)) {
      log::error("files: {} bytes at {} of file {} ({}) could not be written (error {})", run.bytes_, run.offset(),
                 inode_.attributes().inode, inode_.file_system().type(), error);
    }
  }
  LockGuard guard{lock_};
  for (u32 i = 0; i < run.count_; ++i) {
    run.pages_[i]->writing = false;
    --writing_count_;
  }
  written_at_ = clock::now();
  (void)arrivals_.wake_all();
}

Result<void> FilePages::settle(Waiter& waiter) {
  LockGuard guard{lock_};
  if (writing_count_ == 0) return {};
  return arrivals_.wait_uninterruptible(waiter);
}

Result<void> FilePages::flush(u64& progress, Waiter& waiter) {
  // Two passes: pages that were on their way at the beginning may have been written to since.
  constexpr u64 passes = 2;
  while (progress < passes) {
    const u64 left = start_writes(0, ~u32{0});
    if (left == none_left) ++progress;
    LockGuard guard{lock_};
    if (writing_count_ != 0 || holders_ != 0) return arrivals_.wait_uninterruptible(waiter);
    if (left != none_left && left != held_back) return Errno::enomem;
  }
  LockGuard guard{lock_};
  // Others may have more under way by now; what there was at the beginning has arrived when the second pass has.
  if (writing_count_ != 0) return arrivals_.wait_uninterruptible(waiter);
  return {};
}

void FilePages::end_mapped_writes() {
  LockGuard guard{lock_};
  for (CachedPage* page = pages_.first(); page != nullptr; page = pages_.next(*page)) {
    if (!page->mapped_for_writing) continue;
    page->mapped_for_writing = false;
    --mapped_count_;
    note_dirty(*page);
  }
}

void FilePages::end_holds() {
  LockGuard guard{lock_};
  holders_ = 0;
}

}  // namespace corral::fs

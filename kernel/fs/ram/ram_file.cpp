// Regular files in memory. See ram_file.h.
#include "fs/ram/ram_file.h"

#include "fs/inode_backing.h"
#include "fs/positioned_file.h"
#include "fs/seals.h"
#include "fs/transfer.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"

namespace corral::fs {

namespace {

constexpr u8 zeros[page_size] = {};

// A file's pages as mappings see them.
class RamBacking final : public InodeBacking {
 public:
  RamBacking(RamFile& file, bool writable) : InodeBacking{file}, file_{file}, writable_{writable} {}
  ~RamBacking() override {
    if (writable_) file_.end_writable_mapping();
  }
  Result<Frame*> page(u64 index) override { return file_.page(index); }
  void pages_at_hand(u64 first, std::span<Frame*> frames) override { file_.pages_at_hand(first, frames); }

 private:
  RamFile& file_;  // the inode
  const bool writable_;  // counted by the file
};

}  // namespace

RamFile::~RamFile() {
  LockGuard guard{data_};
  ram().discharge(remove_pages_from(0));
}

void RamFile::set_origin(std::span<const u8> contents) {
  LockGuard guard{data_};
  origin_ = contents;
  uncounted_ = round_up(contents.size(), page_size) / page_size;
  size_ = contents.size();
}

u64 RamFile::size_now() {
  LockGuard guard{data_};
  return size_;
}

u64 RamFile::pages_now() {
  LockGuard guard{data_};
  return larger(page_count_, round_up(origin_.size(), page_size) / page_size);
}

u64 RamFile::remove_pages_from(u64 index) {
  const u64 counted = pages_.remove_from(larger(index, uncounted_));
  const u64 copies = pages_.remove_from(index);
  ram().forget_copies(copies);
  page_count_ -= counted + copies;
  return counted;
}

Result<Frame*> RamFile::obtain(u64 index) {
  if (Frame* frame = pages_.find(index)) return frame;
  const bool counted = index >= uncounted_;
  if (counted) TRY(ram().charge_page());
  const u64 start = index * page_size;
  const u64 from_origin = start < origin_.size() ? smaller(page_size, origin_.size() - start) : 0;
  const Result<Frame*> made = memory::allocate_page(from_origin == page_size ? memory::Zero::no : memory::Zero::yes);
  if (!made.ok()) {
    ram().discharge(counted ? 1 : 0);
    return made.error();
  }
  Frame& frame = *made.value();
  if (from_origin > 0) memcpy(memory::contents(frame), origin_.data() + start, from_origin);
  if (const Result<void> put = pages_.insert(index, frame); !put.ok()) {
    memory::release_page(frame);
    ram().discharge(counted ? 1 : 0);
    return put.error();
  }
  ++page_count_;
  if (!counted) ram().count_copy();
  return &frame;
}

Result<Frame*> RamFile::page(u64 index) {
  LockGuard guard{data_};
  if (index >= round_up(size_, page_size) / page_size) return Errno::efault;
  const Result<Frame*> found = obtain(index);
  if (!found.ok()) return Errno::enomem;
  memory::share_page(*found.value());
  return found.value();
}

void RamFile::pages_at_hand(u64 first, std::span<Frame*> frames) {
  LockGuard guard{data_};
  const u64 end = round_up(size_, page_size) / page_size;
  for (u64 i = 0; i < frames.size(); ++i) {
    frames[i] = first + i < end ? pages_.find(first + i) : nullptr;
    if (frames[i] != nullptr) memory::share_page(*frames[i]);
  }
}

Result<u64> RamFile::read(u64 offset, Transfer& transfer, u64 at, u64 size) {
  u64 done = 0;
  while (done < size) {
    const u64 place = offset + done;
    const u64 in_page = place & (page_size - 1);
    u64 now = smaller(size - done, page_size - in_page);
    const u8* from = zeros;
    Frame* held = nullptr;
    {
      LockGuard guard{data_};
      if (place >= size_) break;
      now = smaller(now, size_ - place);
      held = pages_.find(place / page_size);
      if (held != nullptr) {
        memory::share_page(*held);
        from = memory::contents(*held) + in_page;
      } else if (place < origin_.size()) {
        now = smaller(now, origin_.size() - place);
        from = origin_.data() + place;
      }
    }
    const Result<void> copied = transfer.put(at + done, from, now);
    if (held != nullptr) memory::release_page(*held);
    if (!copied.ok()) {
      if (copied.error() == Errno::blocked || done == 0) return copied.error();
      break;
    }
    done += now;
  }
  return done;
}

Result<u64> RamFile::write(u64 offset, Transfer& transfer, u64 at, u64 size) {
  if (offset >= max_size) return Errno::efbig;
  size = smaller(size, max_size - offset);
  Result<u64> done = write_pages(offset, transfer, at, size, Place::inside);
  if (done.ok() || (done.error() != Errno::estale && done.error() != Errno::erange)) return done;
  LockGuard guard{end_};
  if (done.error() == Errno::estale) clear_behind_end(offset + size);  // of what was copied there before
  return write_pages(offset, transfer, at, size, Place::end_is_held);
}

void RamFile::clear_behind_end(u64 to) {
  LockGuard guard{data_};
  for (u64 at = size_; at < to; at = round_down(at, page_size) + page_size) {
    if (Frame* page = pages_.find(at / page_size); page != nullptr) {
      memset(memory::contents(*page) + at % page_size, 0, page_size - at % page_size);
    }
  }
}

Result<u64> RamFile::write_pages(u64 offset, Transfer& transfer, u64 at, u64 size, Place where) {
  u64 cuts = 0;
  {
    LockGuard guard{data_};
    if (where == Place::inside && offset + size > size_) return Errno::erange;
    cuts = cuts_;
  }
  u64 done = 0;
  Errno error{};
  while (done < size) {
    const u64 place = offset + done;
    const u64 in_page = place & (page_size - 1);
    const u64 now = smaller(size - done, page_size - in_page);
    Frame* held = nullptr;
    {
      LockGuard guard{data_};
      const u32 seals = seals_.load(Order::relaxed);
      if ((seals & seals_against_writing) != 0 || ((seals & seal_grow) != 0 && place + now > size_)) {
        error = Errno::eperm;
        break;
      }
      const Result<Frame*> found = obtain(place / page_size);
      if (!found.ok()) {
        error = found.error();
        break;
      }
      held = found.value();
      memory::share_page(*held);
    }
    u8* to = memory::contents(*held) + in_page;
    const Result<void> copied = transfer.get(at + done, to, now);
    bool cut = false;
    {
      LockGuard guard{data_};
      cut = cuts != cuts_;
      if (copied.ok() && !cut) {
        size_ = larger(size_, place + now);
      } else if (!cut && place + now > size_) {
        // What may have been copied lies beyond the end, which is held: bytes there are zero.
        const u64 first = larger(place, size_);
        memset(to + (first - place), 0, place + now - first);
      }
    }
    memory::release_page(*held);
    if (cut) return Errno::estale;
    if (!copied.ok()) {
      error = copied.error();
      break;
    }
    done += now;
  }
  if (done > 0) touch_modified();
  if (error != Errno{} && (done == 0 || error == Errno::blocked)) return error;
  return done;
}

Result<u64> RamFile::append(Transfer& transfer, u64 at, u64 size, u64& end) {
  LockGuard guard{end_};
  const u64 start = size_now();
  if (start >= max_size) return Errno::efbig;
  const Result<u64> done = write_pages(start, transfer, at, smaller(size, max_size - start), Place::end_is_held);
  if (!done.ok()) {
    if (done.error() == Errno::blocked && size_now() > start) (void)set_end(start);  // it is all written again after the wait
    return done.error();
  }
  end = start + done.value();
  return done.value();
}

Result<void> RamFile::resize(u64 size) {
  if (size > max_size) return Errno::efbig;
  LockGuard guard{end_};
  return set_end(size);
}

Result<void> RamFile::set_end(u64 size) {
  u64 freed = 0;
  {
    LockGuard guard{data_};
    const u32 seals = seals_.load(Order::relaxed);
    if ((size < size_ && (seals & seal_shrink) != 0) || (size > size_ && (seals & seal_grow) != 0)) return Errno::eperm;
    if (size < size_) {
      ++cuts_;
      freed = remove_pages_from(round_up(size, page_size) / page_size);
      if (size < origin_.size()) origin_ = origin_.first(size);
      if (Frame* last = pages_.find(size / page_size); last != nullptr && size % page_size != 0) {
        memset(memory::contents(*last) + size % page_size, 0, page_size - size % page_size);
      }
    }
    size_ = size;
  }
  ram().discharge(freed);
  touch_modified();
  return {};
}

Result<Ref<vm::Backing>> RamFile::backing() {
  return Ref<vm::Backing>{Ref<RamBacking>::adopt(TRY(memory::make<RamBacking>(*this, false)))};
}

Result<Ref<vm::Backing>> RamFile::writable_backing() {
  TRY(begin_writable_mapping());
  const Result<RamBacking*> made = memory::make<RamBacking>(*this, true);
  if (!made.ok()) {
    end_writable_mapping();
    return made.error();
  }
  return Ref<vm::Backing>{Ref<RamBacking>::adopt(made.value())};
}

Result<Ref<OpenFile>> RamFile::open(const OpenRequest& request) {
  return Ref<OpenFile>{Ref<PositionedFile>::adopt(TRY(memory::make<PositionedFile>(Ref<Inode>::share(*this), request.flags)))};
}

}  // namespace corral::fs

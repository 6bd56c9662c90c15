// Regular files of an ext2 file system: their pages, and where those are. See node.h.
#include "fs/ext2/block_run.h"
#include "fs/ext2/file_system.h"
#include "fs/positioned_file.h"
#include "fs/step_memory.h"
#include "fs/transfer.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/thread.h"

namespace corral::fs::ext2 {

namespace {

class FrameHold {
 public:
  explicit FrameHold(Frame* frame) : frame_{frame} {}
  FrameHold(const FrameHold&) = delete;
  FrameHold& operator=(const FrameHold&) = delete;
  ~FrameHold() {
    if (frame_ != nullptr) memory::release_page(*frame_);
  }
  [[nodiscard]] bool held() const { return frame_ != nullptr; }

 private:
  Frame* frame_;
};

}  // namespace

FileNode::FileNode(Ext2FileSystem& file_system, InodeBlock inode, Orphan& orphan)
    : Node{file_system, std::move(inode), orphan}, pages_{*this, *this} {
  pages_.set_size(record().size());
}

FileNode::~FileNode() {
  if (keep_ == nothing) return;
  LockGuard guard{ext2().lock()};
  (void)ext2().volume(nullptr).damaged("blocks behind a file's end cannot be given back", number);
}

u32 FileNode::block_size() const {
  return ext2().geometry().block_size;
}

Attributes FileNode::attributes() {
  Attributes answer = Node::attributes();
  answer.size = pages_.size();
  return answer;
}

// ---- FilePages::Store ------------------------------------------------------------------------------------------------

PagePlace FileNode::behind(const PagePlace& place, u64 pages) const {
  PagePlace next;
  for (u32 i = 0; i < parts(); ++i) {
    const u32 block = block_in(place, i);
    if (block != 0) set_block(next, i, block + static_cast<u32>(pages) * parts());
  }
  return next;
}

bool FileNode::holds(const PagePlace& place, u32 from, u32 to) const {
  for (u32 at = from; at < to; at += block_size() - at % block_size()) {
    if (block_in(place, at / block_size()) == 0) return false;
  }
  return true;
}

PagePlace FileNode::cut(const PagePlace& place, u32 bytes) const {
  PagePlace kept = place;
  for (u32 i = (bytes + block_size() - 1) / block_size(); i < parts(); ++i) set_block(kept, i, 0);
  return kept;
}

Result<FilePages::Store::Extent> FileNode::find(u64 index, u64 count, Waiter* waiter) {
  LockGuard guard{ext2().lock()};
  Extent extent{{}, 0};
  PagePlace expected;
  for (; extent.count < count; ++extent.count) {
    PagePlace place;
    // Only the first page is worth a wait.
    Volume& volume = ext2().volume(extent.count == 0 ? waiter : nullptr);
    for (u32 i = 0; i < parts(); ++i) {
      const Result<u32> block = volume.block_of(number, (index + extent.count) * parts() + i);
      if (!block.ok()) {
        if (extent.count > 0) return extent;
        return block.error();
      }
      set_block(place, i, block.value());
    }
    if (extent.count == 0) {
      extent.place = place;
    } else if (place != expected) {
      break;
    }
    expected = place.nowhere() ? place : behind(place, 1);
  }
  return extent;
}

Result<PagePlace> FileNode::reserve(u64 index, u32 from, u32 to, Waiter* waiter) {
  const u32 size = block_size();
  u32 wanted = 0;
  for (u32 i = 0; i < parts(); ++i) {
    if (i * size < to && (i + 1) * size > from) wanted |= 1u << i;
  }
  return ext2().with_room(waiter, [&]() -> Result<PagePlace> {
    for (;;) {
      TRY(shorten(waiter));
      LockGuard guard{ext2().lock()};
      if (!is_whole()) continue;  // begun just now
      u32 blocks[most_parts] = {};
      TRY(ext2().volume(waiter).make_blocks(number, index * parts(), wanted, {blocks, parts()}));
      PagePlace place;
      for (u32 i = 0; i < parts(); ++i) set_block(place, i, blocks[i]);
      return place;
    }
  });
}

PageRun* FileNode::make_run() {
  return new (std::nothrow) BlockRun(ext2().disk().device(), block_size(), parts(), true);
}

void FileNode::start(PageRun& run) {
  static_cast<BlockRun&>(run).send();
}

// ---- Inode -----------------------------------------------------------------------------------------------------------

// The inode tells the size, as the pages have it by now.
void FileNode::note_written() {
  const i64 now = wall_time_ns();
  LockGuard guard{ext2().lock()};
  (void)ext2().volume(nullptr).set_size(number, pages_.size(), now);  // what it needs is in memory
}

Result<u64> FileNode::read(u64 offset, Transfer& transfer, u64 at, u64 size) {
  return pages_.read(offset, transfer, at, size, &stepping_thread());
}

Result<u64> FileNode::write(u64 offset, Transfer& transfer, u64 at, u64 size) {
  const u64 limit = ext2().geometry().largest_file();
  if (size > 0 && offset >= limit) return Errno::efbig;
  const u64 before = pages_.size();
  Result<u64> done = pages_.write(offset, transfer, at, smaller(size, limit - offset), &stepping_thread());
  if (done.ok() || pages_.size() > before) note_written();  // blocks behind the end are those of nobody
  return done;
}

Result<u64> FileNode::append(Transfer& transfer, u64 at, u64 size, u64& end) {
  const u64 limit = ext2().geometry().largest_file();
  const u64 now = pages_.size();
  if (size > 0 && now >= limit) return Errno::efbig;
  const u64 done = TRY(pages_.append(transfer, at, smaller(size, limit - smaller(now, limit)), end, &stepping_thread()));
  note_written();
  return done;
}

bool FileNode::is_whole() const {
  return keep_ == nothing;
}

Result<bool> FileNode::finish_shortening(Waiter* waiter) {
  ext2().lock().assert_held();
  if (is_whole()) return true;
  if (!TRY(ext2().volume(waiter).shorten(number, keep_))) return false;
  keep_ = nothing;
  return true;
}

// Whoever comes by helps.
Result<void> FileNode::shorten(Waiter* waiter) {
  for (;;) {
    LockGuard guard{ext2().lock()};
    if (is_whole()) return {};
    if (waiter == nullptr) return Errno::eagain;
    if (TRY(finish_shortening(waiter))) return {};
  }
}

Result<void> FileNode::resize(u64 size) {
  if (ext2().read_only()) return Errno::erofs;
  if (size > ext2().geometry().largest_file()) return Errno::efbig;
  Thread& thread = stepping_thread();
  TRY(shorten(&thread));
  const FrameHold end{TRY(pages_.hold_end(size, &thread))};
  const i64 now = wall_time_ns();
  {
    // At once, so that nobody takes a block behind the new end before those there are given back.
    LockGuard ending{pages_.end_lock()};
    LockGuard guard{ext2().lock()};
    if (!is_whole()) return pause_step(thread);
    const bool shorter = size < pages_.size();
    TRY(pages_.truncate(size, thread));
    // What the page had behind the end is not to be seen again when the file grows.
    if (end.held()) pages_.wrote(size / page_size);
    if (shorter) keep_ = (size + block_size() - 1) / block_size();
    TRY(ext2().volume(&thread).set_size(number, size, now));
  }
  return shorten(&thread);
}

Result<void> FileNode::sync(u64& progress) {
  constexpr u64 flushed = 16;
  if (progress < flushed) {
    TRY(pages_.flush(progress, stepping_thread()));
    progress = flushed;
  }
  u64 rest = progress - flushed;
  const Result<void> done = ext2().sync(rest);
  progress = flushed + rest;
  return done;
}

Result<Ref<vm::Backing>> FileNode::backing() {
  return make_backing(*this, pages_);
}

Result<Ref<OpenFile>> FileNode::open(const OpenRequest& request) {
  if (ext2().read_only() && (request.flags & o_accmode) != o_rdonly) return Errno::erofs;
  return Ref<OpenFile>{Ref<PositionedFile>::adopt(TRY(memory::make<PositionedFile>(Ref<Inode>::share(*this), request.flags)))};
}

}  // namespace corral::fs::ext2

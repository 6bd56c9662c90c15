// See metadata.h.
#include "fs/ext2/metadata.h"

#include "fs/anonymous.h"
#include "fs/ext2/block_run.h"
#include "memory/page_allocator.h"

namespace corral::fs::ext2 {

namespace {
constexpr u64 somewhere = 1;  // block 0 is a place too
constexpr u64 read_at_once = 8;  // blocks: those behind are not always the file system's own
}  // namespace

Metadata::Metadata(Disk& disk, u32 block_size, u32 blocks)
    : Inode{anonymous_files(), FileType::block}, disk_{disk}, block_size_{block_size}, pages_{*this, *this} {
  pages_.set_size(u64{blocks} * page_size);
}

void Metadata::give_back_disk() {
  if (has_disk_.exchange(false, Order::acq_rel)) disk_.give_back();
}

Result<BlockStore::Pin> Metadata::pin(u32 block) {
  Frame* frame = TRY(pages_.page(block, waiter_));
  return Pin{memory::contents(*frame), frame};
}

void Metadata::unpin(const Pin& pin) {
  memory::release_page(*static_cast<Frame*>(pin.handle));
}

Result<FilePages::Store::Extent> Metadata::find(u64 index, u64 count, Waiter*) {
  return Extent{{index, somewhere}, smaller(count, read_at_once)};
}

Result<PagePlace> Metadata::reserve(u64 index, u32, u32, Waiter*) {
  return PagePlace{index, somewhere};
}

PageRun* Metadata::make_run() {
  return new (std::nothrow) BlockRun(disk_.device(), block_size_, 1, false);
}

void Metadata::start(PageRun& run) {
  static_cast<BlockRun&>(run).send();
}

}  // namespace corral::fs::ext2

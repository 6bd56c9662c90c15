// See block_run.h.
#include "fs/ext2/block_run.h"

#include "fs/types.h"
#include "lib/memory_functions.h"

namespace corral::fs::ext2 {

// False: the request is full, or the block is not the one behind those in it.
bool BlockRun::add(u32 block, u8* memory) {
  if (BlockRequest::count == 0) {
    sector = u64{block} * (block_size_ / BlockDevice::sector_size);
  } else {
    if (block != next_block_) return false;
    Piece& last = pieces[BlockRequest::count - 1];
    if (last.memory + last.bytes == memory) {
      last.bytes += block_size_;
      ++next_block_;
      return true;
    }
    if (BlockRequest::count == most_pieces) return false;
  }
  pieces[BlockRequest::count++] = {memory, block_size_};
  next_block_ = block + 1;
  return true;
}

bool BlockRun::gather() {
  kind = is_write() ? Kind::write : Kind::read;
  BlockRequest::count = 0;
  for (; page_ < PageRun::count(); ++page_, part_ = 0) {
    for (; part_ < parts_; ++part_) {
      const u64 start = page_ * page_size + u64{part_} * block_size_;
      if (is_write() && start >= bytes()) break;
      u8* at = memory(page_) + u64{part_} * block_size_;
      const u32 block = block_in(place(page_), part_);
      if (block != 0 || !holes_) {
        if (!add(block, at)) return true;
      } else if (!is_write()) {
        memset(at, 0, block_size_);
      }
    }
  }
  return BlockRequest::count > 0;
}

void BlockRun::send() {
  if (!gather()) return PageRun::finished(is_write() ? bytes() : PageRun::count() * page_size);
  const Result<void> sent = device_.submit(*this);
  if (!sent.ok()) PageRun::finished(sent.error());
}

void BlockRun::finished(Result<void> moved) {
  if (!moved.ok()) return PageRun::finished(moved.error());
  send();
}

}  // namespace corral::fs::ext2

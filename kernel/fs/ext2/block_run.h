// Pages on their way between memory and blocks of a disk: pages of files, each made of several blocks where blocks are smaller, and blocks
// of the file system's own, each of which has a page for itself.
#pragma once

#include "device/block_device.h"
#include "fs/cache/cached_page.h"

namespace corral::fs::ext2 {

// A page's blocks, in order; 0: a hole.
[[nodiscard]] constexpr u32 block_in(const PagePlace& place, u32 part) {
  return static_cast<u32>((part < 2 ? place.first : place.rest) >> 32 * (part % 2));
}
constexpr void set_block(PagePlace& place, u32 part, u32 block) {
  u64& word = part < 2 ? place.first : place.rest;
  const u32 shift = 32 * (part % 2);
  word = (word & ~(u64{0xffff'ffff} << shift)) | u64{block} << shift;
}

// Neighbouring blocks go by one request, the others one after the other.
class BlockRun final : public PageRun, public BlockRequest {
 public:
  // Of each page the first `parts` × `block_size` bytes are moved.
  // `holes`: block 0 is none.
  BlockRun(BlockDevice& device, u32 block_size, u32 parts, bool holes)
      : device_{device}, block_size_{block_size}, parts_{parts}, holes_{holes} {}
  void send();

 private:
  void finished(Result<void> moved) override;
  // Puts the next blocks that lie in a row into the request. False: there are none.
  bool gather();
  bool add(u32 block, u8* memory);

  BlockDevice& device_;
  const u32 block_size_, parts_;
  const bool holes_;
  u32 page_ = 0, part_ = 0;  // the next to be moved; whoever has the run
  u32 next_block_ = 0;
};

}  // namespace corral::fs::ext2

// Files of ext4 whose blocks are told by extents; they are only read. See volume.h.
#include "fs/ext2/volume.h"

namespace corral::fs::ext2 {

namespace {

constexpr u32 header_size = 12, extent_size = 12, extent_magic = 0xf30a, deepest = 5, longest_initialised = 32768;

}  // namespace

Result<u32> Volume::map_extents(const InodeBlock& inode, u64 index) {
  const u8* node = inode.at(inode::blocks);
  u32 room = inode::inline_bytes;
  Block block;
  if (index > 0xffff'ffff) return 0u;
  for (u32 expected = deepest + 1;;) {
    const u32 count = get16(node + 2);
    const u32 depth = get16(node + 6);
    if (get16(node) != extent_magic || depth >= expected || header_size + u64{count} * extent_size > room) {
      return damaged("a file's extents cannot be", inode.number());
    }
    const u8* found = nullptr;  // the last that begins at or before `index`
    for (u32 i = 0; i < count; ++i) {
      const u8* extent = node + header_size + u64{i} * extent_size;
      if (get32(extent) <= index) found = extent;
    }
    if (found == nullptr) return 0u;
    if (depth == 0) {
      const u32 length = get16(found + 4);
      const u64 within = index - get32(found);
      if (length > longest_initialised || within >= length) return 0u;  // without contents yet, or a hole behind it
      const u64 start = get32(found + 8) | static_cast<u64>(get16(found + 6)) << 32;
      if (start + within >= geometry_.blocks || start + within <= geometry_.first_block) {
        return damaged("a file has a block that no file can have", start);
      }
      return static_cast<u32>(start + within);
    }
    const u32 next = get32(found + 4);
    if (get16(found + 8) != 0 || next <= geometry_.first_block || next >= geometry_.blocks) {
      return damaged("a file's extents cannot be", inode.number());
    }
    block = TRY(Block::get(store_, next));
    node = block.bytes();
    room = geometry_.block_size;
    expected = depth;
  }
}

}  // namespace corral::fs::ext2

// Taking and giving back blocks and inodes: bitmaps, and the counts of what is free. See volume.h.
#include "fs/ext2/volume.h"

namespace corral::fs::ext2 {

namespace {

constexpr bool is_set(const u8* bitmap, u32 bit) {
  return (bitmap[bit / 8] >> bit % 8 & 1) != 0;
}

// The first clear bit in [from, end); `end`: there is none.
u32 first_clear(const u8* bitmap, u32 from, u32 end) {
  u32 bit = from;
  while (bit < end) {
    if (bit % 8 == 0 && bitmap[bit / 8] == 0xff) {
      bit += 8;
    } else if (is_set(bitmap, bit)) {
      ++bit;
    } else {
      return bit;
    }
  }
  return end;
}

// Counts say about what bitmaps say exactly; one that is wrong stays within its type.
void add16(Transaction& transaction, u8* at, i32 change) {
  const i32 value = get16(at) + change;
  if (value >= 0 && value <= 0xffff) transaction.put16(at, static_cast<u32>(value));
}

void add32(Transaction& transaction, u8* at, i32 change) {
  const i64 value = i64{get32(at)} + change;
  if (value >= 0 && value <= 0xffff'ffff) transaction.put32(at, static_cast<u32>(value));
}

}  // namespace

Result<u32> Volume::take_block_in(Transaction& transaction, u32 group, u32 from) {
  const u32 count = geometry_.blocks_in_group(group);
  u32 bit = 0;
  {
    const Block bitmap = TRY(Block::get(store_, groups_[group].block_bitmap));
    bit = first_clear(bitmap.bytes(), from, count);
    if (bit == count) bit = first_clear(bitmap.bytes(), 0, from);
    if (bit == from && is_set(bitmap.bytes(), bit)) return 0u;
  }
  const u32 block = geometry_.group_start(group) + bit;
  if (!is_data_block(block)) return damaged("a bitmap calls a block of the file system's own free", block);
  u8* bitmap = TRY(transaction.open(groups_[group].block_bitmap));
  transaction.put8(bitmap + bit / 8, static_cast<u8>(bitmap[bit / 8] | 1u << bit % 8));
  add16(transaction, TRY(open_descriptor(transaction, group)) + descriptor::free_blocks, -1);
  add32(transaction, TRY(open_superblock(transaction)) + superblock::free_blocks, -1);
  return block;
}

Result<u32> Volume::take_block(Transaction& transaction, u32 goal) {
  if (goal < geometry_.first_block || goal >= geometry_.blocks) goal = geometry_.first_block;
  const u32 first = group_of(goal);
  for (u32 i = 0; i < geometry_.groups; ++i) {
    const u32 group = (first + i) % geometry_.groups;
    const u8* at = nullptr;
    const Block block = TRY(descriptor(group, at));
    if (get16(at + descriptor::free_blocks) == 0) continue;
    const u32 taken = TRY(take_block_in(transaction, group, i == 0 ? goal - geometry_.group_start(group) : 0));
    if (taken != 0) return taken;
  }
  return Errno::enospc;
}

Result<void> Volume::give_block(Transaction& transaction, u32 block) {
  if (!is_data_block(block)) {
    (void)damaged("a file has a block that no file can have", block);
    return {};
  }
  const u32 group = group_of(block);
  const u32 bit = block - geometry_.group_start(group);
  u8* bitmap = TRY(transaction.open(groups_[group].block_bitmap));
  if (!is_set(bitmap, bit)) {
    (void)damaged("a block of a file counts as free", block);
    return {};
  }
  transaction.put8(bitmap + bit / 8, static_cast<u8>(bitmap[bit / 8] & ~(1u << bit % 8)));
  add16(transaction, TRY(open_descriptor(transaction, group)) + descriptor::free_blocks, 1);
  add32(transaction, TRY(open_superblock(transaction)) + superblock::free_blocks, 1);
  return {};
}

// In the parent's group, or the next that has room.
Result<u32> Volume::take_inode(Transaction& transaction, u32 parent, bool directory) {
  const u32 first_group = group_of_inode(parent);
  for (u32 i = 0; i < geometry_.groups; ++i) {
    const u32 group = (first_group + i) % geometry_.groups;
    {
      const u8* at = nullptr;
      const Block block = TRY(descriptor(group, at));
      if (get16(at + descriptor::free_inodes) == 0) continue;
    }
    u8* bitmap = TRY(transaction.open(groups_[group].inode_bitmap));
    const u32 start = group * geometry_.inodes_per_group + 1;
    const u32 reserved = start < geometry_.first_inode ? geometry_.first_inode - start : 0;
    const u32 bit = first_clear(bitmap, reserved, geometry_.inodes_per_group);
    if (bit >= geometry_.inodes_per_group) continue;
    transaction.put8(bitmap + bit / 8, static_cast<u8>(bitmap[bit / 8] | 1u << bit % 8));
    u8* at = TRY(open_descriptor(transaction, group));
    add16(transaction, at + descriptor::free_inodes, -1);
    if (directory) add16(transaction, at + descriptor::directories, 1);
    add32(transaction, TRY(open_superblock(transaction)) + superblock::free_inodes, -1);
    return start + bit;
  }
  return Errno::enospc;
}

Result<void> Volume::give_inode(Transaction& transaction, u32 number, bool directory) {
  const u32 group = group_of_inode(number);
  const u32 bit = (number - 1) % geometry_.inodes_per_group;
  u8* bitmap = TRY(transaction.open(groups_[group].inode_bitmap));
  if (!is_set(bitmap, bit)) {
    (void)damaged("a file's inode counts as free", number);
    return {};
  }
  transaction.put8(bitmap + bit / 8, static_cast<u8>(bitmap[bit / 8] & ~(1u << bit % 8)));
  u8* at = TRY(open_descriptor(transaction, group));
  add16(transaction, at + descriptor::free_inodes, 1);
  if (directory) add16(transaction, at + descriptor::directories, -1);
  add32(transaction, TRY(open_superblock(transaction)) + superblock::free_inodes, 1);
  return {};
}

}  // namespace corral::fs::ext2

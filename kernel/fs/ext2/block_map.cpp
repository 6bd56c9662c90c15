// Which block of the disk holds which block of a file: twelve in the inode, the others through one to three levels of blocks with
// numbers. See volume.h.
#include "fs/ext2/volume.h"

#include "lib/memory_functions.h"

namespace corral::fs::ext2 {

namespace {

// The way from the inode to a block: the index of the pointer at each level.
struct Path {
  u32 levels = 0;
  u32 index[4] = {};
};

// False: no pointers lead there.
bool path_to(u64 block, u64 pointers, Path& to) {
  if (block < inode::direct_blocks) {
    to = {1, {static_cast<u32>(block)}};
    return true;
  }
  block -= inode::direct_blocks;
  u64 span = pointers;
  for (u32 level = 1; level <= 3; ++level, span *= pointers) {
    if (block >= span) {
      block -= span;
      continue;
    }
    to.levels = level + 1;
    to.index[0] = inode::direct_blocks + level - 1;
    for (u32 i = level; i > 0; --i, block /= pointers) to.index[i] = static_cast<u32>(block % pointers);
    return true;
  }
  return false;
}

}  // namespace

Result<u32> Volume::map(const InodeBlock& inode, u64 index) {
  if ((inode.flags() & inode::flag_extents) != 0) return map_extents(inode, index);
  Path path;
  if (!path_to(index, geometry_.pointers_per_block(), path)) return 0u;
  u32 block = get32(inode.at(inode::blocks + 4 * path.index[0]));
  for (u32 level = 1;; ++level) {
    if (block == 0) return 0u;
    if (!is_data_block(block)) return damaged("a file has a block that no file can have", block);
    if (level == path.levels) return block;
    const Block pointers = TRY(Block::get(store_, block));
    block = get32(pointers.bytes() + u64{4} * path.index[level]);
  }
}

u32 Volume::goal_of(const InodeBlock& inode, u32 near) const {
  return near != 0 ? near + 1 : geometry_.group_start(group_of_inode(inode.number()));
}

void Volume::count_sectors(Transaction& transaction, const InodeBlock& inode, i32 blocks) {
  const i64 sectors = i64{inode.sectors()} + i64{blocks} * (geometry_.block_size / 512);
  if (sectors >= 0 && sectors <= 0xffff'ffff) transaction.put32(inode.at(inode::sectors), static_cast<u32>(sectors));
}

Result<u32> Volume::obtain(Transaction& transaction, const InodeBlock& inode, u64 index, bool data) {
  Path path;
  if ((inode.flags() & inode::flag_extents) != 0) return Errno::erofs;
  if (!path_to(index, geometry_.pointers_per_block(), path)) return Errno::efbig;
  u32 near = index > 0 ? TRY(map(inode, index - 1)) : 0;
  u8* slot = inode.at(inode::blocks + 4 * path.index[0]);
  for (u32 level = 1;; ++level) {
    u32 block = get32(slot);
    const bool last = level == path.levels;
    if (block == 0) {
      block = TRY(take_block(transaction, goal_of(inode, near)));
      near = block;
      // Nothing of what the block was before may be written over it later.
      if (last && data) {
        TRY(store_.forget(block));
      } else {
        transaction.clear(TRY(transaction.open(block)), geometry_.block_size);
      }
      transaction.put32(slot, block);
      count_sectors(transaction, inode, 1);
    } else if (!is_data_block(block)) {
      return damaged("a file has a block that no file can have", block);
    }
    if (last) return block;
    slot = TRY(transaction.open(block)) + u64{4} * path.index[level];
  }
}

Result<u32> Volume::block_of(u32 number, u64 index) {
  const InodeBlock inode = TRY(inode_at(number));
  return map(inode, index);
}

Result<void> Volume::make_blocks(u32 number, u64 index, u32 wanted, std::span<u32> to) {
  Transaction transaction{store_, *log_};
  const InodeBlock inode = TRY(inode_at(number));
  for (u64 i = 0; i < to.size(); ++i) {
    to[i] = TRY(map(inode, index + i));
    if (to[i] != 0 || (wanted >> i & 1) == 0) continue;
    TRY(open(transaction, inode));
    to[i] = TRY(obtain(transaction, inode, index + i, true));
  }
  return transaction.commit();
}

}  // namespace corral::fs::ext2

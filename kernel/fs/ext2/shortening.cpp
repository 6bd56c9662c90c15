// Giving back the blocks of files, some at a time: from the end, so that each piece leaves a whole file. See volume.h.
#include "fs/ext2/volume.h"

namespace corral::fs::ext2 {

namespace {
constexpr u32 blocks_at_once = 48;
}

struct Volume::Shortening {
  Transaction& transaction;
  const InodeBlock& inode;
  u64 keep;  // blocks of the file
  u32 left = blocks_at_once;
};

// What hangs at a slot that holds the number of a block of numbers (level 1 to 3) or of the file (0), whose first block in the file is
// `first`. True: nothing from `keep` on is left there.
// NOLINTNEXTLINE(misc-no-recursion): three levels
Result<bool> Volume::shorten_tree(Shortening& s, u8* slot, u32 level, u64 first) {
  const u32 block = get32(slot);
  if (block == 0) return true;
  if (s.left == 0) return false;
  if (level > 0 && is_data_block(block)) {
    const u64 count = geometry_.pointers_per_block();
    u64 span = 1;  // blocks below one entry
    for (u32 i = 1; i < level; ++i) span *= count;
    u8* entries = TRY(s.transaction.open(block));
    for (u64 i = count; i-- > 0;) {
      if (first + (i + 1) * span <= s.keep) return true;
      if (!TRY(shorten_tree(s, entries + 4 * i, level - 1, first + i * span))) return false;
    }
  }
  if (first < s.keep) return true;
  if (s.left == 0) return false;
  --s.left;
  TRY(give_block(s.transaction, block));
  s.transaction.put32(slot, 0);
  count_sectors(s.transaction, s.inode, -1);
  return true;
}

Result<bool> Volume::shorten(u32 number, u64 index) {
  Transaction transaction{store_, *log_};
  const InodeBlock inode = TRY(inode_at(number));
  if (!inode.has_blocks(geometry_.block_size)) return true;
  if ((inode.flags() & inode::flag_extents) != 0) return Errno::erofs;
  TRY(open(transaction, inode));
  Shortening s{transaction, inode, index};
  const u64 count = geometry_.pointers_per_block();
  u64 first[inode::block_pointers];
  for (u32 i = 0; i <= inode::direct_blocks; ++i) first[i] = i;
  first[13] = first[12] + count;
  first[14] = first[13] + count * count;
  bool done = true;
  for (u32 i = inode::block_pointers; done && i-- > 0;) {
    const u32 level = i < inode::direct_blocks ? 0 : i - inode::direct_blocks + 1;
    done = TRY(shorten_tree(s, inode.at(inode::blocks + 4 * i), level, first[i]));
  }
  TRY(transaction.commit());
  return done;
}

Result<bool> Volume::release(u32 number, i64 now) {
  if (!TRY(shorten(number, 0))) return false;
  Transaction transaction{store_, *log_};
  const InodeBlock inode = TRY(inode_at(number));
  TRY(open(transaction, inode));
  TRY(give_attributes(transaction, inode));
  transaction.put32(inode.at(inode::deleted), static_cast<u32>(now / 1'000'000'000));
  TRY(put_size(transaction, inode, 0));
  TRY(give_inode(transaction, number, inode.is_directory()));
  TRY(transaction.commit());
  return true;
}

}  // namespace corral::fs::ext2

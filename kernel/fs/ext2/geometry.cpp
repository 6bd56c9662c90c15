// See geometry.h.
#include "fs/ext2/geometry.h"

namespace corral::fs::ext2 {

namespace {

bool is_power_of(u32 value, u32 base) {
  while (value > 1 && value % base == 0) value /= base;
  return value == 1;
}

const char* read_features(const u8* from, Geometry& to) {
  using namespace superblock;
  to.dynamic = get32(from + revision) >= 1;
  to.writable = true;
  to.inode_size = inode::small_size;
  to.first_inode = inode::first_ordinary;
  to.descriptor_size = descriptor::size;
  if (!to.dynamic) return nullptr;
  if (get32(from + revision) > 1) return "an unknown revision";
  const u32 needed = get32(from + incompatible);
  constexpr u32 only_read = has_extents | has_64_bits | has_flexible_groups;
  if ((needed & ~(has_file_types | only_read)) != 0) return "it uses features that Corral does not know";
  if ((needed & only_read) != 0) to.writable = false;
  to.file_types = (needed & has_file_types) != 0;
  const u32 to_write = get32(from + read_only_compatible);
  if ((to_write & ~(has_sparse_superblocks | has_large_files | has_tree_directories)) != 0) to.writable = false;
  to.sparse_superblocks = (to_write & has_sparse_superblocks) != 0;
  to.inode_size = get16(from + superblock::inode_size);
  to.first_inode = get32(from + superblock::first_inode);
  if ((needed & has_64_bits) != 0) {
    to.descriptor_size = get16(from + superblock::descriptor_size);
    if (to.descriptor_size < 64 || to.descriptor_size > 1024 || (to.descriptor_size & (to.descriptor_size - 1)) != 0) {
      return "its group descriptors have an impossible size";
    }
    if (get32(from + blocks_high) != 0) return "it is too large";
  }
  return nullptr;
}

const char* check(const Geometry& g, u64 device_bytes) {
  if (g.inode_size < inode::small_size || g.inode_size > g.block_size || (g.inode_size & (g.inode_size - 1)) != 0) {
    return "its inodes have an impossible size";
  }
  if (g.first_block != (g.block_size == 1024 ? 1 : 0)) return "its first block is another than its block size demands";
  if (g.blocks <= g.first_block) return "it has no blocks";
  if (u64{g.blocks} * g.block_size > device_bytes) return "it is larger than the disk";
  if (g.blocks_per_group == 0 || g.blocks_per_group > 8 * g.block_size) return "its groups have an impossible number of blocks";
  if (g.inodes_per_group == 0 || g.inodes_per_group > 8 * g.block_size) return "its groups have an impossible number of inodes";
  if (u64{g.groups} * g.inodes_per_group != g.inodes) return "its number of inodes does not fit its groups";
  if (g.first_inode < inode::first_ordinary || g.first_inode > g.inodes) return "its first inode cannot be";
  if (u64{g.descriptor_blocks()} + 1 + g.first_block > g.blocks) return "its descriptors do not fit";
  return nullptr;
}

}  // namespace

u32 Geometry::blocks_in_group(u32 group) const {
  return group + 1 < groups ? blocks_per_group : blocks - group_start(group);
}

bool Geometry::has_superblock(u32 group) const {
  if (!sparse_superblocks || group <= 1) return true;
  return is_power_of(group, 3) || is_power_of(group, 5) || is_power_of(group, 7);
}

u64 Geometry::largest_file() const {
  const u64 n = pointers_per_block();
  const u64 reached = (inode::direct_blocks + n + n * n + n * n * n) * block_size;
  const u64 most_sectors = (u64{1} << 32) - 1;
  // Of the sectors some are block pointers' own: at most one block in n, and one more for each level.
  const u64 counted = (most_sectors / (block_size / 512) / (n + 2) * n) * block_size;
  return reached < counted ? reached : counted;
}

Result<Geometry> read_geometry(std::span<const u8, superblock_size> bytes, u64 device_bytes, const char*& why) {
  using namespace superblock;
  const u8* from = bytes.data();
  Geometry g;
  why = "there is no ext2 file system";
  if (get16(from + magic_number) != magic) return Errno::einval;
  const u32 shift = get32(from + log_block_size);
  why = "its blocks are larger than a page";
  if (shift > 2 || get32(from + log_fragment_size) != shift) return Errno::einval;
  g.block_size = 1024u << shift;
  why = read_features(from, g);
  if (why != nullptr) return Errno::einval;
  g.blocks = get32(from + superblock::blocks);
  g.first_block = get32(from + superblock::first_block);
  g.blocks_per_group = get32(from + superblock::blocks_per_group);
  g.inodes = get32(from + superblock::inodes);
  g.inodes_per_group = get32(from + superblock::inodes_per_group);
  g.was_clean = (get16(from + state) & (state_clean | state_errors)) == state_clean;
  if (g.blocks > g.first_block && g.blocks_per_group != 0) {
    g.groups = static_cast<u32>((u64{g.blocks} - g.first_block + g.blocks_per_group - 1) / g.blocks_per_group);
  }
  why = check(g, device_bytes);
  if (why != nullptr) return Errno::einval;
  return g;
}

}  // namespace corral::fs::ext2

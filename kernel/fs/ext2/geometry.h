// The shape of a file system as its superblock tells it, checked. Pure.
#pragma once

#include <span>

#include "fs/ext2/format.h"
#include "lib/result.h"

namespace corral::fs::ext2 {

struct Geometry {
  u32 block_size = 0;  // bytes: 1024, 2048 or 4096
  u32 blocks = 0, first_block = 0, blocks_per_group = 0;
  u32 inodes = 0, inodes_per_group = 0, first_inode = 0;
  u32 inode_size = 0;  // bytes
  u32 groups = 0, descriptor_size = 0;
  bool file_types = false;  // names in directories tell the type of file
  bool sparse_superblocks = false;
  bool dynamic = false;  // revision 1: has feature bits
  bool writable = false;  // nothing in it forbids to change it
  bool was_clean = false;

  [[nodiscard]] u32 pointers_per_block() const { return block_size / 4; }
  [[nodiscard]] u32 inode_table_blocks() const { return (inodes_per_group * inode_size + block_size - 1) / block_size; }
  [[nodiscard]] u32 descriptor_blocks() const {
    return static_cast<u32>((u64{groups} * descriptor_size + block_size - 1) / block_size);
  }
  [[nodiscard]] u32 group_start(u32 group) const { return first_block + group * blocks_per_group; }
  [[nodiscard]] u32 blocks_in_group(u32 group) const;
  [[nodiscard]] bool has_superblock(u32 group) const;  // a copy of it, and of the descriptors
  // The largest size of a file, in bytes: what block pointers reach, and the count of its sectors.
  [[nodiscard]] u64 largest_file() const;
};

// `bytes`: the superblock; `device_bytes`: the size of what it lies on. einval: `why` says what cannot be.
Result<Geometry> read_geometry(std::span<const u8, superblock_size> bytes, u64 device_bytes, const char*& why);

}  // namespace corral::fs::ext2

// What an ext2 file system looks like on a disk: where fields are, and which bits mean what. Numbers are little-endian.
// Pure; used by the kernel and by host tests. Source: "The Second Extended File System" (D. Poirier), sections 3 and 4;
// for extents and ext4's bits the kernel's Documentation/filesystems/ext4.
#pragma once

#include "lib/types.h"

namespace corral::fs::ext2 {

constexpr u16 get16(const u8* at) {
  return static_cast<u16>(at[0] | at[1] << 8);
}
constexpr u32 get32(const u8* at) {
  return static_cast<u32>(at[0]) | static_cast<u32>(at[1]) << 8 | static_cast<u32>(at[2]) << 16 | static_cast<u32>(at[3]) << 24;
}

inline constexpr u32 superblock_offset = 1024, superblock_size = 1024;
inline constexpr u16 magic = 0xef53;

namespace superblock {  // offsets
inline constexpr u32 inodes = 0, blocks = 4, reserved_blocks = 8, free_blocks = 12, free_inodes = 16, first_block = 20,
                     log_block_size = 24, log_fragment_size = 28, blocks_per_group = 32, inodes_per_group = 40, mount_time = 44,
                     write_time = 48, mount_count = 52, magic_number = 56, state = 58, revision = 76, first_inode = 84,
                     inode_size = 88, compatible = 92, incompatible = 96, read_only_compatible = 100, descriptor_size = 254,
                     blocks_high = 336, wanted_extra_size = 350;
inline constexpr u16 state_clean = 1, state_errors = 2;
inline constexpr u32 has_attributes = 0x8;
inline constexpr u32 has_file_types = 0x2, has_extents = 0x40, has_64_bits = 0x80, has_flexible_groups = 0x200;
inline constexpr u32 has_sparse_superblocks = 0x1, has_large_files = 0x2, has_tree_directories = 0x4;
}  // namespace superblock

namespace descriptor {  // of a group
inline constexpr u32 size = 32;
inline constexpr u32 block_bitmap = 0, inode_bitmap = 4, inode_table = 8, free_blocks = 12, free_inodes = 14, directories = 16;
}  // namespace descriptor

namespace inode {
inline constexpr u32 mode = 0, user = 2, size = 4, accessed = 8, changed = 12, modified = 16, deleted = 20, group = 24,
                     links = 26, sectors = 28, flags = 32, blocks = 40, generation = 100, attribute_block = 104,
                     size_high = 108, user_high = 120, group_high = 122, extra_size = 128, changed_extra = 132,
                     modified_extra = 136, accessed_extra = 140, created = 144, created_extra = 148;
inline constexpr u32 small_size = 128, extended_size = 160, wanted_extra = 32;
inline constexpr u32 root = 2, first_ordinary = 11;
// Of the flags: those that programs see, those that they may change, and those of a directory that what is made in it gets.
inline constexpr u32 visible_flags = 0x3'dfff, changeable_flags = 0x3'80ff, inherited_flags = 0x1'c6cf,
                     directory_flags = 0x3'0000, special_file_flags = 0xc0;
inline constexpr u32 flag_index = 0x1000, flag_extents = 0x80000;
inline constexpr u32 direct_blocks = 12, block_pointers = 15;
inline constexpr u32 inline_bytes = 60;  // a symbolic link's text that lies where block numbers would
}  // namespace inode

namespace entry {  // of a directory
inline constexpr u32 inode = 0, record = 4, name_size = 6, type = 7, name = 8, smallest = 12;
constexpr u32 needed(u32 name_bytes) {
  return (name + name_bytes + 3) & ~3u;
}
}  // namespace entry

inline constexpr u32 most_links = 32000;
// A directory is searched name by name, in one step.
inline constexpr u64 largest_directory = 16 << 20;

}  // namespace corral::fs::ext2

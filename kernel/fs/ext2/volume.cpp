// Starting a volume, and its superblock. See volume.h.
#include "fs/ext2/volume.h"

#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "trace/log.h"

namespace corral::fs::ext2 {

namespace {
constexpr u64 ext2_magic = 0xef53;
constexpr u32 most_reports = 8;
}  // namespace

Volume::~Volume() {
  ::operator delete(groups_);
  delete log_;
}

Errno Volume::damaged(const char* what, u64 number) {
  damaged_ = true;
  if (reports_ < most_reports) {
    ++reports_;
    log::error("ext2: damaged: {} ({}); check it with e2fsck{}", what, number,
               reports_ == most_reports ? "; no more is told about this one" : "");
  }
  return Errno::euclean;
}

Result<void> Volume::start() {
  if (log_ == nullptr) log_ = TRY(memory::make<UndoLog>());
  if (groups_ == nullptr) {
    groups_ = static_cast<Group*>(::operator new(geometry_.groups * sizeof(Group), std::nothrow));
    if (groups_ == nullptr) return Errno::enomem;
  }
  for (; groups_read_ < geometry_.groups; ++groups_read_) TRY(read_group(groups_read_));
  return {};
}

Result<void> Volume::read_group(u32 group) {
  const u8* at = nullptr;
  const Block block = TRY(descriptor(group, at));
  Group& to = groups_[group];
  to = {get32(at + descriptor::block_bitmap), get32(at + descriptor::inode_bitmap), get32(at + descriptor::inode_table)};
  // What may be changed has each group's tables in the group: so nothing of the file system's own is taken for a file's block.
  const bool own = geometry_.writable;
  const u64 start = own ? geometry_.group_start(group) : geometry_.first_block;
  const u64 end = own ? geometry_.group_start(group) + u64{geometry_.blocks_in_group(group)} : geometry_.blocks;
  const u64 copies = own && !geometry_.has_superblock(group) ? 0 : 1 + u64{geometry_.descriptor_blocks()};
  const auto possible = [&](u64 first, u64 count) { return first >= start + copies && first + count <= end; };
  const auto in_table = [&](u32 block) {
    return block >= to.inode_table && block - to.inode_table < geometry_.inode_table_blocks();
  };
  const bool good = possible(to.block_bitmap, 1) && possible(to.inode_bitmap, 1) &&
                    possible(to.inode_table, geometry_.inode_table_blocks()) && to.block_bitmap != to.inode_bitmap &&
                    !in_table(to.block_bitmap) && !in_table(to.inode_bitmap);
  if (!good) return damaged("a group's tables are where they cannot be", group);
  return {};
}

Result<Block> Volume::descriptor(u32 group, const u8*& at) {
  const u64 offset = u64{group} * geometry_.descriptor_size;
  Block block = TRY(Block::get(store_, static_cast<u32>(geometry_.first_block + 1 + offset / geometry_.block_size)));
  at = block.bytes() + offset % geometry_.block_size;
  return block;
}

Result<u8*> Volume::open_descriptor(Transaction& transaction, u32 group) {
  const u64 offset = u64{group} * geometry_.descriptor_size;
  u8* bytes = TRY(transaction.open(static_cast<u32>(geometry_.first_block + 1 + offset / geometry_.block_size)));
  return bytes + offset % geometry_.block_size;
}

Result<u8*> Volume::open_superblock(Transaction& transaction) {
  return TRY(transaction.open(superblock_block())) + superblock_at();
}

// Nothing of the file system's own is there: superblocks, descriptors, bitmaps, tables of inodes.
bool Volume::is_data_block(u32 block) const {
  const Geometry& g = geometry_;
  if (block <= g.first_block || block >= g.blocks) return false;
  const u32 group = group_of(block);
  const Group& tables = groups_[group];
  if (block == tables.block_bitmap || block == tables.inode_bitmap) return false;
  if (block >= tables.inode_table && block - tables.inode_table < g.inode_table_blocks()) return false;
  return !g.has_superblock(group) || block - g.group_start(group) > g.descriptor_blocks();
}

Result<void> Volume::mark(bool clean, i64 now) {
  Transaction transaction{store_, *log_};
  u8* at = TRY(open_superblock(transaction));
  const u32 errors = damaged_ ? superblock::state_errors : get16(at + superblock::state) & superblock::state_errors;
  const bool good = clean && geometry_.was_clean && !damaged_;
  transaction.put16(at + superblock::state, (good ? superblock::state_clean : 0) | errors);
  const u32 seconds = static_cast<u32>(now / 1'000'000'000);
  transaction.put32(at + superblock::write_time, seconds);
  if (!clean) {
    transaction.put32(at + superblock::mount_time, seconds);
    transaction.put16(at + superblock::mount_count, get16(at + superblock::mount_count) + 1u);
  }
  return transaction.commit();
}

FileSystemStatistics Volume::statistics() {
  FileSystemStatistics to;
  to.magic = ext2_magic;
  const Result<Block> block = Block::get(store_, superblock_block());
  if (!block.ok()) return to;
  const u8* at = block.value().bytes() + superblock_at();
  u64 overhead = geometry_.first_block;
  for (u32 g = 0; g < geometry_.groups; ++g) {
    overhead += 2 + geometry_.inode_table_blocks() + (geometry_.has_superblock(g) ? 1 + geometry_.descriptor_blocks() : 0);
  }
  const u64 free = smaller(get32(at + superblock::free_blocks), geometry_.blocks);
  to.block_size = geometry_.block_size;
  to.blocks = geometry_.blocks - smaller(overhead, geometry_.blocks);
  to.blocks_free = free;
  to.files = geometry_.inodes;
  to.files_free = smaller(get32(at + superblock::free_inodes), geometry_.inodes);
  return to;
}

}  // namespace corral::fs::ext2

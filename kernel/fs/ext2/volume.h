// An ext2 file system by itself: inodes, blocks, directories, on blocks that a BlockStore has.
//
// Every operation is a whole: it happens, or (blocked, enospc, euclean …) nothing has changed, and it may simply be called again. What
// is on the disk is not believed: numbers are checked before they are used; what cannot be is reported once in the log, the
// operation answers euclean, and the volume is marked as one that needs a check.
// Pure; not synchronised: its owner's lock protects it (fs/ext2/file_system.h). Times are ns since 1970.
#pragma once

#include <span>
#include <string_view>

#include "fs/ext2/geometry.h"
#include "fs/ext2/transaction.h"
#include "fs/types.h"

namespace corral::fs::ext2 {

struct AttributeName;
struct AttributeEntry;

// An inode's bytes, held.
class InodeBlock {
 public:
  InodeBlock() = default;
  InodeBlock(Block block, u32 offset, u32 number) : block_{std::move(block)}, offset_{offset}, number_{number} {}
  [[nodiscard]] u8* at(u32 field) const { return block_.bytes() + offset_ + field; }
  [[nodiscard]] u32 number() const { return number_; }
  [[nodiscard]] u32 block() const { return block_.number(); }

  [[nodiscard]] u32 mode() const { return get16(at(inode::mode)); }
  [[nodiscard]] FileType type() const { return type_of_mode(mode()); }
  [[nodiscard]] bool is_directory() const { return type() == FileType::directory; }
  [[nodiscard]] u32 links() const { return get16(at(inode::links)); }
  [[nodiscard]] u32 flags() const { return get32(at(inode::flags)); }
  [[nodiscard]] u64 size() const;
  [[nodiscard]] u32 sectors() const { return get32(at(inode::sectors)); }
  // Its fields of block numbers hold block numbers.
  [[nodiscard]] bool has_blocks(u32 block_size) const;
  [[nodiscard]] DeviceNumber special() const;

 private:
  Block block_;
  u32 offset_ = 0, number_ = 0;
};

class Volume {
 public:
  Volume(const Geometry& geometry, BlockStore& store) : geometry_{geometry}, store_{store} {}
  Volume(const Volume&) = delete;
  Volume& operator=(const Volume&) = delete;
  ~Volume();

  // Reads what is always needed; before anything else, until it does not answer blocked. euclean, enomem.
  Result<void> start();
  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  // As long as it is in use for writing the disk says so. `clean`: it is no longer.
  Result<void> mark(bool clean, i64 now);
  FileSystemStatistics statistics();  // zeros where its superblock cannot be read

  // ---- inodes ----
  Result<InodeBlock> read_inode(u32 number);  // euclean: there is no file with that number
  Result<Attributes> attributes(u32 number);
  Result<void> change(u32 number, const AttributeChange& change, i64 now);
  // Those that programs may change; `may_protect` as Inode::set_flags has it. Answers all that it has now. eperm.
  Result<u32> set_flags(u32 number, u32 wanted, bool may_protect, i64 now);
  // A file's size and time of modification, as its owner knows them.
  Result<void> set_size(u32 number, u64 size, i64 now);
  Result<std::string_view> read_link(u32 number, std::span<char> to);

  // ---- extended attributes: as those of Inode; erange: the value is longer than a block ----
  Result<u64> attribute(u32 number, std::string_view name, std::span<u8> to);
  Result<void> set_attribute(u32 number, std::string_view name, std::span<const u8> value, AttributeSetting setting, i64 now);
  Result<void> remove_attribute(u32 number, std::string_view name, i64 now);
  Result<u64> list_attributes(u32 number, std::span<char> to, bool trusted);

  // ---- blocks of files ----
  Result<u32> block_of(u32 number, u64 index);  // 0: a hole
  // The blocks from `index` on whose bit in `wanted` is set are there, for data to be written; all of them or none. `to` gets the
  // number of every one, 0 for a hole that is not wanted.
  Result<void> make_blocks(u32 number, u64 index, u32 wanted, std::span<u32> to);  // enospc, efbig
  // Frees some blocks from `index` on. True: that was the last.
  Result<bool> shorten(u32 number, u64 index);
  // Gives up a file without names, piece by piece. True: it is done.
  Result<bool> release(u32 number, i64 now);

  // ---- names ----
  struct Found {
    u32 inode;
    FileType type;  // unknown: the directory does not tell
  };
  Result<Found> find(u32 directory, std::string_view name);  // enoent, enotdir, euclean
  struct Lister {
    virtual bool add(std::string_view name, u32 inode, FileType type, u64 next) = 0;

   protected:
    ~Lister() = default;
  };
  // Positions are bytes in the directory.
  Result<void> list(u32 directory, u64 position, Lister& to);
  struct Making {
    FileType type = FileType::regular;
    u32 permissions = 0;
    DeviceNumber special{};
    std::string_view target = {};
    u32 user = 0, group = 0;
  };
  Result<u32> create(u32 directory, std::string_view name, const Making& making, i64 now);
  Result<void> link(u32 directory, std::string_view name, u32 file, i64 now);
  Result<void> unlink(u32 directory, std::string_view name, i64 now);
  Result<void> remove_directory(u32 directory, std::string_view name, i64 now);
  // The caller has made sure that a directory does not come to lie below itself. `exchange`: both names exist, and change places.
  Result<void> rename(u32 from, std::string_view name, u32 to, std::string_view new_name, bool exchange, i64 now);

  // Something on the disk is not as it must be. Answers euclean.
  Errno damaged(const char* what, u64 number);
  [[nodiscard]] bool is_damaged() const { return damaged_; }

 private:
  struct Group {  // where its tables are; checked
    u32 block_bitmap, inode_bitmap, inode_table;
  };
  // A place in a directory.
  struct Place {
    u32 block = 0, offset = 0, previous = 0;  // offsets in the block; previous == offset: it is the first
  };
  struct Search {
    bool found = false, has_room = false;
    Found file{};
    Place place;  // of the name
    Place room;  // for a new name
  };
  struct Entry {
    u32 inode, record, name_bytes, type;
    const u8* name;
    [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(name), name_bytes}; }
  };

  // volume.cpp
  Result<void> read_group(u32 group);
  [[nodiscard]] u32 superblock_block() const { return superblock_offset / geometry_.block_size; }
  [[nodiscard]] u32 superblock_at() const { return superblock_offset % geometry_.block_size; }
  Result<u8*> open_superblock(Transaction& transaction);
  Result<u8*> open_descriptor(Transaction& transaction, u32 group);
  Result<Block> descriptor(u32 group, const u8*& at);
  [[nodiscard]] bool is_data_block(u32 block) const;
  [[nodiscard]] u32 group_of(u32 block) const { return (block - geometry_.first_block) / geometry_.blocks_per_group; }
  [[nodiscard]] u32 group_of_inode(u32 number) const { return (number - 1) / geometry_.inodes_per_group; }

  // allocation.cpp
  Result<u32> take_block(Transaction& transaction, u32 goal);
  Result<u32> take_block_in(Transaction& transaction, u32 group, u32 from);  // 0: none
  Result<void> give_block(Transaction& transaction, u32 block);
  Result<u32> take_inode(Transaction& transaction, u32 parent, bool directory);
  Result<void> give_inode(Transaction& transaction, u32 number, bool directory);

  // inodes.cpp
  Result<InodeBlock> inode_at(u32 number);  // whatever is there; euclean: no such number
  Result<void> open(Transaction& transaction, const InodeBlock& inode);
  void put_time(Transaction& transaction, const InodeBlock& inode, u32 field, u32 extra_field, i64 ns);
  void touch(Transaction& transaction, const InodeBlock& inode, bool modified, i64 now);
  Result<void> put_size(Transaction& transaction, const InodeBlock& inode, u64 size);
  void put_links(Transaction& transaction, const InodeBlock& inode, u32 links);
  Result<InodeBlock> make_inode(Transaction& transaction, u32 parent, const Making& making, i64 now);

  // attributes.cpp
  struct FileAttributes;
  Result<FileAttributes> attributes_of(u32 number);
  Result<Block> attribute_block_at(u32 number);
  // `put` null: it is removed.
  Result<void> change_attribute(u32 number, const AttributeName& name, const AttributeEntry* put, AttributeSetting setting,
                                i64 now);
  Result<void> change_attribute_block(Transaction& transaction, const FileAttributes& file, const AttributeName& name,
                                      const AttributeEntry* put);
  Result<void> note_attributes(Transaction& transaction);
  // The inode has no block of them any more.
  Result<void> give_attributes(Transaction& transaction, const InodeBlock& inode);

  // block_map.cpp
  Result<u32> map(const InodeBlock& inode, u64 index);
  Result<u32> map_extents(const InodeBlock& inode, u64 index);
  Result<u32> obtain(Transaction& transaction, const InodeBlock& inode, u64 index, bool data);
  void count_sectors(Transaction& transaction, const InodeBlock& inode, i32 blocks);
  [[nodiscard]] u32 goal_of(const InodeBlock& inode, u32 near) const;

  // shortening.cpp
  struct Shortening;
  Result<bool> shorten_tree(Shortening& s, u8* slot, u32 level, u64 first);

  // directory.cpp
  Result<InodeBlock> open_directory(u32 number, bool change);
  Result<Block> directory_block(const InodeBlock& directory, u64 index, u32& number);
  Result<Entry> entry_at(const u8* block, u32 offset, u32 directory);
  Result<Search> search(const InodeBlock& directory, std::string_view name);
  Result<bool> is_empty(const InodeBlock& directory);
  Result<void> add_name(Transaction& transaction, const InodeBlock& directory, const Search& search, std::string_view name,
                        u32 file, FileType type, i64 now);
  Result<void> remove_name(Transaction& transaction, const InodeBlock& directory, const Search& search, i64 now);
  void put_entry(Transaction& transaction, u8* at, u32 record, std::string_view name, u32 file, FileType type);
  Result<void> change_directory(Transaction& transaction, const InodeBlock& directory, i64 now);
  Result<void> make_directory(Transaction& transaction, const InodeBlock& made, u32 parent, i64 now);

  // names.cpp
  Result<void> set_parent(Transaction& transaction, const InodeBlock& directory, u32 parent);
  Result<void> replace(Transaction& transaction, const InodeBlock& directory, const Search& search, u32 file, FileType type,
                       i64 now);

  const Geometry geometry_;
  BlockStore& store_;
  Group* groups_ = nullptr;  // heap
  u32 groups_read_ = 0;
  UndoLog* log_ = nullptr;  // heap
  bool damaged_ = false;
  u32 reports_ = 0;
};

}  // namespace corral::fs::ext2

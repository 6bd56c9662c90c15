// Extended attributes of files: those behind the fields of a large inode, as ext4 puts them there, and those in a block, which several
// files may share. See volume.h.
//
// New ones go to the block. One that lies in the inode stays there as long as it fits.
#include "fs/ext2/attribute_area.h"
#include "fs/ext2/volume.h"
#include "lib/memory_functions.h"

namespace corral::fs::ext2 {

namespace {

Result<u64> copy_value(const AttributeEntry& entry, std::span<u8> to) {
  const u64 size = entry.value.size();
  if (to.empty()) return size;
  if (to.size() < size) return Errno::erange;
  memcpy(to.data(), entry.value.data(), size);
  return size;
}

// Writes names, or counts what they take.
class NameList {
 public:
  NameList(std::span<char> to, bool trusted) : to_{to}, trusted_{trusted} {}
  Result<void> add(const AttributeArea& area) {
    AttributeEntry entry;
    for (u32 at = area.begin(); area.next(at, entry);) {
      const std::string_view prefix = attribute_prefix(entry.name.kind);
      if (prefix.empty() || (entry.name.kind == trusted_attributes && !trusted_)) continue;
      const u64 size = prefix.size() + entry.name.rest.size() + 1;
      if (!to_.empty()) {
        if (to_.size() - size_ < size) return Errno::erange;
        char* name = to_.data() + size_;
        memcpy(name, prefix.data(), prefix.size());
        memcpy(name + prefix.size(), entry.name.rest.data(), entry.name.rest.size());
        name[size - 1] = 0;
      }
      size_ += size;
    }
    return {};
  }
  [[nodiscard]] u64 size() const { return size_; }

 private:
  std::span<char> to_;
  bool trusted_;
  u64 size_ = 0;
};

}  // namespace

// Where a file's attributes are.
struct Volume::FileAttributes {
  InodeBlock inode;
  std::span<u8> own_bytes;  // in the inode, behind the number that says what they are; empty: none
  AttributeArea own;
  u32 number = 0;  // of the block; 0: none
  Block block;
  AttributeArea shared;

  bool find(const AttributeName& name, AttributeEntry& entry) const {
    return own.find(name, entry) || shared.find(name, entry);
  }
};

Result<Block> Volume::attribute_block_at(u32 number) {
  if (!is_data_block(number)) return damaged("a file has attributes in a block that no file can have", number);
  Block block = TRY(Block::get(store_, number));
  const u8* at = block.bytes();
  const bool known = get32(at) == attribute_block::magic && get32(at + attribute_block::blocks) == 1;
  if (!known || get32(at + attribute_block::references) == 0) return damaged("a file's attributes are none", number);
  return block;
}

Result<Volume::FileAttributes> Volume::attributes_of(u32 number) {
  FileAttributes found;
  found.inode = TRY(inode_at(number));
  if (geometry_.inode_size > inode::small_size) {
    const u32 start = inode::small_size + get16(found.inode.at(inode::extra_size));
    constexpr u32 magic_size = 4;
    if (start % 4 == 0 && start + 2 * magic_size <= geometry_.inode_size &&
        get32(found.inode.at(start)) == attribute_block::magic) {
      found.own_bytes = {found.inode.at(start + magic_size), geometry_.inode_size - start - magic_size};
      found.own = {found.own_bytes, 0};
      if (!found.own.is_valid()) return damaged("the attributes in an inode are not in order", number);
    }
  }
  found.number = get32(found.inode.at(inode::attribute_block));
  if (found.number != 0) {
    found.block = TRY(attribute_block_at(found.number));
    found.shared = {{found.block.bytes(), geometry_.block_size}, attribute_block::first_entry};
    if (!found.shared.is_valid()) return damaged("a file's attributes are not in order", number);
  }
  return found;
}

Result<u64> Volume::attribute(u32 number, std::string_view name, std::span<u8> to) {
  const AttributeName wanted = TRY(split_attribute_name(name));
  const FileAttributes file = TRY(attributes_of(number));
  AttributeEntry entry;
  if (!file.find(wanted, entry)) return Errno::enodata;
  return copy_value(entry, to);
}

Result<u64> Volume::list_attributes(u32 number, std::span<char> to, bool trusted) {
  const FileAttributes file = TRY(attributes_of(number));
  NameList list{to, trusted};
  TRY(list.add(file.own));
  TRY(list.add(file.shared));
  return list.size();
}

Result<void> Volume::set_attribute(u32 number, std::string_view name, std::span<const u8> value, AttributeSetting setting,
                                   i64 now) {
  if (value.size() > geometry_.block_size) return Errno::erange;
  const AttributeEntry entry = make_attribute(TRY(split_attribute_name(name)), value);
  return change_attribute(number, entry.name, &entry, setting, now);
}

Result<void> Volume::remove_attribute(u32 number, std::string_view name, i64 now) {
  return change_attribute(number, TRY(split_attribute_name(name)), nullptr, {.replace = true}, now);
}

Result<void> Volume::change_attribute(u32 number, const AttributeName& name, const AttributeEntry* put,
                                      AttributeSetting setting, i64 now) {
  Transaction transaction{store_, *log_};
  const FileAttributes file = TRY(attributes_of(number));
  AttributeEntry old;
  const bool in_inode = file.own.find(name, old);
  const bool in_block = !in_inode && file.shared.find(name, old);
  if (setting.create && (in_inode || in_block)) return Errno::eexist;
  if (setting.replace && !in_inode && !in_block) return Errno::enodata;
  TRY(open(transaction, file.inode));
  bool done = false;
  if (in_inode) {
    const std::span<u8> area{log_->scratch, file.own_bytes.size()};
    done = rewrite_attributes(file.own, area, name, put).ok();
    if (!done) (void)TRY(rewrite_attributes(file.own, area, name, nullptr));  // it moves to the block
    transaction.put(file.own_bytes.data(), area.data(), static_cast<u32>(area.size()));
  }
  if (!done) TRY(change_attribute_block(transaction, file, name, put));
  touch(transaction, file.inode, false, now);
  return transaction.commit();
}

Result<void> Volume::change_attribute_block(Transaction& transaction, const FileAttributes& file, const AttributeName& name,
                                            const AttributeEntry* put) {
  const u32 size = geometry_.block_size;
  const std::span<u8> fresh{log_->scratch, size};
  const AttributeArea from = file.number != 0 ? file.shared : AttributeArea{{}, attribute_block::first_entry};
  const u32 count = TRY(rewrite_attributes(from, fresh, name, put));
  if (count == 0) return give_attributes(transaction, file.inode);
  attribute_block::finish(fresh);
  if (file.number != 0) {
    u8* at = TRY(transaction.open(file.number)) + attribute_block::references;
    const u32 users = get32(at);
    if (users == 1) {
      transaction.put(file.block.bytes(), fresh.data(), size);
      return {};
    }
    transaction.put32(at, users - 1);  // the others keep what they have
  } else {
    count_sectors(transaction, file.inode, 1);
    TRY(note_attributes(transaction));
  }
  const u32 taken = TRY(take_block(transaction, goal_of(file.inode, 0)));
  memcpy(TRY(transaction.open(taken)), fresh.data(), size);  // a block that was free
  transaction.put32(file.inode.at(inode::attribute_block), taken);
  return {};
}

// The superblock says that there are some. Revision 0 has no such bits, so it becomes revision 1 as Linux makes it.
Result<void> Volume::note_attributes(Transaction& transaction) {
  u8* at = TRY(open_superblock(transaction));
  if (get32(at + superblock::revision) == 0) {
    transaction.put32(at + superblock::revision, 1);
    transaction.put32(at + superblock::first_inode, geometry_.first_inode);
    transaction.put16(at + superblock::inode_size, geometry_.inode_size);
    for (const u32 features : {superblock::compatible, superblock::incompatible, superblock::read_only_compatible}) {
      transaction.put32(at + features, 0);
    }
  }
  const u32 features = get32(at + superblock::compatible);
  if ((features & superblock::has_attributes) != 0) return {};
  transaction.put32(at + superblock::compatible, features | superblock::has_attributes);
  return {};
}

Result<void> Volume::give_attributes(Transaction& transaction, const InodeBlock& inode) {
  const u32 number = get32(inode.at(inode::attribute_block));
  if (number == 0) return {};
  transaction.put32(inode.at(inode::attribute_block), 0);
  count_sectors(transaction, inode, -1);
  const Result<Block> block = attribute_block_at(number);
  if (!block.ok()) return block.error() == Errno::euclean ? Result<void>{} : block.error();  // it is told of, and left as it is
  u8* at = TRY(transaction.open(number));
  const u32 users = get32(at + attribute_block::references);
  if (users > 1) {
    transaction.put32(at + attribute_block::references, users - 1);
    return {};
  }
  transaction.zero(at, geometry_.block_size);  // nobody takes it for attributes again
  return give_block(transaction, number);
}

}  // namespace corral::fs::ext2

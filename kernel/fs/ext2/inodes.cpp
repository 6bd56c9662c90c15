// Inodes: what they say, and changing it. See volume.h.
#include "fs/ext2/volume.h"

#include "lib/memory_functions.h"

namespace corral::fs::ext2 {

namespace {

constexpr i64 second = 1'000'000'000;
constexpr i64 last_second = 9'000'000'000;  // in ns it still fits

// Seconds are signed 32 bits; two more bits and the nanoseconds are in an extra field that not every inode has room for.
i64 time_at(const u8* seconds, const u8* extra) {
  i64 value = static_cast<i32>(get32(seconds));
  if (extra == nullptr) return value * second;
  value += static_cast<i64>(get32(extra) & 3) << 32;
  if (value > last_second) value = last_second;
  const i64 ns = get32(extra) >> 2;
  return value * second + (ns < second ? ns : 0);
}

bool known_type(FileType type) {
  switch (type) {
    case FileType::fifo:
    case FileType::character:
    case FileType::directory:
    case FileType::block:
    case FileType::regular:
    case FileType::symlink:
    case FileType::socket: return true;
    default: return false;
  }
}

}  // namespace

u64 InodeBlock::size() const {
  const u64 low = get32(at(inode::size));
  return type() == FileType::regular ? low | u64{get32(at(inode::size_high))} << 32 : low;
}

bool InodeBlock::has_blocks(u32 block_size) const {
  switch (type()) {
    case FileType::regular:
    case FileType::directory: return true;
    case FileType::symlink: return sectors() > (get32(at(inode::attribute_block)) != 0 ? block_size / 512 : 0);
    default: return false;
  }
}

// Source: the two forms of Linux's old and new device numbers.
DeviceNumber InodeBlock::special() const {
  const u32 small = get32(at(inode::blocks));
  if (small != 0) return {small >> 8 & 0xff, small & 0xff};
  return DeviceNumber::decoded(get32(at(inode::blocks + 4)));
}

Result<InodeBlock> Volume::inode_at(u32 number) {
  if (number == 0 || number > geometry_.inodes) return damaged("there is no inode with this number", number);
  const u64 offset = u64{(number - 1) % geometry_.inodes_per_group} * geometry_.inode_size;
  const u32 table = groups_[group_of_inode(number)].inode_table;
  Block block = TRY(Block::get(store_, static_cast<u32>(table + offset / geometry_.block_size)));
  return InodeBlock{std::move(block), static_cast<u32>(offset % geometry_.block_size), number};
}

Result<InodeBlock> Volume::read_inode(u32 number) {
  if (number != inode::root && number < geometry_.first_inode) return damaged("a name leads to an inode that has none", number);
  InodeBlock found = TRY(inode_at(number));
  if (!known_type(found.type())) return damaged("an inode has no type", number);
  if (found.is_directory() && (found.size() > largest_directory || found.size() % geometry_.block_size != 0)) {
    return damaged("a directory has an impossible size", number);
  }
  if (found.type() == FileType::regular && found.size() >> 62 != 0) return damaged("a file has an impossible size", number);
  return found;
}

Result<Attributes> Volume::attributes(u32 number) {
  const InodeBlock from = TRY(inode_at(number));
  Attributes to;
  to.inode = number;
  to.type = from.type();
  to.permissions = from.mode() & 07777;
  to.links = from.links();
  to.user = get16(from.at(inode::user)) | static_cast<u32>(get16(from.at(inode::user_high))) << 16;
  to.group = get16(from.at(inode::group)) | static_cast<u32>(get16(from.at(inode::group_high))) << 16;
  to.size = from.size();
  to.blocks = from.sectors();
  to.block_size = geometry_.block_size;
  if (to.type == FileType::character || to.type == FileType::block) to.special = from.special();
  u32 extra = 0;
  if (geometry_.inode_size >= inode::extended_size) extra = get16(from.at(inode::extra_size));
  const auto extra_at = [&](u32 field) { return inode::small_size + extra >= field + 4 ? from.at(field) : nullptr; };
  const bool fits = inode::small_size + extra <= geometry_.inode_size;
  if (!fits) extra = 0;
  to.accessed_ns = time_at(from.at(inode::accessed), extra_at(inode::accessed_extra));
  to.modified_ns = time_at(from.at(inode::modified), extra_at(inode::modified_extra));
  to.changed_ns = time_at(from.at(inode::changed), extra_at(inode::changed_extra));
  to.born_ns = to.changed_ns;
  if (extra_at(inode::created) != nullptr) to.born_ns = time_at(from.at(inode::created), extra_at(inode::created_extra));
  return to;
}

Result<void> Volume::open(Transaction& transaction, const InodeBlock& inode) {
  (void)TRY(transaction.open(inode.block()));
  return {};
}

void Volume::put_time(Transaction& transaction, const InodeBlock& inode, u32 field, u32 extra_field, i64 ns) {
  i64 seconds = ns / second;
  i64 rest = ns % second;
  if (rest < 0) {
    rest += second;
    --seconds;
  }
  const bool has_room = geometry_.inode_size >= inode::extended_size &&
                        inode::small_size + get16(inode.at(inode::extra_size)) >= extra_field + 4u;
  constexpr i64 lowest = -0x8000'0000LL;
  const i64 highest = has_room ? 0x3'7fff'ffffLL : 0x7fff'ffffLL;
  seconds = seconds < lowest ? lowest : seconds > highest ? highest : seconds;
  transaction.put32(inode.at(field), static_cast<u32>(seconds));
  if (!has_room) return;
  const i64 epoch = seconds - static_cast<i32>(static_cast<u32>(seconds));
  transaction.put32(inode.at(extra_field), static_cast<u32>(epoch >> 32 & 3) | static_cast<u32>(rest << 2));
}

void Volume::touch(Transaction& transaction, const InodeBlock& inode, bool modified, i64 now) {
  if (modified) put_time(transaction, inode, inode::modified, inode::modified_extra, now);
  put_time(transaction, inode, inode::changed, inode::changed_extra, now);
}

void Volume::put_links(Transaction& transaction, const InodeBlock& inode, u32 links) {
  transaction.put16(inode.at(inode::links), links);
}

Result<void> Volume::put_size(Transaction& transaction, const InodeBlock& inode, u64 size) {
  if (inode.size() == size) return {};
  transaction.put32(inode.at(inode::size), static_cast<u32>(size));
  if (inode.type() != FileType::regular) return {};
  transaction.put32(inode.at(inode::size_high), static_cast<u32>(size >> 32));
  if (size >> 31 == 0 || !geometry_.dynamic) return {};
  u8* at = TRY(open_superblock(transaction)) + superblock::read_only_compatible;
  if ((get32(at) & superblock::has_large_files) == 0) transaction.put32(at, get32(at) | superblock::has_large_files);
  return {};
}

Result<void> Volume::set_size(u32 number, u64 size, i64 now) {
  Transaction transaction{store_, *log_};
  const InodeBlock inode = TRY(inode_at(number));
  TRY(open(transaction, inode));
  TRY(put_size(transaction, inode, size));
  touch(transaction, inode, true, now);
  return transaction.commit();
}

Result<void> Volume::change(u32 number, const AttributeChange& change, i64 now) {
  Transaction transaction{store_, *log_};
  const InodeBlock inode = TRY(inode_at(number));
  TRY(open(transaction, inode));
  if (change.set_permissions) transaction.put16(inode.at(inode::mode), (inode.mode() & ~07777u) | (change.permissions & 07777));
  if (change.set_user) {
    transaction.put16(inode.at(inode::user), change.user);
    transaction.put16(inode.at(inode::user_high), change.user >> 16);
  }
  if (change.set_group) {
    transaction.put16(inode.at(inode::group), change.group);
    transaction.put16(inode.at(inode::group_high), change.group >> 16);
  }
  if (change.set_accessed) put_time(transaction, inode, inode::accessed, inode::accessed_extra, change.accessed_ns);
  if (change.set_modified) put_time(transaction, inode, inode::modified, inode::modified_extra, change.modified_ns);
  put_time(transaction, inode, inode::changed, inode::changed_extra, now);
  return transaction.commit();
}

Result<u32> Volume::set_flags(u32 number, u32 wanted, bool may_protect, i64 now) {
  Transaction transaction{store_, *log_};
  const InodeBlock inode = TRY(inode_at(number));
  if (((inode.flags() ^ wanted) & (flag_immutable | flag_append)) != 0 && !may_protect) return Errno::eperm;
  TRY(open(transaction, inode));
  const u32 flags = (inode.flags() & ~inode::changeable_flags) | (wanted & inode::changeable_flags);
  transaction.put32(inode.at(inode::flags), flags);
  touch(transaction, inode, false, now);
  TRY(transaction.commit());
  return flags;
}

Result<std::string_view> Volume::read_link(u32 number, std::span<char> to) {
  const InodeBlock inode = TRY(inode_at(number));
  const u64 size = inode.size();
  const u8* text = inode.at(inode::blocks);
  Block block;
  if (inode.has_blocks(geometry_.block_size)) {
    if (size >= geometry_.block_size) return damaged("a symbolic link has an impossible size", number);
    const u32 where = TRY(map(inode, 0));
    if (where == 0) return damaged("a symbolic link has no text", number);
    block = TRY(Block::get(store_, where));
    text = block.bytes();
  } else if (size >= inode::inline_bytes) {
    return damaged("a symbolic link has an impossible size", number);
  }
  const u64 count = smaller(size, to.size());
  memcpy(to.data(), text, count);
  return std::string_view{to.data(), count};
}

Result<InodeBlock> Volume::make_inode(Transaction& transaction, u32 parent, const Making& making, i64 now) {
  const u32 number = TRY(take_inode(transaction, parent, making.type == FileType::directory));
  InodeBlock made = TRY(inode_at(number));
  TRY(open(transaction, made));
  if (made.links() != 0 && made.mode() != 0) return damaged("an inode in use counts as free", number);
  const u32 generation = get32(made.at(inode::generation));
  u32 flags = TRY(inode_at(parent)).flags() & inode::inherited_flags;
  if (making.type == FileType::regular) flags &= ~inode::directory_flags;
  if (making.type != FileType::regular && making.type != FileType::directory) flags &= inode::special_file_flags;
  transaction.zero(made.at(0), geometry_.inode_size);
  transaction.put32(made.at(inode::generation), generation + 1);
  transaction.put32(made.at(inode::flags), flags);
  transaction.put16(made.at(inode::mode), mode_of(making.type) | (making.permissions & 07777));
  transaction.put16(made.at(inode::user), making.user);
  transaction.put16(made.at(inode::user_high), making.user >> 16);
  transaction.put16(made.at(inode::group), making.group);
  transaction.put16(made.at(inode::group_high), making.group >> 16);
  put_links(transaction, made, making.type == FileType::directory ? 2 : 1);
  if (geometry_.inode_size >= inode::extended_size) {
    transaction.put16(made.at(inode::extra_size), inode::wanted_extra);
    put_time(transaction, made, inode::created, inode::created_extra, now);
  }
  put_time(transaction, made, inode::accessed, inode::accessed_extra, now);
  touch(transaction, made, true, now);
  if (making.type == FileType::character || making.type == FileType::block) {
    const bool small = making.special.major < 256 && making.special.minor < 256;
    const u32 old_form = making.special.major << 8 | making.special.minor;
    transaction.put32(made.at(inode::blocks + (small ? 0 : 4)), small ? old_form : static_cast<u32>(making.special.encoded()));
  }
  if (making.type == FileType::symlink) {
    const u32 size = static_cast<u32>(making.target.size());
    u8* to = made.at(inode::blocks);
    if (size >= inode::inline_bytes) {
      to = TRY(transaction.open(TRY(obtain(transaction, made, 0, false))));
      memcpy(to, making.target.data(), size);  // a block that was free
    } else {
      transaction.put(to, making.target.data(), size);
    }
    TRY(put_size(transaction, made, size));
  }
  return made;
}

}  // namespace corral::fs::ext2

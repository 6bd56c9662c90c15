// Making, removing and renaming names. See volume.h.
#include "fs/ext2/volume.h"

namespace corral::fs::ext2 {

Result<u32> Volume::create(u32 directory_number, std::string_view name, const Making& making, i64 now) {
  if (making.type == FileType::symlink && making.target.size() >= geometry_.block_size) return Errno::enametoolong;
  Transaction transaction{store_, *log_};
  const InodeBlock directory = TRY(open_directory(directory_number, true));
  const Search place = TRY(search(directory, name));
  if (place.found) return Errno::eexist;
  const bool is_directory = making.type == FileType::directory;
  if (is_directory && directory.links() >= most_links) return Errno::emlink;
  const InodeBlock made = TRY(make_inode(transaction, directory_number, making, now));
  if (is_directory) {
    TRY(make_directory(transaction, made, directory_number, now));
    TRY(open(transaction, directory));
    put_links(transaction, directory, directory.links() + 1);
  }
  TRY(add_name(transaction, directory, place, name, made.number(), making.type, now));
  const u32 number = made.number();
  TRY(transaction.commit());
  return number;
}

Result<void> Volume::link(u32 directory_number, std::string_view name, u32 file_number, i64 now) {
  Transaction transaction{store_, *log_};
  const InodeBlock directory = TRY(open_directory(directory_number, true));
  const InodeBlock file = TRY(read_inode(file_number));
  const Search place = TRY(search(directory, name));
  if (place.found) return Errno::eexist;
  if (file.links() == 0) return Errno::enoent;
  if (file.links() >= most_links) return Errno::emlink;
  TRY(open(transaction, file));
  put_links(transaction, file, file.links() + 1);
  touch(transaction, file, false, now);
  TRY(add_name(transaction, directory, place, name, file_number, file.type(), now));
  return transaction.commit();
}

Result<void> Volume::unlink(u32 directory_number, std::string_view name, i64 now) {
  Transaction transaction{store_, *log_};
  const InodeBlock directory = TRY(open_directory(directory_number, true));
  const Search place = TRY(search(directory, name));
  if (!place.found) return Errno::enoent;
  const InodeBlock file = TRY(read_inode(place.file.inode));
  if (file.is_directory()) return Errno::eisdir;
  if (file.links() == 0) return damaged("a name leads to a file that counts as removed", file.number());
  TRY(open(transaction, file));
  put_links(transaction, file, file.links() - 1);
  touch(transaction, file, false, now);
  TRY(remove_name(transaction, directory, place, now));
  return transaction.commit();
}

Result<void> Volume::remove_directory(u32 directory_number, std::string_view name, i64 now) {
  Transaction transaction{store_, *log_};
  const InodeBlock directory = TRY(open_directory(directory_number, true));
  const Search place = TRY(search(directory, name));
  if (!place.found) return Errno::enoent;
  const InodeBlock file = TRY(read_inode(place.file.inode));
  if (!file.is_directory()) return Errno::enotdir;
  if (file.number() == inode::root || file.number() == directory_number)
    return damaged("a directory lies in itself", file.number());
  if (!TRY(is_empty(file))) return Errno::enotempty;
  TRY(open(transaction, file));
  put_links(transaction, file, 0);
  touch(transaction, file, false, now);
  TRY(remove_name(transaction, directory, place, now));
  if (directory.links() > 2) put_links(transaction, directory, directory.links() - 1);
  return transaction.commit();
}

Result<void> Volume::set_parent(Transaction& transaction, const InodeBlock& directory, u32 parent) {
  const Search place = TRY(search(directory, ".."));
  if (!place.found) return damaged("a directory does not know its parent", directory.number());
  u8* at = TRY(transaction.open(place.place.block)) + place.place.offset;
  transaction.put32(at + entry::inode, parent);
  return {};
}

Result<void> Volume::rename(u32 from_number, std::string_view name, u32 to_number, std::string_view new_name, bool exchange,
                            i64 now) {
  Transaction transaction{store_, *log_};
  const InodeBlock from = TRY(open_directory(from_number, true));
  const InodeBlock to = TRY(open_directory(to_number, true));
  const Search old = TRY(search(from, name));
  if (!old.found) return Errno::enoent;
  const Search there = TRY(search(to, new_name));
  if (exchange && !there.found) return Errno::enoent;
  if (there.found && there.file.inode == old.file.inode) return {};  // two names of one file: both stay
  const InodeBlock file = TRY(read_inode(old.file.inode));
  InodeBlock other;
  if (there.found) other = TRY(read_inode(there.file.inode));
  const bool other_is_directory = there.found && other.is_directory();
  if (file.number() == inode::root || (there.found && other.number() == inode::root)) {
    return damaged("a name leads to the root", from_number);
  }
  if (there.found && !exchange) {
    if (file.is_directory() && !other_is_directory) return Errno::enotdir;
    if (!file.is_directory() && other_is_directory) return Errno::eisdir;
    if (other_is_directory && !TRY(is_empty(other))) return Errno::enotempty;
    if (other.links() == 0) return damaged("a name leads to a file that counts as removed", other.number());
  }
  // How many directories each of the two gains.
  const i32 arriving = file.is_directory() ? 1 : 0;
  const i32 leaving = other_is_directory ? 1 : 0;
  const i32 gain = from_number == to_number ? (exchange ? 0 : -leaving) : arriving - leaving;
  if (gain > 0 && to.links() >= most_links) return Errno::emlink;
  if (exchange && from_number != to_number && leaving > arriving && from.links() >= most_links) return Errno::emlink;

  TRY(open(transaction, file));
  touch(transaction, file, false, now);
  if (there.found) {
    TRY(open(transaction, other));
    touch(transaction, other, false, now);
    TRY(replace(transaction, to, there, file.number(), file.type(), now));
    if (!exchange) put_links(transaction, other, other_is_directory ? 0 : other.links() - 1);
  }
  if (exchange) {
    TRY(replace(transaction, from, old, other.number(), other.type(), now));
    if (other_is_directory && from_number != to_number) TRY(set_parent(transaction, other, from_number));
  } else {
    if (!there.found) TRY(add_name(transaction, to, there, new_name, file.number(), file.type(), now));
    // The new name may have been put behind the old one, or before it.
    const Search again = TRY(search(from, name));
    if (!again.found) return damaged("a name is gone", from_number);
    TRY(remove_name(transaction, from, again, now));
  }
  if (file.is_directory() && from_number != to_number) TRY(set_parent(transaction, file, to_number));
  const i32 loss = exchange ? arriving - leaving : arriving;
  if (from_number == to_number) {
    if (gain != 0) put_links(transaction, to, to.links() - 1);
  } else {
    if (gain != 0) put_links(transaction, to, static_cast<u32>(static_cast<i32>(to.links()) + gain));
    if (loss != 0) put_links(transaction, from, static_cast<u32>(static_cast<i32>(from.links()) - loss));
  }
  return transaction.commit();
}

}  // namespace corral::fs::ext2

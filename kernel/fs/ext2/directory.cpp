// Directories: rows of names, from the first to the last. (Trees of hashed names are made so that they can be read like that; they lose
// their tree when they are changed.) See volume.h.
#include "fs/ext2/volume.h"

#include "lib/memory_functions.h"

namespace corral::fs::ext2 {

Result<InodeBlock> Volume::open_directory(u32 number, bool change) {
  InodeBlock directory = TRY(read_inode(number));
  if (!directory.is_directory()) return Errno::enotdir;
  if (change && directory.links() == 0) return Errno::enoent;  // it was removed
  return directory;
}

Result<Block> Volume::directory_block(const InodeBlock& directory, u64 index, u32& number) {
  number = TRY(map(directory, index));
  if (number == 0) return damaged("a directory has a hole", directory.number());
  return Block::get(store_, number);
}

// The entry at `offset` of a block, which is a multiple of 4 and below its end.
Result<Volume::Entry> Volume::entry_at(const u8* block, u32 offset, u32 directory) {
  const u8* at = block + offset;
  const u32 left = geometry_.block_size - offset;
  if (left < entry::name + 4) return damaged("a directory's entry does not fit", directory);
  Entry found{get32(at + entry::inode), get16(at + entry::record), at[entry::name_size], 0, at + entry::name};
  if (geometry_.file_types) found.type = at[entry::type];
  const bool good = found.record >= entry::needed(found.name_bytes) && found.record % 4 == 0 && found.record <= left &&
                    found.record >= entry::name + 4 && found.inode <= geometry_.inodes &&
                    (found.inode == 0 || found.name_bytes > 0);
  if (!good) return damaged("a directory has an entry that cannot be", directory);
  return found;
}

namespace {

// As ext2's directories number the types of files.
FileType type_told(u32 type) {
  constexpr FileType types[] = {FileType::unknown, FileType::regular, FileType::directory, FileType::character,
                                FileType::block,   FileType::fifo,    FileType::socket,    FileType::symlink};
  return type < 8 ? types[type] : FileType::unknown;
}

u8 number_of_type(FileType type) {
  switch (type) {
    case FileType::regular: return 1;
    case FileType::directory: return 2;
    case FileType::character: return 3;
    case FileType::block: return 4;
    case FileType::fifo: return 5;
    case FileType::socket: return 6;
    case FileType::symlink: return 7;
    default: return 0;
  }
}

}  // namespace

Result<Volume::Search> Volume::search(const InodeBlock& directory, std::string_view name) {
  Search s;
  const u32 needed = entry::needed(static_cast<u32>(name.size()));
  const u64 count = directory.size() / geometry_.block_size;
  for (u64 i = 0; i < count; ++i) {
    u32 number = 0;
    const Block block = TRY(directory_block(directory, i, number));
    u32 previous = 0;
    for (u32 offset = 0; offset < geometry_.block_size;) {
      const Entry e = TRY(entry_at(block.bytes(), offset, directory.number()));
      if (e.inode != 0 && e.text() == name) {
        s.found = true;
        s.file = {e.inode, type_told(e.type)};
        s.place = {number, offset, previous};
        return s;
      }
      const u32 used = e.inode == 0 ? 0 : entry::needed(e.name_bytes);
      if (!s.has_room && e.record - used >= needed) {
        s.has_room = true;
        s.room = {number, offset, previous};
      }
      previous = offset;
      offset += e.record;
    }
  }
  return s;
}

Result<bool> Volume::is_empty(const InodeBlock& directory) {
  const u64 count = directory.size() / geometry_.block_size;
  for (u64 i = 0; i < count; ++i) {
    u32 number = 0;
    const Block block = TRY(directory_block(directory, i, number));
    for (u32 offset = 0; offset < geometry_.block_size;) {
      const Entry e = TRY(entry_at(block.bytes(), offset, directory.number()));
      if (e.inode != 0 && e.text() != "." && e.text() != "..") return false;
      offset += e.record;
    }
  }
  return true;
}

Result<Volume::Found> Volume::find(u32 number, std::string_view name) {
  const InodeBlock directory = TRY(open_directory(number, false));
  const Search s = TRY(search(directory, name));
  if (!s.found) return Errno::enoent;
  return s.file;
}

Result<void> Volume::list(u32 number, u64 position, Lister& to) {
  const InodeBlock directory = TRY(open_directory(number, false));
  const u32 size = geometry_.block_size;
  const u64 end = directory.size();
  bool any = false;  // what is wrong behind names that were given is said at the next call
  for (u64 start = position / size * size; start < end; start += size) {
    u32 where = 0;
    Result<Block> read = directory_block(directory, start / size, where);
    if (!read.ok() && any && read.error() != Errno::blocked) return {};
    const Block block = TRY(std::move(read));
    // Entries before the position may have been joined since: it is the first at or behind it that counts.
    for (u32 offset = 0; offset < size;) {
      const Result<Entry> entry = entry_at(block.bytes(), offset, number);
      if (!entry.ok() && any) return {};
      if (!entry.ok()) return entry.error();
      const Entry& e = entry.value();
      const u64 next = start + offset + e.record;
      if (e.inode != 0 && start + offset >= position) {
        if (!to.add(e.text(), e.inode, type_told(e.type), next)) return {};
        any = true;
      }
      offset += e.record;
    }
  }
  return {};
}

void Volume::put_entry(Transaction& transaction, u8* at, u32 record, std::string_view name, u32 file, FileType type) {
  transaction.put32(at + entry::inode, file);
  transaction.put16(at + entry::record, record);
  transaction.put8(at + entry::name_size, static_cast<u8>(name.size()));
  transaction.put8(at + entry::type, geometry_.file_types ? number_of_type(type) : 0);
  transaction.put(at + entry::name, name.data(), static_cast<u32>(name.size()));
}

Result<void> Volume::change_directory(Transaction& transaction, const InodeBlock& directory, i64 now) {
  TRY(open(transaction, directory));
  if ((directory.flags() & inode::flag_index) != 0) {
    transaction.put32(directory.at(inode::flags), directory.flags() & ~inode::flag_index);
  }
  touch(transaction, directory, true, now);
  return {};
}

// `search` says that the name is not there.
Result<void> Volume::add_name(Transaction& transaction, const InodeBlock& directory, const Search& search,
                              std::string_view name, u32 file, FileType type, i64 now) {
  TRY(change_directory(transaction, directory, now));
  if (!search.has_room) {
    const u64 size = directory.size();
    if (size + geometry_.block_size > largest_directory) return Errno::enospc;
    u8* block = TRY(transaction.open(TRY(obtain(transaction, directory, size / geometry_.block_size, false))));
    put_entry(transaction, block, geometry_.block_size, name, file, type);
    return put_size(transaction, directory, size + geometry_.block_size);
  }
  u8* at = TRY(transaction.open(search.room.block)) + search.room.offset;
  u32 record = get16(at + entry::record);
  if (get32(at + entry::inode) != 0) {  // behind the name that has more room than it needs
    const u32 used = entry::needed(at[entry::name_size]);
    transaction.put16(at + entry::record, used);
    at += used;
    record -= used;
  }
  put_entry(transaction, at, record, name, file, type);
  return {};
}

Result<void> Volume::remove_name(Transaction& transaction, const InodeBlock& directory, const Search& search, i64 now) {
  TRY(change_directory(transaction, directory, now));
  u8* block = TRY(transaction.open(search.place.block));
  u8* at = block + search.place.offset;
  if (search.place.previous != search.place.offset) {
    u8* before = block + search.place.previous;
    transaction.put16(before + entry::record, get16(before + entry::record) + u32{get16(at + entry::record)});
  }
  transaction.put32(at + entry::inode, 0);
  return {};
}

// The name leads to another file from now on.
Result<void> Volume::replace(Transaction& transaction, const InodeBlock& directory, const Search& search, u32 file,
                             FileType type, i64 now) {
  TRY(change_directory(transaction, directory, now));
  u8* at = TRY(transaction.open(search.place.block)) + search.place.offset;
  transaction.put32(at + entry::inode, file);
  if (geometry_.file_types) transaction.put8(at + entry::type, number_of_type(type));
  return {};
}

Result<void> Volume::make_directory(Transaction& transaction, const InodeBlock& made, u32 parent, i64 now) {
  u8* block = TRY(transaction.open(TRY(obtain(transaction, made, 0, false))));
  put_entry(transaction, block, entry::smallest, ".", made.number(), FileType::directory);
  put_entry(transaction, block + entry::smallest, geometry_.block_size - entry::smallest, "..", parent, FileType::directory);
  touch(transaction, made, true, now);
  return put_size(transaction, made, geometry_.block_size);
}

}  // namespace corral::fs::ext2

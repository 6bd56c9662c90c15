// Directories of an ext2 file system: their names, and changing them. See node.h.
#include "fs/ext2/file_system.h"
#include "fs/positioned_file.h"
#include "fs/step_memory.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs::ext2 {

namespace {

constexpr u32 rename_noreplace = 1, rename_exchange = 2;

// `ancestor` is `directory`, or a directory above it. With the file system's lock.
bool lies_in(Node& directory, const Node& ancestor) {
  for (auto* node = &directory; node != nullptr; node = static_cast<Node*>(node->place.directory().get())) {
    if (node == &ancestor) return true;
  }
  return false;
}

}  // namespace

Result<Ref<Inode>> DirectoryNode::lookup(std::string_view name) {
  if (name.size() > name_max) return Errno::enametoolong;
  Waiter& waiter = stepping_thread();
  Leftovers leftovers;
  LockGuard guard{ext2().lock()};
  const Volume::Found found = TRY(ext2().volume(&waiter).find(number, name));
  return Ref<Inode>{TRY(ext2().node(found.inode, this, name, &waiter, leftovers))};
}

Result<Ref<Inode>> DirectoryNode::create(std::string_view name, const Creation& creation) {
  if (ext2().read_only()) return Errno::erofs;
  if (name.size() > name_max) return Errno::enametoolong;
  Waiter& waiter = stepping_thread();
  const Volume::Making making{creation.type,   creation.permissions, creation.special,
                              creation.target, creation.user,        creation.group};
  const i64 now = wall_time_ns();
  return ext2().with_room(&waiter, [&]() -> Result<Ref<Inode>> {
    Leftovers leftovers;
    LockGuard guard{ext2().lock()};
    Volume& volume = ext2().volume(&waiter);
    const u32 made = TRY(volume.create(number, name, making, now));
    Result<Ref<Node>> node = ext2().node(made, this, name, &waiter, leftovers);
    if (node.ok()) return Ref<Inode>{node.take()};
    // Without a node nobody would know it: it has not been made. All that this takes is in memory.
    const bool directory = creation.type == FileType::directory;
    Volume& undo = ext2().volume(nullptr);
    (void)(directory ? undo.remove_directory(number, name, now) : undo.unlink(number, name, now));
    (void)undo.release(made, now);
    return node.error();
  });
}

Result<void> DirectoryNode::link(std::string_view name, Inode& file) {
  if (&file.file_system() != &file_system()) return Errno::exdev;
  if (file.is_directory()) return Errno::eperm;
  if (ext2().read_only()) return Errno::erofs;
  if (name.size() > name_max) return Errno::enametoolong;
  Waiter& waiter = stepping_thread();
  const i64 now = wall_time_ns();
  return ext2().with_room(&waiter, [&]() -> Result<void> {
    LockGuard guard{ext2().lock()};
    return ext2().volume(&waiter).link(number, name, static_cast<Node&>(file).number, now);
  });
}

Result<void> DirectoryNode::remove(std::string_view name, bool directory) {
  if (ext2().read_only()) return Errno::erofs;
  if (name.size() > name_max) return Errno::enametoolong;
  Waiter& waiter = stepping_thread();
  const i64 now = wall_time_ns();
  Leftovers leftovers;
  Ref<Node> file;
  LockGuard guard{ext2().lock()};
  Volume& volume = ext2().volume(&waiter);
  const Volume::Found found = TRY(volume.find(number, name));
  file = TRY(ext2().node(found.inode, this, name, &waiter, leftovers));
  if (directory && file->covered.load(Order::relaxed)) return Errno::ebusy;
  TRY(directory ? volume.remove_directory(number, name, now) : volume.unlink(number, name, now));
  if (file->links() == 0) ext2().note_removed(*file, leftovers);
  if (file->place.is(*this, name)) leftovers.add(file->place.leave());
  return {};
}

Result<void> DirectoryNode::rename(std::string_view name, Inode& target, std::string_view new_name, u32 flags) {
  if (&target.file_system() != &file_system()) return Errno::exdev;
  if (!target.is_directory()) return Errno::enotdir;
  if (ext2().read_only()) return Errno::erofs;
  if (name.size() > name_max || new_name.size() > name_max) return Errno::enametoolong;
  auto& to = static_cast<DirectoryNode&>(target);
  Waiter& waiter = stepping_thread();
  const i64 now = wall_time_ns();
  const bool exchange = (flags & rename_exchange) != 0;
  NameCopy new_copy, old_copy;
  TRY(new_copy.make(new_name));
  TRY(old_copy.make(name));
  return ext2().with_room(&waiter, [&]() -> Result<void> {
    Leftovers leftovers;
    Ref<Node> file, other;
    LockGuard guard{ext2().lock()};
    Volume& volume = ext2().volume(&waiter);
    file = TRY(ext2().node(TRY(volume.find(number, name)).inode, this, name, &waiter, leftovers));
    const Result<Volume::Found> there = volume.find(to.number, new_name);
    if (!there.ok() && there.error() != Errno::enoent) return there.error();
    if (there.ok() && (flags & rename_noreplace) != 0) return Errno::eexist;
    if (there.ok()) other = TRY(ext2().node(there.value().inode, &to, new_name, &waiter, leftovers));
    if (other.get() == file.get()) return {};  // two names of one file: both stay
    if (file->is_directory() && lies_in(to, *file)) return Errno::einval;
    if (other && lies_in(*this, *other)) return exchange ? Errno::einval : Errno::enotempty;
    if (file->covered.load(Order::relaxed) || (other && other->covered.load(Order::relaxed))) return Errno::ebusy;
    TRY(volume.rename(number, name, to.number, new_name, exchange, now));
    if (other && exchange) {
      leftovers.add(other->place.set(*this, old_copy));
    } else if (other) {
      if (other->links() == 0) ext2().note_removed(*other, leftovers);
      if (other->place.is(to, new_name)) leftovers.add(other->place.leave());
    }
    leftovers.add(file->place.set(to, new_copy));
    return {};
  });
}

namespace {

struct ListingLister final : Volume::Lister {
  explicit ListingLister(Listing& listing) : to{listing} {}
  bool add(std::string_view name, u32 inode, FileType type, u64 next) override { return to.add(name, inode, type, next); }
  Listing& to;
};

}  // namespace

Result<void> DirectoryNode::list(u64 position, Listing& listing) {
  ListingLister lister{listing};
  Waiter& waiter = stepping_thread();
  LockGuard guard{ext2().lock()};
  return ext2().volume(&waiter).list(number, position, lister);
}

Result<Ref<OpenFile>> DirectoryNode::open(const OpenRequest& request) {
  return Ref<OpenFile>{Ref<DirectoryFile>::adopt(TRY(memory::make<DirectoryFile>(Ref<Inode>::share(*this), request.flags)))};
}

}  // namespace corral::fs::ext2

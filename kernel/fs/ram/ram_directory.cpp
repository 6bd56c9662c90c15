// Directories in memory. See ram_directory.h.
#include "fs/ram/ram_directory.h"

#include "fs/pipe.h"
#include "fs/positioned_file.h"
#include "fs/ram/ram_file.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

namespace {

constexpr u32 rename_noreplace = 1, rename_exchange = 2;
constexpr u32 max_links = 65000;

Result<Ref<RamNode>> make_node(RamFileSystem& ram, const Creation& creation) {
  switch (creation.type) {
    case FileType::regular: return Ref<RamNode>{Ref<RamFile>::adopt(TRY(memory::make<RamFile>(ram, creation.permissions)))};
    case FileType::directory:
      return Ref<RamNode>{Ref<RamDirectory>::adopt(TRY(memory::make<RamDirectory>(ram, creation.permissions)))};
    case FileType::symlink: return RamLink::create(ram, creation.target);
    case FileType::fifo: return Ref<RamNode>{Ref<RamFifo>::adopt(TRY(memory::make<RamFifo>(ram, creation.permissions)))};
    case FileType::socket: return Ref<RamNode>{Ref<RamSocket>::adopt(TRY(memory::make<RamSocket>(ram, creation.permissions)))};
    case FileType::character:
    case FileType::block:
      return Ref<RamNode>{
          Ref<RamDevice>::adopt(TRY(memory::make<RamDevice>(ram, creation.type, creation.permissions, creation.special)))};
    case FileType::unknown: break;
  }
  return Errno::einval;
}

}  // namespace

RamDirectory::~RamDirectory() {
  clear_tree();  // empty but for a file system that is going away
}

RamDirectory::Entry* RamDirectory::make_entry(std::string_view name) {
  void* storage = memory::allocate(sizeof(Entry) + name.size());
  if (storage == nullptr) return nullptr;
  auto* entry = ::new (storage) Entry{};
  entry->size = static_cast<u16>(name.size());
  memcpy(entry->text, name.data(), name.size());
  return entry;
}

RamDirectory::Entry* RamDirectory::find(std::string_view name) const {
  Entry* entry = names_.first_where([&](const Entry& e) { return e.name() >= name; });
  return entry != nullptr && entry->name() == name ? entry : nullptr;
}

void RamDirectory::insert(Entry& entry, Ref<RamNode> file) {
  entry.serial = next_serial_++;
  names_.insert(entry);
  order_.insert(entry);
  entry_count_.fetch_add(1, Order::relaxed);
  file->place = {this, entry.name()};
  if (file->is_directory()) {
    links.fetch_add(1, Order::relaxed);
  } else {
    file->links.fetch_add(1, Order::relaxed);
  }
  file->touch_changed();
  entry.file = file.release();
  touch_modified();
}

Ref<RamNode> RamDirectory::take(Entry& entry) {
  names_.remove(entry);
  order_.remove(entry);
  entry_count_.fetch_sub(1, Order::relaxed);
  RamNode& file = *entry.file;
  if (file.place.directory == this && file.place.name.data() == entry.text) file.place = {};
  if (file.is_directory()) {
    links.fetch_sub(1, Order::relaxed);
  } else {
    file.links.fetch_sub(1, Order::relaxed);
  }
  file.touch_changed();
  touch_modified();
  return Ref<RamNode>::adopt(&file);
}

Result<Ref<Inode>> RamDirectory::parent() {
  if (is_root_) return Ref<Inode>::share(*this);
  return RamNode::parent();
}

Result<std::string_view> RamDirectory::name(std::span<char> to) {
  return RamNode::name(to);
}

Result<Ref<Inode>> RamDirectory::lookup(std::string_view name) {
  LockGuard guard{ram().names()};
  Entry* entry = find(name);
  if (entry == nullptr) return Errno::enoent;
  return Ref<Inode>::share(*entry->file);
}

Result<void> RamDirectory::add(std::string_view name, Ref<RamNode> file) {
  Entry* entry = make_entry(name);
  if (entry == nullptr) return Errno::enomem;
  Errno error{};
  {
    LockGuard guard{ram().names()};
    if (removed()) {
      error = Errno::enoent;
    } else if (find(name) != nullptr) {
      error = Errno::eexist;
    } else if (file->links.load(Order::relaxed) >= max_links) {
      error = Errno::emlink;
    } else {
      insert(*entry, static_cast<Ref<RamNode>&&>(file));
      return {};
    }
  }
  memory::release(entry);
  return error;
}

Result<Ref<Inode>> RamDirectory::create(std::string_view name, const Creation& creation) {
  if (ram().own_files_only()) return Errno::eperm;
  Ref<RamNode> made = TRY(make_node(ram(), creation));
  made->set_owner(creation.user, creation.group);
  made->inherit_flags(*this);
  TRY(add(name, made));
  return Ref<Inode>{made};
}

Result<Ref<Inode>> RamDirectory::create_unnamed(u32 permissions, bool linkable) {
  if (ram().own_files_only()) return Errno::eopnotsupp;
  Ref<RamFile> made = Ref<RamFile>::adopt(TRY(memory::make<RamFile>(ram(), permissions)));
  if (linkable) made->make_linkable();
  made->inherit_flags(*this);
  return Ref<Inode>{made};
}

Result<void> RamDirectory::link(std::string_view name, Inode& file) {
  if (&file.file_system() != &file_system()) return Errno::exdev;
  if (file.is_directory()) return Errno::eperm;
  const bool linkable = file.type() == FileType::regular && static_cast<RamFile&>(file).linkable();
  if (static_cast<RamNode&>(file).links.load(Order::relaxed) == 0 && !linkable) return Errno::enoent;
  TRY(add(name, Ref<RamNode>::share(static_cast<RamNode&>(file))));
  return {};
}

Result<void> RamDirectory::unlink(std::string_view name) {
  Entry* entry = nullptr;
  Ref<RamNode> gone;
  {
    LockGuard guard{ram().names()};
    entry = find(name);
    if (entry == nullptr) return Errno::enoent;
    if (entry->file->is_directory()) return Errno::eisdir;
    gone = take(*entry);
  }
  memory::release(entry);
  return {};
}

Result<void> RamDirectory::remove_directory(std::string_view name) {
  Entry* entry = nullptr;
  Ref<RamNode> gone;
  {
    LockGuard guard{ram().names()};
    entry = find(name);
    if (entry == nullptr) return Errno::enoent;
    if (!entry->file->is_directory()) return Errno::enotdir;
    if (!static_cast<RamDirectory*>(entry->file)->names_.empty()) return Errno::enotempty;
    if (entry->file->covered.load(Order::relaxed)) return Errno::ebusy;
    gone = take(*entry);
    gone->links.store(0, Order::relaxed);  // its own "." is gone, too
  }
  memory::release(entry);
  return {};
}

bool RamDirectory::inside(const RamNode& ancestor) const {
  for (const RamNode* node = this; node != nullptr; node = node->place.directory) {
    if (node == &ancestor) return true;
  }
  return false;
}

Result<void> RamDirectory::rename(std::string_view name, Inode& target_inode, std::string_view new_name, u32 flags) {
  if (&target_inode.file_system() != &file_system()) return Errno::exdev;
  if (!target_inode.is_directory()) return Errno::enotdir;
  auto& target = static_cast<RamDirectory&>(target_inode);
  Entry* fresh = make_entry(new_name);
  if (fresh == nullptr) return Errno::enomem;
  Entry* old = nullptr;
  Entry* existing = nullptr;
  Ref<RamNode> gone;
  Errno error{};
  bool renamed = false;
  {
    LockGuard guard{ram().names()};
    old = find(name);
    existing = target.find(new_name);
    if (old == nullptr || target.removed()) {
      error = Errno::enoent;
    } else if (existing != nullptr && (flags & rename_noreplace) != 0) {
      error = Errno::eexist;
    } else if (existing == nullptr && (flags & rename_exchange) != 0) {
      error = Errno::enoent;
    } else if (existing != nullptr && existing->file == old->file) {
      error = Errno{};  // the same file by both names: nothing to do (POSIX rename)
    } else {
      const Result<void> outcome = rename_locked(*old, target, existing, *fresh, flags, gone);
      renamed = outcome.ok();
      if (!renamed) error = outcome.error();
    }
  }
  if (renamed && (flags & rename_exchange) == 0) {
    memory::release(old);
    memory::release(existing);
    return {};
  }
  memory::release(fresh);
  if (error != Errno{}) return error;
  return {};
}

Result<void> RamDirectory::rename_locked(Entry& entry, RamDirectory& target, Entry* existing, Entry& fresh, u32 flags,
                                         Ref<RamNode>& gone) {
  RamNode& file = *entry.file;
  if (file.covered.load(Order::relaxed)) return Errno::ebusy;
  if (file.is_directory() && target.inside(file)) return Errno::einval;
  if ((flags & rename_exchange) != 0) {
    RamNode& other = *existing->file;
    if (other.covered.load(Order::relaxed)) return Errno::ebusy;
    if (other.is_directory() && inside(other)) return Errno::einval;
    entry.file = &other;
    existing->file = &file;
    other.place = {this, entry.name()};
    file.place = {&target, existing->name()};
    const int moved = (other.is_directory() ? 1 : 0) - (file.is_directory() ? 1 : 0);
    links.fetch_add(static_cast<u32>(moved), Order::relaxed);
    target.links.fetch_sub(static_cast<u32>(moved), Order::relaxed);
    file.touch_changed();
    other.touch_changed();
    touch_modified();
    target.touch_modified();
    return {};
  }
  if (existing != nullptr) {
    RamNode& other = *existing->file;
    if (inside(other)) return Errno::enotempty;  // the name is (above) where the file is
    if (file.is_directory()) {
      if (!other.is_directory()) return Errno::enotdir;
      if (!static_cast<RamDirectory&>(other).names_.empty()) return Errno::enotempty;
      if (other.covered.load(Order::relaxed)) return Errno::ebusy;
    } else if (other.is_directory()) {
      return Errno::eisdir;
    }
    gone = target.take(*existing);
    if (gone->is_directory()) gone->links.store(0, Order::relaxed);
  }
  target.insert(fresh, take(entry));
  return {};
}

Result<void> RamDirectory::list(u64 position, Listing& listing) {
  if (position == 0) {
    if (!listing.add(".", attributes().inode, FileType::directory, 1)) return {};
    position = 1;
  }
  if (position == 1) {
    const Result<Ref<Inode>> above = parent();
    const u64 number = above.ok() ? above.value()->attributes().inode : attributes().inode;
    if (!listing.add("..", number, FileType::directory, 2)) return {};
    position = 2;
  }
  LockGuard guard{ram().names()};
  for (Entry* e = order_.first_where([&](const Entry& x) { return x.serial >= position; }); e != nullptr; e = order_.next(*e)) {
    if (!listing.add(e->name(), e->file->attributes().inode, e->file->type(), e->serial + 1)) break;
  }
  return {};
}

Result<Ref<OpenFile>> RamDirectory::open(const OpenRequest& request) {
  return Ref<OpenFile>{Ref<DirectoryFile>::adopt(TRY(memory::make<DirectoryFile>(Ref<Inode>::share(*this), request.flags)))};
}

// Without recursion, for users nest directories as deep as they like: what was taken out waits in a list for its turn.
void RamDirectory::clear_tree() {
  RamDirectory* waiting = nullptr;  // each a reference
  RamDirectory* at = this;
  for (;;) {
    Entry* entry = nullptr;
    Ref<RamNode> file;
    {
      LockGuard guard{ram().names()};
      entry = at->names_.first();
      if (entry != nullptr) file = at->take(*entry);
    }
    memory::release(entry);
    if (file && file->is_directory()) {
      auto* directory = static_cast<RamDirectory*>(file.release());
      directory->next_to_clear_ = std::exchange(waiting, directory);
    } else if (entry == nullptr) {
      if (at != this) at->drop();
      if (waiting == nullptr) return;
      at = std::exchange(waiting, waiting->next_to_clear_);
    }
  }
}

}  // namespace corral::fs

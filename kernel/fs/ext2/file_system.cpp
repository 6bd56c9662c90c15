// Which files of an ext2 file system are known, and starting it. See file_system.h.
#include "fs/ext2/file_system.h"

#include "fs/step_memory.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/thread.h"

namespace corral::fs::ext2 {

Ext2FileSystem::Ext2FileSystem(Disk& disk, const Geometry& geometry, Ref<Metadata> metadata, bool read_only)
    : disk_{disk}, geometry_{geometry}, read_only_{read_only}, metadata_{std::move(metadata)}, volume_{geometry, *metadata_} {
  enlist();
}

Ext2FileSystem::~Ext2FileSystem() {
  delist();
  while (Orphan* orphan = orphans_.pop_front()) delete orphan;
}

Result<void> Ext2FileSystem::start(Waiter& waiter) {
  Leftovers leftovers;
  const i64 now = wall_time_ns();
  LockGuard guard{lock_};
  Volume& v = volume(&waiter);
  TRY(v.start());
  if (superblock_.bytes() == nullptr) { superblock_ = TRY(Block::get(*metadata_, superblock_offset / geometry_.block_size)); }
  if (!root_) {
    Ref<Node> root = TRY(node(inode::root, nullptr, {}, &waiter, leftovers));
    if (!root->is_directory()) return v.damaged("the root is no directory", inode::root);
    root_ = root;
  }
  if (!read_only_) TRY(v.mark(false, now));
  marked_clean_ = read_only_;
  return {};
}

Node* Ext2FileSystem::find(u32 number) const {
  Node* node = nodes_.first_where([&](const Node& n) { return n.number >= number; });
  return node != nullptr && node->number == number ? node : nullptr;
}

Ref<Node> Ext2FileSystem::next_node(u32 after) {
  LockGuard guard{lock_};
  Node* node = nodes_.first_where([&](const Node& n) { return n.number > after; });
  for (; node != nullptr; node = nodes_.next(*node)) {
    if (node->retain_if_alive()) return Ref<Node>::adopt(node);
  }
  return {};
}

void Ext2FileSystem::touch(Node& node, Leftovers& leftovers) {
  if (!detached_) leftovers.add(recent_.touch(node));  // or it would keep the file system for ever
}

void Ext2FileSystem::forget_recent() {
  for (;;) {
    Ref<Node> node;
    LockGuard guard{lock_};
    node = recent_.forget_oldest();
    if (!node) return;
  }
}

void Ext2FileSystem::forget(Node& node) {
  if (node.detached) return;
  node.detached = true;
  nodes_.remove(node);
  --node_count_;
}

void Ext2FileSystem::note_removed(Node& node, Leftovers& leftovers) {
  node.note_removed();
  leftovers.add(recent_.forget(node));
}

Result<Ref<Node>> Ext2FileSystem::node(u32 number, Node* parent, std::string_view name, Waiter* waiter, Leftovers& leftovers) {
  Volume& v = volume(waiter);
  Ref<Node> node;
  Node* old = find(number);
  if (old != nullptr && old->retain_if_alive()) {
    node = Ref<Node>::adopt(old);
  } else {
    if (old != nullptr) forget(*old);
    InodeBlock inode = TRY(v.read_inode(number));
    if (inode.links() == 0) return v.damaged("a name leads to a file that counts as removed", number);
    node = TRY(Node::make(*this, std::move(inode)));
    nodes_.insert(*node);
    ++node_count_;
  }
  if (parent != nullptr && !node->place.is(*parent, name)) {
    // The way up from a directory is one, and ends at the root: so that whoever goes it arrives.
    if (node->is_directory() && (node->place.directory() || number == inode::root)) {
      leftovers.add(Ref<Inode>{node});
      return v.damaged("a directory has two names", number);
    }
    NameCopy copy;
    if (!copy.make(name)) {
      leftovers.add(Ref<Inode>{node});
      return Errno::enomem;
    }
    leftovers.add(node->place.set(*parent, copy));
  }
  touch(*node, leftovers);
  return node;
}

FileSystemStatistics Ext2FileSystem::statistics() {
  LockGuard guard{lock_};
  return volume(nullptr).statistics();  // the superblock is in memory
}

// What is free once everything has been given back that nobody needs.
Result<void> Ext2FileSystem::refresh_statistics() {
  if (!read_only_) (void)TRY(give_back(&stepping_thread()));
  return {};
}

Result<void> Ext2FileSystem::sync(u64& progress) {
  constexpr u64 flushed = 16;
  if (progress < flushed) {
    TRY(metadata_->pages().flush(progress, stepping_thread()));
    progress = flushed;
  }
  return disk_.flush();
}

Ref<Inode> Ext2FileSystem::root() {
  LockGuard guard{lock_};
  return root_;
}

// What has been left in order by prepare_unmount() gives the disk back at once; otherwise the worker does when all files are gone.
void Ext2FileSystem::dismantle() {
  Ref<Inode> root;
  {
    LockGuard guard{lock_};
    detached_ = true;
    std::swap(root, root_);
  }
  forget_recent();
  root = {};
  bool works = false;
  {
    LockGuard guard{lock_};
    end_if_clean();
    works = begin_work();
  }
  if (works) start_worker();
}

}  // namespace corral::fs::ext2

// Files of an ext2 file system. Node is what all have; FileNode adds data, DirectoryNode names.
//
// What an inode says is read from its block, which a node keeps in memory for as long as it lives: so telling and changing it never waits.
// What is guarded by the file system's lock says so; the rest is constant or has locks of its own.
#pragma once

#include "fs/cache/file_pages.h"
#include "fs/ext2/volume.h"
#include "fs/pipe.h"
#include "fs/place.h"
#include "fs/recent_files.h"
#include "lib/intrusive_list.h"
#include "lib/red_black_tree.h"

namespace corral::fs::ext2 {

class Ext2FileSystem;
class DirectoryNode;

// A file without names whose blocks are to be given back; made with the node, so that there is one when it is needed.
struct Orphan {
  ListLink link;
  u32 number = 0;
};

class Node : public Inode {
 public:
  Node(Ext2FileSystem& file_system, InodeBlock inode, Orphan& orphan);
  ~Node() override;
  // The right class for the type of file. enomem.
  static Result<Ref<Node>> make(Ext2FileSystem& file_system, InodeBlock inode);

  [[nodiscard]] Attributes attributes() override;
  Result<void> change(const AttributeChange& change) override;
  Result<Ref<Inode>> parent() override;
  Result<std::string_view> name(std::span<char> to) override;
  Result<std::string_view> read_link(std::span<char> to) override;
  [[nodiscard]] u32 told_flags() const override;
  Result<void> set_flags(u32 wanted, bool may_protect) override;
  Result<u64> attribute(std::string_view name, std::span<u8> to) override;
  Result<void> set_attribute(std::string_view name, std::span<const u8> value, AttributeSetting setting) override;
  Result<void> remove_attribute(std::string_view name) override;
  Result<u64> list_attributes(std::span<char> to, bool trusted) override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;
  Result<void> sync(u64& progress) override;

  [[nodiscard]] Ext2FileSystem& ext2() const;
  [[nodiscard]] u32 links() const { return inode_.links(); }  // with the file system's lock
  // The last name is gone.
  void note_removed() { removed_.store(true, Order::release); }
  [[nodiscard]] bool is_removed() const { return removed_.load(Order::acquire); }
  // Finishes what a thread has begun that is no more; with the file system's lock. As Volume::shorten. `waiter` null: nobody can wait.
  virtual Result<bool> finish_shortening(Waiter*) { return true; }
  // It has no blocks that are to be given back still; with the file system's lock.
  [[nodiscard]] virtual bool is_whole() const { return true; }
  // Waits while its pages are being written. blocked.
  virtual Result<void> settle(Waiter& waiter) { return (void)waiter, Result<void>{}; }

  const u32 number;
  TreeLink by_number;
  ListLink recent;
  struct Before {
    bool operator()(const Node& a, const Node& b) const { return a.number < b.number; }
  };

  [[nodiscard]] const InodeBlock& record() const { return inode_; }

  // ---- guarded by the file system's lock ----
  Place place;
  bool detached = false;  // it is in no table any more: its last reference goes

 private:
  const InodeBlock inode_;
  Orphan* orphan_;  // null: handed over
  Atomic<bool> removed_{false};
  Fifo fifo_;  // of fifos
};

class FileNode final : public Node, private FilePages::Store {
 public:
  FileNode(Ext2FileSystem& file_system, InodeBlock inode, Orphan& orphan);
  ~FileNode() override;
  [[nodiscard]] Attributes attributes() override;
  Result<u64> read(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> write(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> append(Transfer& transfer, u64 at, u64 size, u64& end) override;
  Result<void> resize(u64 size) override;
  Result<void> sync(u64& progress) override;
  [[nodiscard]] WriteErrors* write_errors() override { return &pages_.errors(); }
  Result<Ref<vm::Backing>> backing() override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;
  Result<bool> finish_shortening(Waiter* waiter) override;
  [[nodiscard]] bool is_whole() const override;
  Result<void> settle(Waiter& waiter) override { return pages_.settle(waiter); }

 private:
  Result<Extent> find(u64 index, u64 count, Waiter* waiter) override;
  Result<PagePlace> reserve(u64 index, u32 from, u32 to, Waiter* waiter) override;
  PageRun* make_run() override;
  void start(PageRun& run) override;
  [[nodiscard]] PagePlace behind(const PagePlace& place, u64 pages) const override;
  [[nodiscard]] bool holds(const PagePlace& place, u32 from, u32 to) const override;
  [[nodiscard]] PagePlace cut(const PagePlace& place, u32 bytes) const override;
  [[nodiscard]] bool abandoned() const override { return is_removed(); }

  [[nodiscard]] u32 block_size() const;
  [[nodiscard]] u32 parts() const { return static_cast<u32>(page_size) / block_size(); }
  void note_written();
  Result<void> shorten(Waiter* waiter);

  static constexpr u32 most_parts = 4;  // of a page
  static constexpr u64 nothing = ~u64{0};
  FilePages pages_;
  // Blocks; those behind are being given back, and none is taken until that is done; the file system's lock.
  u64 keep_ = nothing;
};

class DirectoryNode final : public Node {
 public:
  using Node::Node;
  Result<Ref<Inode>> lookup(std::string_view name) override;
  Result<Ref<Inode>> create(std::string_view name, const Creation& creation) override;
  Result<void> link(std::string_view name, Inode& file) override;
  Result<void> unlink(std::string_view name) override { return remove(name, false); }
  Result<void> remove_directory(std::string_view name) override { return remove(name, true); }
  Result<void> rename(std::string_view name, Inode& target, std::string_view new_name, u32 flags) override;
  Result<void> list(u64 position, Listing& listing) override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;

 private:
  Result<void> remove(std::string_view name, bool directory);
};

}  // namespace corral::fs::ext2

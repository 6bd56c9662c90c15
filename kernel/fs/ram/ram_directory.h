// A directory in memory: names in a tree for look-ups, and in the order of their making for listing.
// Guarded by the file system's names lock. A directory keeps a reference to each file in it; a file does not keep its directory,
// but a directory stays until it is removed, and then nothing is in it.
#pragma once

#include "fs/ram/ram_node.h"
#include "lib/red_black_tree.h"

namespace corral::fs {

class RamDirectory final : public RamNode {
 public:
  RamDirectory(RamFileSystem& file_system, u32 permissions) : RamNode{file_system, FileType::directory, permissions} {
    links.store(2, Order::relaxed);
  }
  ~RamDirectory() override;

  Result<Ref<Inode>> parent() override;
  Result<std::string_view> name(std::span<char> to) override;
  Result<Ref<Inode>> lookup(std::string_view name) override;
  Result<Ref<Inode>> create(std::string_view name, const Creation& creation) override;
  Result<Ref<Inode>> create_unnamed(u32 permissions, bool linkable) override;
  Result<void> link(std::string_view name, Inode& file) override;
  Result<void> unlink(std::string_view name) override;
  Result<void> remove_directory(std::string_view name) override;
  Result<void> rename(std::string_view name, Inode& target, std::string_view new_name, u32 flags) override;
  Result<void> list(u64 position, Listing& listing) override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;
  [[nodiscard]] u64 size_now() override { return entry_count_.load(Order::relaxed) * 20 + 40; }

  // Puts a new file in. eexist, enomem; enoent: this directory has been removed.
  Result<void> add(std::string_view name, Ref<RamNode> file);
  // Takes everything out, all the way down (the file system is going away).
  void clear_tree();
  void become_root() { is_root_ = true; }

 private:
  struct Entry {
    TreeLink by_name;
    TreeLink by_serial;
    u64 serial;
    RamNode* file;  // a reference
    u16 size;
    char text[];  // `size` bytes
    [[nodiscard]] std::string_view name() const { return {text, size}; }
  };
  struct NameLess {
    bool operator()(const Entry& a, const Entry& b) const { return a.name() < b.name(); }
  };
  struct SerialLess {
    bool operator()(const Entry& a, const Entry& b) const { return a.serial < b.serial; }
  };

  static Entry* make_entry(std::string_view name);
  [[nodiscard]] Entry* find(std::string_view name) const;
  void insert(Entry& entry, Ref<RamNode> file);
  // Takes the entry out; answers the reference that it held. The caller releases the entry's memory.
  [[nodiscard]] Ref<RamNode> take(Entry& entry);
  [[nodiscard]] bool removed() const { return place.directory == nullptr && !is_root_; }
  [[nodiscard]] bool inside(const RamNode& ancestor) const;
  Result<void> rename_locked(Entry& entry, RamDirectory& target, Entry* existing, Entry& fresh, u32 flags, Ref<RamNode>& gone);

  RedBlackTree<Entry, &Entry::by_name, NameLess> names_;
  RedBlackTree<Entry, &Entry::by_serial, SerialLess> order_;
  u64 next_serial_ = 2;
  Atomic<u64> entry_count_{0};
  RamDirectory* next_to_clear_ = nullptr;  // clear_tree()'s own, once nothing leads here
  bool is_root_ = false;
};

}  // namespace corral::fs

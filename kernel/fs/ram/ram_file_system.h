// The file system in memory: the root, /dev, /dev/shm and every tmpfs. Pages are allocated when they are written.
//
// names_ protects the tree: which names are in which directory, parents and link counts. It is one lock for the file
// system, held for look-ups of single names only. Attributes are atomics; file contents have a lock for each file.
#pragma once

#include "fs/inode.h"
#include "fs/ram/ram_handles.h"
#include "sync/spin_lock.h"

namespace corral::fs {

class RamDirectory;

class RamFileSystem final : public FileSystem {
 public:
  // `type`: a text that lives for ever. `page_limit`: pages of contents at most, then enospc. enomem.
  static Result<Ref<RamFileSystem>> create(const char* type, u64 page_limit, u32 root_permissions = 0755);
  ~RamFileSystem() override;

  [[nodiscard]] const char* type() const override { return type_; }
  [[nodiscard]] Ref<Inode> root() override;
  [[nodiscard]] FileSystemStatistics statistics() override;
  void dismantle() override;
  Result<u64> handle_of(Inode& file) override;
  Result<Ref<Inode>> find_by_handle(u64 number) override { return handles_.find(number); }

  [[nodiscard]] SpinLock& names() RETURN_CAPABILITY(names_) { return names_; }
  [[nodiscard]] u64 next_inode_number() { return next_inode_.fetch_add(1, Order::relaxed); }
  // Contents: a page more, or `pages` fewer. enospc.
  Result<void> charge_page();
  void discharge(u64 pages) { pages_used_.fetch_sub(pages, Order::relaxed); }
  // Extended attributes: so many bytes more, or fewer. Together with the contents they keep to the limit. enospc.
  Result<void> charge_bytes(u64 bytes);
  void discharge_bytes(u64 bytes) { bytes_used_.fetch_sub(bytes, Order::relaxed); }
  void count_file(bool more);
  // Copies of the archive's pages, which have no limit: one more, or `pages` fewer.
  void count_copy() { copies_.fetch_add(1, Order::relaxed); }
  void forget_copies(u64 pages) { copies_.fetch_sub(pages, Order::relaxed); }
  // Programs can make nothing in it; the kernel adds files of its own. Before it is mounted.
  void hold_own_files_only() { own_files_only_ = true; }
  // statfs tells this kind, and no sizes: its files stand for something else. Before it is mounted.
  void stand_for(u64 magic) { magic_ = magic; }
  [[nodiscard]] RamHandles& handles() { return handles_; }
  [[nodiscard]] bool own_files_only() const { return own_files_only_; }

 private:
  RamFileSystem(const char* type, u64 page_limit) : type_{type}, page_limit_{page_limit} {}

  [[nodiscard]] u64 pages_of_bytes() const { return round_up(bytes_used_.load(Order::relaxed), page_size) / page_size; }

  const char* type_;
  const u64 page_limit_;
  Atomic<u64> pages_used_{0};
  Atomic<u64> bytes_used_{0};
  Atomic<u64> copies_{0};
  Atomic<u64> files_{0};
  Atomic<u64> next_inode_{1};
  RamHandles handles_;
  SpinLock names_{Rank::directory, "names"};
  bool own_files_only_ = false;  // boot
  u64 magic_ = 0;                // boot; 0: its files are files
  RamDirectory* root_ = nullptr;  // a reference; boot, then dismantle()
};

}  // namespace corral::fs

// The blocks of a file system's own that are in memory: those with inodes, bitmaps, directories, numbers of blocks. Page n of the cache has block n in
// its first bytes: with less in a page than a page holds, no block that a file has its data in is ever written from here.
//
// Context: as FilePages; as a BlockStore with the file system's lock, whose holder says for whom blocks are waited.
#pragma once

#include "fs/disk.h"
#include "fs/ext2/block_store.h"

namespace corral::fs::ext2 {

class Metadata final : public Inode, public BlockStore, private FilePages::Store {
 public:
  Metadata(Disk& disk, u32 block_size, u32 blocks);
  ~Metadata() override { give_back_disk(); }
  // Others may use the disk. Nothing is dirty.
  void give_back_disk();
  [[nodiscard]] FilePages& pages() { return pages_; }
  [[nodiscard]] Attributes attributes() override { return {}; }
  // Who waits for blocks that are not in memory; null: nobody can. With the file system's lock.
  void set_waiter(Waiter* waiter) { waiter_ = waiter; }

  Result<Pin> pin(u32 block) override;
  void unpin(const Pin& pin) override;
  void changed(u32 block) override { pages_.wrote(block); }
  Result<void> forget(u32 block) override { return pages_.discard(block, waiter_); }

 private:
  Result<Extent> find(u64 index, u64 count, Waiter* waiter) override;
  Result<PagePlace> reserve(u64 index, u32 from, u32 to, Waiter* waiter) override;
  PageRun* make_run() override;
  void start(PageRun& run) override;

  Disk& disk_;
  Atomic<bool> has_disk_{true};
  const u32 block_size_;
  Waiter* waiter_ = nullptr;  // the file system's lock
  FilePages pages_;
};

}  // namespace corral::fs::ext2

// A regular file in memory. What came with the initramfs is read where the boot loader put it until it is written or
// mapped; every other page is allocated when it is first written, and counted against the file system's limit.
//
// data_ (rank page_cache: it may be taken by a page fault inside the address space's lock) protects index, size and origin.
// Bytes are copied without it: a page in the index has a reference for the time of the copy.
#pragma once

#include "fs/page_index.h"
#include "fs/ram/ram_node.h"

namespace corral::fs {

class RamFile final : public RamNode {
 public:
  RamFile(RamFileSystem& file_system, u32 permissions) : RamNode{file_system, FileType::regular, permissions} {}
  ~RamFile() override;
  // Boot context: the contents, in memory that stays for ever.
  void set_origin(std::span<const u8> contents) EXCLUDES(data_);

  Result<u64> read(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> write(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> append(Transfer& transfer, u64 at, u64 size, u64& end) override;
  Result<void> resize(u64 size) override;
  Result<Ref<vm::Backing>> backing() override;
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;
  [[nodiscard]] u64 size_now() override EXCLUDES(data_);
  [[nodiscard]] u64 pages_now() override EXCLUDES(data_);

  // For mappings: the page with a reference for the caller. efault beyond the end; enomem.
  void pages_at_hand(u64 first, std::span<Frame*> frames) EXCLUDES(data_);  // see vm::Backing
  Result<Frame*> page(u64 index) EXCLUDES(data_);

  static constexpr u64 max_size = PageIndex::max_pages * page_size;

 private:
  // The page, made (from the origin or zero) if there is none.
  Result<Frame*> obtain(u64 index) REQUIRES(data_);

  SpinLock end_{Rank::file_end, "end of file"};  // appending, so that two writers do not find the same end
  SpinLock data_{Rank::page_cache, "file data"};
  PageIndex pages_ GUARDED_BY(data_);
  // Pages below this came with the archive: copies of them (programs are mapped from such) do not count against the file
  // system's limit, or a full one would leave no program that can run.
  u64 uncounted_ GUARDED_BY(data_) = 0;
  u64 remove_pages_from(u64 index) REQUIRES(data_);  // answers how many of them were counted
  std::span<const u8> origin_ GUARDED_BY(data_);  // bytes of pages that are not in the index
  u64 size_ GUARDED_BY(data_) = 0;
  u64 page_count_ GUARDED_BY(data_) = 0;
};

}  // namespace corral::fs

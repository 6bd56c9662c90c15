// A regular file in memory. What came with the initramfs is read where the boot loader put it until it is written or
// mapped; every other page is allocated when it is first written, and counted against the file system's limit.
//
// data_ (rank page_cache: it may be taken by a page fault inside the address space's lock) protects index, size and origin.
// Bytes are copied without it: a page in the index has a reference for the time of the copy. Who moves the end holds end_, so that a
// write which appends, or reaches behind the end, is before or after all others that do, and before or after each resize. Writes inside
// the file do not need it: one that meets a cut is done again, with it.
#pragma once

#include "fs/page_index.h"
#include "fs/ram/ram_node.h"

namespace corral::fs {

class RamFile : public RamNode {
 public:
  RamFile(RamFileSystem& file_system, u32 permissions) : RamNode{file_system, FileType::regular, permissions} {}
  ~RamFile() override;
  // Boot context: the contents, in memory that stays for ever.
  void set_origin(std::span<const u8> contents) EXCLUDES(data_);

  Result<u64> read(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> write(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> append(Transfer& transfer, u64 at, u64 size, u64& end) override;
  Result<void> resize(u64 size) override;
  Result<void> allocate(u32 mode, u64 offset, u64 length, u64& progress) override EXCLUDES(data_);
  Result<u64> seek_data(u64 offset, bool hole) override EXCLUDES(data_);
  Result<u32> seals() override;
  Result<void> add_seals(u32 seals) override EXCLUDES(data_);
  Result<Ref<vm::Backing>> backing() override;
  Result<Ref<vm::Backing>> writable_backing() override EXCLUDES(data_);
  Result<Ref<OpenFile>> open(const OpenRequest& request) override;
  [[nodiscard]] u64 size_now() override EXCLUDES(data_);
  [[nodiscard]] u64 pages_now() override EXCLUDES(data_);

  // For mappings: the page with a reference for the caller. efault beyond the end; enomem.
  void pages_at_hand(u64 first, std::span<Frame*> frames) EXCLUDES(data_);  // see vm::Backing
  Result<Frame*> page(u64 index) EXCLUDES(data_);

  // A shared mapping that may write begins (eperm: sealed), ends.
  Result<void> begin_writable_mapping() EXCLUDES(data_);
  void end_writable_mapping() EXCLUDES(data_);
  // Made without a name: it can be given one as long as this holds. Before anyone knows it.
  void make_linkable() { linkable_.store(true, Order::relaxed); }
  [[nodiscard]] bool linkable() const { return linkable_.load(Order::relaxed); }
  // Before anyone knows it.
  void set_seals(u32 seals) { seals_.store(seals, Order::relaxed); }

  static constexpr u64 max_size = PageIndex::max_pages * page_size;

 private:
  // ram_file_space.cpp
  Result<void> punch(u64 from, u64 to) EXCLUDES(data_);
  Result<void> check_room(u64 first, u64 end) EXCLUDES(data_);
  [[nodiscard]] bool is_hole(u64 page) REQUIRES(data_);
  u64 clear_page(u64 index, u64 from, u64 to) REQUIRES(data_);

  // The pieces of a write. Without the end's lock erange: it reaches behind the end; estale: it did so for a while, since the file was cut.
  enum class Place : u8 { inside, end_is_held };
  Result<u64> write_pages(u64 offset, Transfer& transfer, u64 at, u64 size, Place where) EXCLUDES(data_);
  Result<void> set_end(u64 size) REQUIRES(end_) EXCLUDES(data_);
  // Bytes of pages behind the end and before `to` are zero: of a write that met a cut, before anybody else moves the end.
  void clear_behind_end(u64 to) REQUIRES(end_) EXCLUDES(data_);
  // The page, made (from the origin or zero) if there is none.
  Result<Frame*> obtain(u64 index) REQUIRES(data_);

  SpinLock end_{Rank::file_end, "end of file"};  // whoever moves it
  SpinLock data_{Rank::page_cache, "file data"};
  PageIndex pages_ GUARDED_BY(data_);
  // Pages below this came with the archive: copies of them (programs are mapped from such) do not count against the file
  // system's limit, or a full one would leave no program that can run.
  u64 uncounted_ GUARDED_BY(data_) = 0;
  u64 remove_pages_from(u64 index) REQUIRES(data_);  // answers how many of them were counted
  std::span<const u8> origin_ GUARDED_BY(data_);  // bytes of pages that are not in the index
  u64 size_ GUARDED_BY(data_) = 0;
  u64 cuts_ GUARDED_BY(data_) = 0;  // how often it became shorter
  u64 page_count_ GUARDED_BY(data_) = 0;
  u32 writable_mappings_ GUARDED_BY(data_) = 0;
  Atomic<u32> seals_{1};  // seal_seal: changed under data_
  Atomic<bool> linkable_{false};
};

}  // namespace corral::fs

// A disk as a file: /dev/vda and its pages in memory. A file system on the disk reads and writes its own blocks through the same pages
// (pages(): page n holds the bytes from n × page_size on), so that both see one another's changes.
#pragma once

#include "device/block_device.h"
#include "fs/cache/file_pages.h"

namespace corral::fs {

class Disk final : public Inode, private FilePages::Store {
 public:
  static constexpr u32 major = 254, minors_of_disk = 16;  // as virtio disks have on Linux

  // Starts drivers and makes a Disk for each device, once. Boot context, after the other cores have started. enomem.
  static Result<void> start_all();
  [[nodiscard]] static u32 count();
  // Disks live for ever. Null: there are fewer.
  [[nodiscard]] static Disk* get(u32 number);
  static void poll_all();
  // flush() for all disks that file systems are mounted from.
  static Result<void> flush_all();

  Disk(BlockDevice& device, u32 number);
  [[nodiscard]] BlockDevice& device() { return device_; }
  [[nodiscard]] FilePages& pages() { return pages_; }
  [[nodiscard]] std::string_view device_name() const { return {name_, sizeof name_}; }  // in /dev
  // Only one file system at a time is mounted from it. False: there is one.
  [[nodiscard]] bool take() { return !taken_.exchange(true, Order::acq_rel); }
  void give_back() { taken_.store(false, Order::release); }
  // Has the disk keep for good what it has been given. In a step; can answer blocked. eio.
  Result<void> flush();
  [[nodiscard]] u64 size() const { return device_.sectors() * BlockDevice::sector_size; }

  [[nodiscard]] Attributes attributes() override;
  Result<u64> read(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> write(u64 offset, Transfer& transfer, u64 at, u64 size) override;  // enospc at the end
  Result<u64> append(Transfer& transfer, u64 at, u64 size, u64& end) override;  // enospc
  // Writes all dirty pages and has the disk keep them for good.
  Result<void> sync(u64& progress) override;
  Result<Ref<vm::Backing>> backing() override;

 private:
  class Flush;
  Result<Extent> find(u64 index, u64 count, Waiter* waiter) override;
  Result<PagePlace> reserve(u64 index, u32 from, u32 to, Waiter* waiter) override;
  PageRun* make_run() override;
  void start(PageRun& run) override;

  BlockDevice& device_;
  const u32 number_;
  const char name_[3];
  Atomic<bool> taken_{false};
  FilePages pages_;
};

// Opens the node of a disk. enxio: no such disk; erofs.
Result<Ref<OpenFile>> open_disk(Inode& node, DeviceNumber number, const OpenRequest& request);

}  // namespace corral::fs

// A disk, or a partition of one, as a file: /dev/vda, /dev/vda1, and its pages in memory. A file system on the disk reads and writes its own blocks through the same pages
// (pages(): page n holds the bytes from n × page_size on), so that both see one another's changes. A disk and its partitions
// have pages of their own, as on Linux: what is written to one is not seen in the other before it is read again.
#pragma once

#include "device/block_device.h"
#include "fs/cache/file_pages.h"

namespace corral::fs {

class Disk final : public Inode, private FilePages::Store {
 public:
  static constexpr u32 major = 254, minors_of_disk = 16;  // as virtio disks have on Linux

  // Starts drivers and makes a Disk for each device and for each partition, once. Boot context, after the other cores have started.
  // enomem.
  static Result<void> start_all();
  // Disks live for ever. The one with this number, or the first with a higher one; null: there is none.
  [[nodiscard]] static Disk* find(DeviceNumber number);
  [[nodiscard]] static Disk* find_from(u32 minor);
  static void poll_all();
  // flush() for all disks that file systems are mounted from, whatever one of them answers.
  static Result<void> flush_all();
  // The machine is about to be switched off: the same for all disks that can be written, without a thread. False: one of them has not
  // answered in time, or that it could not, which the log tells.
  static bool flush_at_end(void (*poll)(), Duration limit);

  // `whole`: of which it is a partition; null: of none.
  Disk(BlockDevice& device, u32 minor, Disk* whole);
  [[nodiscard]] DeviceNumber number() const { return {major, minor_}; }
  [[nodiscard]] u32 partition() const { return minor_ % minors_of_disk; }  // 0: a whole disk
  [[nodiscard]] Disk* whole() const { return whole_; }
  [[nodiscard]] BlockDevice& device() { return device_; }
  [[nodiscard]] FilePages& pages() { return pages_; }
  [[nodiscard]] std::string_view device_name() const { return static_cast<const char*>(name_); }  // in /dev
  // Only one file system at a time is mounted from it: from the whole, or from each of its partitions. False: there is one.
  [[nodiscard]] bool take();
  void give_back();
  // Neither it nor the whole that it is a part of may be written.
  [[nodiscard]] bool read_only() const;
  void set_read_only(bool on) { read_only_.store(on, Order::relaxed); }
  // What programs want to be read ahead, in sectors. Kept and told; the page cache reads ahead as it sees fit.
  Atomic<u64> read_ahead{256};
  // Has the disk keep for good what it has been given. In a step; can answer blocked. eio.
  Result<void> flush();
  [[nodiscard]] u64 size() const { return device_.sectors() * BlockDevice::sector_size; }

  [[nodiscard]] Attributes attributes() override;
  Result<u64> read(u64 offset, Transfer& transfer, u64 at, u64 size) override;
  Result<u64> write(u64 offset, Transfer& transfer, u64 at, u64 size) override;  // enospc at the end
  Result<u64> append(Transfer& transfer, u64 at, u64 size, u64& end) override;  // enospc
  // Writes all dirty pages and has the disk keep them for good.
  Result<void> sync(u64& progress) override;
  [[nodiscard]] WriteErrors* write_errors() override { return &pages_.errors(); }
  Result<Ref<vm::Backing>> backing() override;

 private:
  class Flush;
  Result<Extent> find(u64 index, u64 count, Waiter* waiter) override;
  Result<PagePlace> reserve(u64 index, u32 from, u32 to, Waiter* waiter) override;
  PageRun* make_run() override;
  void start(PageRun& run) override;

  BlockDevice& device_;
  const u32 minor_;
  Disk* const whole_;
  char name_[8] = {};
  static constexpr u32 by_itself = 1u << 31;
  Atomic<u32> taken_{0};  // by_itself, or how many of its partitions are taken
  Atomic<bool> read_only_{false};  // somebody wants it so
  FilePages pages_;
};

// Opens the node of a disk. enxio: no such disk; erofs.
Result<Ref<OpenFile>> open_disk(Inode& node, DeviceNumber number, const OpenRequest& request);

}  // namespace corral::fs

// A disk's partitions as devices of their own, and finding them.
#pragma once

#include "device/block_device.h"
#include "fs/cache/file_pages.h"
#include "fs/partition_table.h"

namespace corral::fs {

// A piece of another device. Made at boot; lives for ever.
class PartitionDevice final : public BlockDevice {
 public:
  PartitionDevice(BlockDevice& disk, const Partition& place) : disk_{disk}, place_{place} {}
  [[nodiscard]] u64 first_sector() const { return place_.first; }
  [[nodiscard]] u64 sectors() const override { return place_.sectors; }
  [[nodiscard]] bool read_only() const override { return disk_.read_only(); }
  // The request's sector becomes the disk's.
  Result<void> submit(BlockRequest& request) override;
  void poll() override { disk_.poll(); }
  size_t describe(char* to, size_t size) const override;

 private:
  BlockDevice& disk_;
  const Partition place_;
};

// Boot context, where nothing else runs and the disk is waited for: what its table says. A disk that does not answer within some seconds
// has no partitions.
PartitionTable find_partitions(BlockDevice& disk, FilePages& pages);

}  // namespace corral::fs

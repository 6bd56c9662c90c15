// Disks behind virtio. Source: Virtual I/O Device (VIRTIO) 1.2, 5.2.
//
// Each request travels in a carrier, which is made for it. Where there is no memory for one it waits for a carrier that comes back;
// invariant: one is spare, or some are under way and nobody waits in vain.
#pragma once

#include "device/block_device.h"
#include "device/virtio/request_queue.h"

namespace corral::virtio {

class DiskCarrier;

class VirtioDisk final : public BlockDevice {
 public:
  // Starts every virtio disk on the PCI bus that has no driver yet, and registers it. After PCI and the other cores. `core`: the
  // hardware id of the core that is interrupted. Disks that do not start are named in the log. enomem.
  static Result<void> start_all(u32 core);
  explicit VirtioDisk(pci::PciDevice& device) : queue_{device} {}

  [[nodiscard]] u64 sectors() const override { return sectors_; }
  [[nodiscard]] bool read_only() const override { return read_only_; }
  Result<void> submit(BlockRequest& request) override;
  void poll() override { queue_.poll(); }
  size_t describe(char* to, size_t size) const override;

 private:
  friend class DiskCarrier;
  Result<void> start(u32 core);
  // A carrier that is not under way any more: whoever waits for one gets it, or it becomes the spare one, or it is deleted. Interrupt.
  void take_back(DiskCarrier& carrier) EXCLUDES(lock_);
  RequestQueue queue_;
  u64 sectors_ = 0;  // set-up
  bool read_only_ = false;  // set-up
  bool flushes_ = false;  // set-up: it has a cache that flush empties
  SpinLock lock_{Rank::disk_requests, "disk requests"};
  DiskCarrier* spare_ GUARDED_BY(lock_) = nullptr;
  IntrusiveList<BlockRequest, &BlockRequest::link> waiting_ GUARDED_BY(lock_);
};

}  // namespace corral::virtio

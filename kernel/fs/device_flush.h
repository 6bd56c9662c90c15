// Has a disk keep for good what it has been given, where nobody can wait for it: who has started it looks again until it is over.
// Threads wait by Disk::flush().
#pragma once

#include "device/block_device.h"
#include "lib/atomic.h"

namespace corral::fs {

class DeviceFlush final : private BlockRequest {
 public:
  // Not while it is busy. Any context.
  void start(BlockDevice& device);
  // It stays where it is as long as this is so.
  [[nodiscard]] bool busy() const { return busy_.load(Order::acquire); }
  // Of the last one that is over: the disk may not have kept it all.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void finished(Result<void> flushed) override;
  bool failed_ = false;  // written while busy, by whoever ends that
  Atomic<bool> busy_{false};
};

}  // namespace corral::fs

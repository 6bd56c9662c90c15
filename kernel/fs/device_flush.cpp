// See device_flush.h.
#include "fs/device_flush.h"

namespace corral::fs {

void DeviceFlush::start(BlockDevice& device) {
  kind = Kind::flush;
  failed_ = false;
  busy_.store(true, Order::relaxed);
  const Result<void> submitted = device.submit(*this);
  if (submitted.ok()) return;
  failed_ = submitted.error() != Errno::eopnotsupp;  // else there is nothing to flush
  busy_.store(false, Order::relaxed);
}

void DeviceFlush::finished(Result<void> flushed) {
  failed_ = !flushed.ok();
  busy_.store(false, Order::release);
}

}  // namespace corral::fs

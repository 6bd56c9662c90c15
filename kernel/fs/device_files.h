// Device nodes: which numbers mean which device (Linux: Documentation/admin-guide/devices.txt), and opening them.
#pragma once

#include "fs/inode.h"

namespace corral::fs {

struct DeviceFile {
  const char* name;  // in /dev
  DeviceNumber number;
  u32 permissions;
  Result<Ref<OpenFile>> (*open)(Inode& node, const OpenRequest& request);
};
[[nodiscard]] std::span<const DeviceFile> device_files();

// log_device.cpp
Result<Ref<OpenFile>> open_log(Inode& node, const OpenRequest& request);

// latency_device.cpp
Result<Ref<OpenFile>> open_latency_wish(Inode& node, const OpenRequest& request);

// clock_device.cpp
Result<Ref<OpenFile>> open_clock(Inode& node, const OpenRequest& request);

// trace_device.cpp
Result<Ref<OpenFile>> open_trace(Inode& node, const OpenRequest& request);

// enxio: no such device.
Result<Ref<OpenFile>> open_device(Inode& node, DeviceNumber number, const OpenRequest& request);

// Random bytes: the processor's generator where there is one, else a generator seeded from the clock and cycle counter,
// which is good enough for hash seeds and not for keys (docs/caveats.md). Any context.
void fill_random(std::span<u8> to);

}  // namespace corral::fs

// Fills the root file system from the initramfs. Boot context. The archive stays where it is: contents are used in place.
#pragma once

#include <span>

#include "fs/ram/ram_file_system.h"

namespace corral::fs {

struct UnpackReport {
  u64 entries = 0;
  u64 bytes = 0;
};
// Makes every file of the archive. What is wrong is written to the log, with its offset. einval: the archive is damaged
// (what came before is there); enomem.
Result<UnpackReport> unpack_initramfs(RamFileSystem& root, std::span<const u8> archive);

}  // namespace corral::fs

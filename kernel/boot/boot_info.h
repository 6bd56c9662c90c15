// What the firmware or boot loader told us, in one form for all of them (PVH, Multiboot2).
// Filled by boot/ before memory management exists; plain data, fixed sizes, lives for ever.
#pragma once

#include <span>
#include <string_view>

#include "lib/types.h"

namespace corral {

struct MemoryRange {
  PhysicalAddress base;
  u64 size;
  bool usable;
};

struct BootInfo {
  static constexpr u32 max_ranges = 64;
  static constexpr u32 max_command_line = 2048;

  const char* loader = "";                // "PVH", "Multiboot2"
  MemoryRange ranges[max_ranges] = {};
  u32 range_count = 0;
  char command_line[max_command_line] = {};
  PhysicalAddress initramfs = {};
  u64 initramfs_size = 0;                 // 0: none was given
  PhysicalAddress rsdp = {};              // 0: search for it
  PhysicalAddress kernel_start = {};
  PhysicalAddress kernel_end = {};

  [[nodiscard]] std::span<const MemoryRange> memory() const { return {ranges, range_count}; }
};

}  // namespace corral

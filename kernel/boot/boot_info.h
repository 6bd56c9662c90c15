// What the firmware or boot loader told us, in one form for all of them (PVH, Multiboot2).
// Filled by boot/ before memory management exists; plain data, fixed sizes, lives for ever. The one header of boot/ that
// lower rooms read: it has no functions and imports nothing but lib/.
#pragma once

#include <span>
#include <string_view>

#include "lib/types.h"

namespace corral {

struct MemoryRange {
  PhysicalAddress base;
  u64 size;
  bool usable;
  bool tables = false;  // not usable, but holds firmware's tables (ACPI): reached through the direct map
};

// A picture in memory that the firmware shows (UEFI): `height` lines of `pitch` bytes, of `width` pixels each of 32 bits.
struct FramebufferInfo {
  PhysicalAddress base = {};
  u32 pitch = 0;
  u32 width = 0;                          // 0: there is none
  u32 height = 0;
  u8 red_shift = 0;                       // where a colour's eight bits stand in a pixel
  u8 green_shift = 0;
  u8 blue_shift = 0;

  [[nodiscard]] bool present() const { return width != 0; }
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
  FramebufferInfo framebuffer = {};
  PhysicalAddress kernel_start = {};
  PhysicalAddress kernel_end = {};
  // Parts of usable memory that are taken: the kernel image, the initramfs, the first page tables.
  static constexpr u32 max_reserved = 8;
  MemoryRange reserved[max_reserved] = {};
  u32 reserved_count = 0;

  [[nodiscard]] std::span<const MemoryRange> memory() const { return {ranges, range_count}; }
  [[nodiscard]] std::span<const MemoryRange> reserved_memory() const { return {reserved, reserved_count}; }
};

}  // namespace corral

// Reads physical memory for the ACPI parser: only where the firmware's memory map says that there is memory of any kind, or
// below 1 MiB, so that a damaged table cannot make the kernel read device registers. Boot, bootstrap core.
#pragma once

#include "boot/boot_info.h"
#include "platform/pc/acpi/parser.h"

namespace corral::platform {

class PhysicalMemory final : public acpi::PhysicalReader {
 public:
  explicit PhysicalMemory(const BootInfo& boot) : boot_{boot} {}
  bool read(PhysicalAddress from, std::span<u8> to) override;

 private:
  // Tables lie close together: few windows, each mapped once and for good, serve them all.
  static constexpr u64 window_size = 64 << 10;
  static constexpr u32 most_windows = 64;
  struct Window {
    u64 base = 0;
    const volatile u8* mapped = nullptr;
  };

  [[nodiscard]] bool is_memory(u64 address) const;
  const volatile u8* reach(u64 address);

  const BootInfo& boot_;
  Window windows_[most_windows] = {};
  u32 window_count_ = 0;
};

}  // namespace corral::platform

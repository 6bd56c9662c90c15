// See the header.
#include "platform/pc/physical_memory.h"

#include "arch/page_table.h"

namespace corral::platform {

namespace {
constexpr u64 low_memory_end = 1 << 20;  // always in the direct map
}

bool PhysicalMemory::is_memory(u64 address) const {
  if (address < low_memory_end) return true;
  for (const MemoryRange& range : boot_.memory()) {
    if (address >= range.base.value && address - range.base.value < range.size) return true;
  }
  return false;
}

const volatile u8* PhysicalMemory::reach(u64 address) {
  if (address < low_memory_end) return arch::direct<const volatile u8>({address});
  const u64 base = round_down(address, window_size);
  for (u32 i = 0; i < window_count_; ++i) {
    if (windows_[i].base == base) return windows_[i].mapped + (address - base);
  }
  if (window_count_ == most_windows) return nullptr;
  Result<volatile u8*> mapped = arch::map_device({base}, window_size);
  if (!mapped.ok()) return nullptr;
  windows_[window_count_++] = {base, mapped.value()};
  return mapped.value() + (address - base);
}

bool PhysicalMemory::read(PhysicalAddress from, std::span<u8> to) {
  if (from.value + to.size() < from.value) return false;
  for (size_t i = 0; i < to.size(); ++i) {
    const u64 address = from.value + i;
    // Memory kinds change at page boundaries only.
    if ((i == 0 || address % page_size == 0) && !is_memory(address)) return false;
    const volatile u8* byte = reach(address);
    if (byte == nullptr) return false;
    to[i] = *byte;
  }
  return true;
}

}  // namespace corral::platform

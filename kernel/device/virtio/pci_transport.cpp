// See pci_transport.h.
#include "device/virtio/pci_transport.h"

#include "arch/page_table.h"
#include "memory/page_allocator.h"

namespace corral::virtio {

namespace {

// Types of structures (4.1.4).
constexpr u8 type_common = 1, type_notify = 2, type_interrupt = 3, type_device = 4;
constexpr u32 capability_size = 16;
constexpr u32 common_size = 56;
constexpr u32 most_config = 4096;

// Offsets in the common structure (4.1.4.3).
constexpr u32 device_feature_select = 0, device_feature = 4, driver_feature_select = 8, driver_feature = 12;
constexpr u32 config_vector = 16, device_status = 20, queue_select = 22, queue_size = 24;
constexpr u32 queue_vector = 26, queue_enable = 28, queue_notify_offset = 30;
constexpr u32 queue_table = 32, queue_available = 40, queue_used = 48;

constexpr u8 status_acknowledge = 1, status_driver = 2, status_driver_ok = 4, status_features_ok = 8, status_failed = 128;
constexpr u32 most_reset_reads = 100'000;

}  // namespace

u16 kind_of(const pci::Function& function) {
  if (function.vendor != pci_vendor) return 0;
  if (function.device > pci_device_base) return static_cast<u16>(function.device - pci_device_base);
  // Devices that also know the old transport are known by their subsystem.
  const bool transitional = function.device >= pci_transitional_first && function.device <= pci_transitional_last;
  return transitional ? function.subsystem : u16{0};
}

bool PciTransport::find(u8 type, Place& place) {
  for (const pci::Capability& capability : device_.function().all_capabilities()) {
    if (capability.id != pci::capability_vendor || capability.offset + capability_size > 0x100) continue;
    const u32 head = device_.read(capability.offset);
    if (static_cast<u8>(head >> 24) != type || static_cast<u8>(head >> 16) < capability_size) continue;
    place.bar = static_cast<u8>(device_.read(capability.offset + 4u));
    place.offset = device_.read(capability.offset + 8u);
    place.length = device_.read(capability.offset + 12u);
    place.multiplier = device_.read(capability.offset + 16u);
    if (place.bar < pci::Function::most_bars) return true;
  }
  return false;
}

Result<void> PciTransport::initialise(u64 wanted) {
  Place place;
  if (!find(type_common, place) || place.length < common_size || place.offset % 4 != 0) return Errno::enodev;
  device_.enable();
  common_ = TRY(device_.map(place.bar, place.offset, common_size));
  if (!find(type_interrupt, place) || place.length < 1) return Errno::enodev;
  interrupt_status_ = TRY(device_.map(place.bar, place.offset, 1));
  if (find(type_device, place) && place.length > 0) {
    config_size_ = place.length < most_config ? place.length : most_config;
    config_ = TRY(device_.map(place.bar, place.offset, config_size_));
  }
  common<u8>(device_status) = 0;
  u32 reads = 0;
  while (common<u8>(device_status) != 0) {
    if (++reads == most_reset_reads) return Errno::enodev;
  }
  common<u8>(device_status) = status_acknowledge;
  common<u8>(device_status) = status_acknowledge | status_driver;
  common<u32>(device_feature_select) = 0;
  u64 offered = common<u32>(device_feature);
  common<u32>(device_feature_select) = 1;
  offered |= u64{common<u32>(device_feature)} << 32;
  features_ = offered & (wanted | feature_version_1);
  if (!has(feature_version_1)) return Errno::enodev;
  common<u32>(driver_feature_select) = 0;
  common<u32>(driver_feature) = static_cast<u32>(features_);
  common<u32>(driver_feature_select) = 1;
  common<u32>(driver_feature) = static_cast<u32>(features_ >> 32);
  common<u8>(device_status) = status_acknowledge | status_driver | status_features_ok;
  if ((common<u8>(device_status) & status_features_ok) == 0) return Errno::enodev;
  common<u16>(config_vector) = no_vector;
  return {};
}

Result<PciTransport::QueueMemory> PciTransport::start_queue(u16 index, u16 message_vector) {
  common<u16>(queue_select) = index;
  u32 entries = common<u16>(queue_size);
  if (entries == 0) return Errno::enodev;
  entries = u32{1} << (31 - __builtin_clz(entries));
  if (entries > SplitQueue::most_entries) entries = SplitQueue::most_entries;
  Place place;
  if (!find(type_notify, place)) return Errno::enodev;
  const u64 offset = u64{common<u16>(queue_notify_offset)} * place.multiplier;
  if (offset + 2 > place.length || (place.offset + offset) % 2 != 0) return Errno::enodev;
  volatile u8* bell = TRY(device_.map(place.bar, place.offset + offset, 2));
  const SplitQueue::Layout parts = SplitQueue::layout(entries);
  u32 order = 0;
  while ((page_size << order) < parts.bytes) ++order;
  Frame& memory = *TRY(memory::allocate_block(order));
  u8* bytes = memory::contents(memory);
  for (u64 i = 0; i < page_size << order; ++i) bytes[i] = 0;
  const PhysicalAddress start = memory::address_of(memory);
  const auto set_address = [&](u32 at, u64 address) {
    common<u32>(at) = static_cast<u32>(address);
    common<u32>(at + 4) = static_cast<u32>(address >> 32);
  };
  common<u16>(queue_size) = static_cast<u16>(entries);
  common<u16>(queue_vector) = message_vector;
  if (message_vector != no_vector && common<u16>(queue_vector) != message_vector) return Errno::enodev;
  set_address(queue_table, start.value);
  set_address(queue_available, start.value + parts.available);
  set_address(queue_used, start.value + parts.used);
  common<u16>(queue_enable) = 1;
  notify_ = reinterpret_cast<volatile u16*>(bell);
  return QueueMemory{bytes, entries};
}

void PciTransport::driver_ready() {
  common<u8>(device_status) = status_acknowledge | status_driver | status_features_ok | status_driver_ok;
}

void PciTransport::give_up() {
  common<u8>(device_status) = status_failed;
  common<u8>(device_status) = 0;
}

u64 PciTransport::config(u32 offset, u32 bytes) {
  u64 value = 0;
  for (u32 i = bytes; i-- > 0;) {
    const u64 byte = offset + i < config_size_ ? config_[offset + i] : 0;
    value = value << 8 | byte;
  }
  return value;
}

}  // namespace corral::virtio

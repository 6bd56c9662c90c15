// A virtio device behind PCI ("modern" transport): where its registers are, agreeing on features, its queues' addresses.
//
// The locations come from capabilities of the device and are checked against its address ranges before anything is
// mapped. Context: boot or a driver's set-up; notify() anywhere.
// Source: Virtual I/O Device (VIRTIO) 1.2, 3.1.1 (initialisation), 4.1.4 (structures).
#pragma once

#include "device/pci/pci_device.h"
#include "device/virtio/split_queue.h"

namespace corral::virtio {

inline constexpr u16 pci_vendor = 0x1af4;
inline constexpr u16 pci_device_base = 0x1040;  // plus the virtio device number
inline constexpr u16 pci_transitional_first = 0x1000, pci_transitional_last = 0x103f;

enum class DeviceKind : u16 { block = 2, file_system_9p = 9 };

// Bits of the feature words.
inline constexpr u64 feature_indirect = u64{1} << 28;
inline constexpr u64 feature_version_1 = u64{1} << 32;

// What kind of virtio device it is; 0: none that has the modern transport's number.
[[nodiscard]] u16 kind_of(const pci::Function& function);

class PciTransport {
 public:
  explicit PciTransport(pci::PciDevice& device) : device_{device} {}
  [[nodiscard]] pci::PciDevice& device() { return device_; }

  // Finds the registers, resets the device, and accepts those of `wanted` that it offers; version 1 is always asked for. enodev: not a
  // modern virtio device, or it refuses; enomem.
  Result<void> initialise(u64 wanted);
  [[nodiscard]] bool has(u64 feature) const { return (features_ & feature) != 0; }
  // Gives queue `index` memory, for SplitQueue::initialise, and its interrupt (message_vector, or no_vector). enodev: no such
  // queue; enomem.
  struct QueueMemory {
    u8* bytes;
    u32 entries;
  };
  Result<QueueMemory> start_queue(u16 index, u16 message_vector);
  static constexpr u16 no_vector = 0xffff;
  void driver_ready();  // all queues are started
  void give_up();  // tells the device that the driver has failed, and stops it
  // Tells the device that queue 0 has new requests.
  void notify() { *notify_ = 0; }
  // Reads and thereby clears the interrupt status; for interrupts by pin.
  [[nodiscard]] u8 interrupt_status() { return *interrupt_status_; }

  // The device's own configuration; zero beyond its end. Not atomic: read before driver_ready().
  [[nodiscard]] u64 config(u32 offset, u32 bytes);
  [[nodiscard]] u32 config_size() const { return config_size_; }

 private:
  struct Place {
    u8 bar = 0;
    u32 offset = 0;
    u32 length = 0;
    u32 multiplier = 0;
  };
  [[nodiscard]] bool find(u8 type, Place& place);
  template <class T>
  [[nodiscard]] volatile T& common(u32 offset) {
    return *reinterpret_cast<volatile T*>(common_ + offset);
  }

  pci::PciDevice& device_;
  volatile u8* common_ = nullptr;
  volatile u16* notify_ = nullptr;  // of queue 0
  volatile u8* interrupt_status_ = nullptr;
  volatile u8* config_ = nullptr;
  u32 config_size_ = 0;
  u64 features_ = 0;
};

}  // namespace corral::virtio

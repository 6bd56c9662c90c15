// A PCI function as a device: what drivers use. Found on the bus at start-up (add_all), then lent to one driver.
//
// Interrupts: a message of its own (MSI-X) to a core that the driver names, where function and platform can do so; else its
// pin, on a line that it may share with others. Config registers and tables are used under lock_.
// Context: not in interrupts, except for handlers.
#pragma once

#include "device/device.h"
#include "device/interrupts.h"
#include "device/pci/function.h"

namespace corral::pci {

class PciDevice final : public Device {
 public:
  static constexpr DeviceClass device_class_object{"pci"};
  PciDevice(ConfigSpace& space, const Function& function) : Device{device_class_object}, space_{space}, function_{function} {}

  [[nodiscard]] const Function& function() const { return function_; }
  // A configuration register of this function; `offset` a multiple of 4.
  [[nodiscard]] u32 read(u32 offset) { return offset + 4 <= space_.size() ? space_.read(function_.address, offset) : ~0u; }
  void write(u32 offset, u32 value) {
    if (offset + 4 <= space_.size()) space_.write(function_.address, offset, value);
  }

  // For one driver, once: false when another has it.
  [[nodiscard]] bool claim() { return !claimed_.exchange(true, Order::acquire); }
  // The function answers to its memory ranges and may read and write memory itself.
  void enable();
  // Maps `size` bytes from `offset` on of a memory range. einval: not inside the range, more than most_mapped, or
  // where the machine has memory; enomem.
  Result<volatile u8*> map(u32 bar, u64 offset, u64 size);
  static constexpr u64 most_mapped = 16 << 20;

  // MSI-X: table entry `entry` interrupts the core with that hardware id. einval: no such entry, or a bad table;
  // enodev: neither function nor platform has messages; ebusy: no vector left.
  Result<void> connect_message(u32 entry, u32 hardware_id, const char* name, InterruptHandler& handler);
  [[nodiscard]] u32 message_count();  // entries of the MSI-X table; 0: none
  // The pin's line. The handler is also called for interrupts of others on that line, and must make its own device let go
  // of it. enodev: not connected; enomem; errors of InterruptRouter::connect.
  Result<void> connect_pin(const char* name, InterruptHandler& handler);

  size_t describe(char* to, size_t size) const override;

 private:
  Result<void> open_message_table();

  ConfigSpace& space_;
  const Function function_;
  Atomic<bool> claimed_{false};
  volatile u8* message_table_ = nullptr;  // its driver
  u32 message_count_ = 0;                 // its driver
};

// Makes a device of every function on the bus. Boot context, once, with interrupt routing ready.
Result<void> add_all(ConfigSpace& space);

}  // namespace corral::pci

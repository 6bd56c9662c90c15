// The PC's ways to PCI: configuration registers in memory (ECAM, found by ACPI's MCFG) or through two ports, and
// interrupts that functions send as messages.
// Source: PCI Express Base Specification 4.0, 7.2.2; PCI Local Bus Specification 3.0, 3.2.2.3.2 (ports); Intel SDM vol. 3,
// 11.11 (format of messages). Context: boot, and drivers' set-up; not in interrupts.
#pragma once

#include "device/interrupts.h"
#include "device/pci/config_space.h"
#include "platform/pc/acpi/tables.h"
#include "sync/spin_lock.h"

namespace corral::platform {

// Ports 0xcf8 and 0xcfc: the first 256 bytes of each function.
class PciPorts final : public pci::ConfigSpace {
 public:
  constexpr PciPorts() = default;
  u32 read(pci::Address at, u32 offset) override EXCLUDES(lock_);
  void write(pci::Address at, u32 offset, u32 value) override EXCLUDES(lock_);
  [[nodiscard]] u32 size() const override { return 256; }
  // A register keeps what is written to it: there is such a mechanism.
  [[nodiscard]] bool present() EXCLUDES(lock_);

 private:
  SpinLock lock_{Rank::timer_hardware, "PCI ports"};  // address and data belong together
};

// All 4096 bytes of each function. A bus is mapped when it is first looked at.
class PciMemory final : public pci::ConfigSpace {
 public:
  constexpr PciMemory() = default;
  void initialise(const acpi::Mcfg& mcfg) { mcfg_ = mcfg; }  // boot
  u32 read(pci::Address at, u32 offset) override;
  void write(pci::Address at, u32 offset, u32 value) override;
  [[nodiscard]] u32 size() const override { return 4096; }

 private:
  // Null: no such bus, or it cannot be mapped.
  volatile u32* reach(pci::Address at, u32 offset) EXCLUDES(lock_);

  acpi::Mcfg mcfg_{};  // boot
  SpinLock lock_{Rank::timer_hardware, "PCI buses"};
  volatile u8* buses_[256] GUARDED_BY(lock_) = {};
};

class ApicMessages final : public MessageInterrupts {
 public:
  Result<InterruptMessage> allocate(u32 hardware_id, const char* name, InterruptHandler& handler) override;
};

// Makes a device of every PCI function. Boot context, after interrupt routing. `legacy_interrupts`: there is no I/O APIC, so
// that messages are not used either. A machine without PCI is no error. enomem.
Result<void> find_pci_devices(const acpi::Mcfg& mcfg, bool legacy_interrupts);

}  // namespace corral::platform

// The I/O APICs: which vector of which core a device's line becomes. IoApic is one controller, IoApicRouter all of them
// together with the firmware's overrides of ISA interrupts.
//
// Invariant: the two registers of a controller (select, window) are used under the router's lock only; every line is
// masked until it is connected; a vector belongs to one line.
// Source: Intel 82093AA data sheet, section 3; ACPI 6.5, 5.2.12.3 and 5.2.12.5. Context: boot; connect() not in interrupts.
// Neighbours: device/interrupts, platform/pc/acpi.
#pragma once

#include "device/device.h"
#include "device/interrupts.h"
#include "platform/pc/acpi/tables.h"

namespace corral::platform {

class IoApic final : public Device {
 public:
  static constexpr DeviceClass device_class_object{"io-apic"};
  explicit IoApic(const acpi::IoApic& entry) : Device{device_class_object}, entry_{entry} {}

  // Maps it and masks every line. enomem; enodev: nothing answers there.
  Result<void> initialise();
  [[nodiscard]] bool has(u32 line) const { return line >= entry_.first_line && line - entry_.first_line < inputs_; }
  // `line` (of has()) becomes `vector` of the core with that APIC id. Router's lock held.
  void route(u32 line, u32 vector, u32 apic_id, bool active_low, bool level);
  // … becomes an NMI of that core.
  void route_nmi(u32 line, u32 apic_id, bool active_low);
  size_t describe(char* to, size_t size) const override;

 private:
  [[nodiscard]] u32 read(u32 index) const;
  void write(u32 index, u32 value) const;

  const acpi::IoApic entry_;
  volatile u8* registers_ = nullptr;
  u32 inputs_ = 0;
};

class IoApicRouter final : public InterruptRouter {
 public:
  constexpr IoApicRouter() = default;

  // Makes a device of each controller in `madt` that answers. False: there is none.
  bool initialise(const acpi::Madt& madt, u32 bootstrap_apic_id) EXCLUDES(lock_);
  // `line`: ISA interrupt number for 0 … 15 (overrides applied), else the global system interrupt.
  Result<void> connect(u32 line, const char* name, InterruptHandler& handler) override EXCLUDES(lock_);
  // ISA interrupt `irq` arrives somewhere, and nobody has connected it yet.
  [[nodiscard]] bool is_free(u32 irq) EXCLUDES(lock_);
  // ISA interrupt `irq` becomes an NMI of the bootstrap core. enodev: no such line; ebusy: it is connected.
  Result<void> connect_nmi(u32 irq) EXCLUDES(lock_);

 private:
  // Where `line` (as connect() has it) arrives.
  struct Input {
    u32 line;
    bool active_low, level;
  };
  [[nodiscard]] Input input_of(u32 line) const;
  // enodev: there is none; ebusy: the input is connected.
  [[nodiscard]] Result<IoApic*> free_controller_of(const Input& input) REQUIRES(lock_);
  static constexpr u32 most_controllers = 16;
  static constexpr u32 most_lines = 256;

  [[nodiscard]] IoApic* controller_of(u32 line) REQUIRES(lock_);

  SpinLock lock_{Rank::timer_hardware, "interrupt routing"};
  IoApic* controllers_[most_controllers] GUARDED_BY(lock_) = {};
  u32 controller_count_ GUARDED_BY(lock_) = 0;
  u64 connected_[most_lines / 64] GUARDED_BY(lock_) = {};
  const acpi::Madt* madt_ = nullptr;  // boot
  u32 bootstrap_apic_id_ = 0;         // boot
};

}  // namespace corral::platform

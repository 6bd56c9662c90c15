// The local interrupt controllers: every core reaches its own at the same place, memory-mapped (xAPIC) or by
// model-specific registers (x2APIC). LocalApicController is that place, one object for all cores; LocalApic is the device
// that a core registers for itself.
//
// Invariants: the mode is chosen once, before any other core runs, and is the same on every core; a core touches its own
// registers only, with interrupts off, so nothing is locked. Context: any core after initialise_this_core().
// Source: Intel SDM vol. 3, chapter 11 (APIC), table 11-1 (registers), 11.12 (x2APIC). Neighbours: device/interrupts,
// platform/pc/local_apic_timer, platform/pc/core_start.
#pragma once

#include "device/device.h"
#include "device/interrupts.h"
#include "platform/pc/acpi/tables.h"

namespace corral::platform {

// Offsets of the memory-mapped registers; the x2APIC register is 0x800 + offset / 16.
enum class ApicRegister : u32 {
  id = 0x020,
  version = 0x030,
  task_priority = 0x080,
  end_of_interrupt = 0x0b0,
  destination_format = 0x0e0,  // xAPIC only
  spurious = 0x0f0,
  error_status = 0x280,
  command_low = 0x300,
  command_high = 0x310,  // xAPIC only
  local_timer = 0x320,
  local_thermal = 0x330,
  local_performance = 0x340,
  local_input_0 = 0x350,
  local_input_1 = 0x360,
  local_error = 0x370,
  timer_initial = 0x380,
  timer_current = 0x390,
  timer_divide = 0x3e0,
};

class LocalApicController final : public LocalInterruptController {
 public:
  constexpr LocalApicController() = default;

  // Bootstrap core, once: finds the registers, settles the mode and switches its own controller to it. enomem; enodev: the
  // processor has no local APIC.
  Result<void> choose_mode(bool want_x2apic);
  // Each core: switches its controller on, everything masked but what `madt` says of NMIs. `legacy_interrupts`: those of
  // the 8259 arrive here.
  void enable(u32 firmware_id, const acpi::Madt& madt, bool legacy_interrupts);

  [[nodiscard]] bool x2apic() const { return x2apic_; }
  [[nodiscard]] PhysicalAddress address() const { return address_; }
  [[nodiscard]] u32 own_id() const;  // the calling core's APIC id
  // The largest id that interrupts can be sent to.
  [[nodiscard]] u32 largest_id() const { return x2apic_ ? 0xffff'fffe : 0xfe; }
  [[nodiscard]] u32 read(ApicRegister which) const;
  void write(ApicRegister which, u32 value) const;

  void end_of_interrupt() override;
  void send_message_interrupt(u32 hardware_id) override;
  void send_halt_to_others() override;
  // Any vector from 16 on to any core, the caller's own included. For tests of what nobody handles.
  void send_vector(u32 hardware_id, u32 vector);
  // Start-up of another core (SDM vol. 3, 9.4.4). `page`: where it starts in real mode, divided by 4096.
  // To another core; may be called in an NMI.
  void send_nmi(u32 hardware_id);
  void send_init(u32 hardware_id);
  void send_startup(u32 hardware_id, u8 page);

 private:
  void switch_on() const;
  void send(u32 hardware_id, u32 command) const;
  void wait_until_sent() const;

  volatile u8* registers_ = nullptr;
  PhysicalAddress address_ = {};
  bool x2apic_ = false;
  bool must_wait_ = true;  // before each command; not where a hypervisor delivers at once
};

[[nodiscard]] LocalApicController& local_apic();

// One core's local interrupt controller, for the device list.
class LocalApic final : public Device {
 public:
  static constexpr DeviceClass device_class_object{"local-apic"};
  LocalApic(u32 id, u32 version, bool x2apic) : Device{device_class_object}, id_{id}, version_{version}, x2apic_{x2apic} {}
  size_t describe(char* to, size_t size) const override;

 private:
  const u32 id_;
  const u32 version_;
  const bool x2apic_;
};

}  // namespace corral::platform

// What the ACPI tables said, in plain values: filled by acpi/parser, used by platform/pc to make devices.
// Source: Advanced Configuration and Power Interface Specification 6.5, chapter 5; HPET specification 1.0a, 3.2.4.
// Pure data, no hardware; built and tested on the host.
#pragma once

#include <span>

#include "lib/types.h"

namespace corral::acpi {

// A processor as the MADT lists it (5.2.12.2, 5.2.12.12).
struct Processor {
  static constexpr u32 flag_enabled = 1;
  static constexpr u32 flag_online_capable = 2;
  u32 apic_id = 0;
  u32 firmware_id = 0;
  u32 flags = 0;
};

// What is to be done with a listed processor (paper 000, section 3.2, and the specification's flags).
enum class Verdict : u8 {
  bootstrap,  // it is the one that runs this code
  startable,  // enabled by the firmware
  pluggable,  // not present now, could be plugged in while running: known, not started
  refused,    // neither: never to be started
};
[[nodiscard]] Verdict verdict_of(const Processor& processor, u32 bootstrap_apic_id);

struct IoApic {
  u32 id = 0;
  PhysicalAddress address = {};
  u32 first_line = 0;  // global system interrupt of its input 0
};

// An ISA interrupt that arrives elsewhere than at the line of its number (5.2.12.5).
struct Override {
  u8 isa_irq = 0;
  u32 line = 0;  // global system interrupt
  bool active_low = false;
  bool level = false;
};

// Where non-maskable interrupts arrive at local interrupt controllers (5.2.12.7, 5.2.12.13).
struct LocalNmi {
  static constexpr u32 all_processors = 0xffff'ffff;
  u32 firmware_id = all_processors;
  u8 input = 1;  // LINT0 or LINT1
  bool active_low = false;
};

// A list of fixed room: what does not fit is counted, and reported by the parser.
template <class T, u32 Capacity>
class Bounded {
 public:
  [[nodiscard]] bool add(const T& item) {
    if (count_ == Capacity) return false;
    items_[count_++] = item;
    return true;
  }
  [[nodiscard]] std::span<const T> all() const { return {items_, count_}; }
  [[nodiscard]] u32 count() const { return count_; }

 private:
  T items_[Capacity] = {};
  u32 count_ = 0;
};

struct Madt {
  bool present = false;
  PhysicalAddress local_apic = {};
  Bounded<Processor, max_cores> processors;
  Bounded<IoApic, 16> io_apics;
  Bounded<Override, 24> overrides;
  Bounded<LocalNmi, 32> nmis;
};

// A register in port space; 0: there is none.
struct PortRegister {
  u16 port = 0;
  [[nodiscard]] bool present() const { return port != 0; }
};

// A register in one of the spaces that a reset register may use (4.8.3.6).
struct ResetRegister {
  enum class Space : u8 { none, memory, port } space = Space::none;
  u64 address = 0;
  u8 value = 0;
};

struct Fadt {
  bool present = false;
  u16 smi_command = 0;  // port; 0: ACPI mode is on for good
  u8 acpi_enable = 0;
  PortRegister pm1a_control;
  PortRegister pm1b_control;
  PortRegister pm_timer;
  bool pm_timer_32_bits = false;  // else 24
  bool no_keyboard_controller = false;
  bool no_vga = false;
  ResetRegister reset;
  PhysicalAddress dsdt = {};
};

struct Hpet {
  bool present = false;
  PhysicalAddress address = {};
};

// Where the configuration registers of PCI segment 0 are mapped: 1 MiB for each bus, that of bus 0 at `address`.
struct Mcfg {
  bool present = false;
  PhysicalAddress address = {};
  u8 first_bus = 0;
  u8 last_bus = 0;
};

// The values that put the machine into the soft-off state (7.4.2.6, \_S5).
struct SoftOff {
  bool present = false;
  u8 sleep_type_a = 0;
  u8 sleep_type_b = 0;
};

struct Tables {
  PhysicalAddress rsdp = {};  // 0: none found
  u8 revision = 0;
  Madt madt;
  Fadt fadt;
  Hpet hpet;
  Mcfg mcfg;
  SoftOff soft_off;
};

}  // namespace corral::acpi

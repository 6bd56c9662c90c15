// What the configuration registers of one PCI function say: identity, address ranges (BARs), capabilities.
//
// Nothing in there is trusted: lists are walked with a limit, ranges that cannot be are left out. Pure (registers come
// through ConfigSpace), so it is tested and fuzzed on the host. Context: boot; nobody else uses the function yet, for
// sizing a BAR writes to it.
// Source: PCI Local Bus Specification 3.0, 6.1 (header), 6.2.5 (base addresses), 6.7 (capabilities).
#pragma once

#include <span>

#include "device/pci/config_space.h"

namespace corral::pci {

inline constexpr u16 no_vendor = 0xffff;

// Offsets in the header.
inline constexpr u32 register_identity = 0x00, register_command = 0x04, register_class = 0x08, register_header_type = 0x0c;
inline constexpr u32 register_bars = 0x10, register_bus_numbers = 0x18, register_subsystem = 0x2c;
inline constexpr u32 register_capabilities = 0x34, register_interrupt = 0x3c;

inline constexpr u16 command_ports = 1, command_memory = 2, command_bus_master = 4, command_no_intx = 0x400;
inline constexpr u16 status_capabilities = 0x10;

inline constexpr u8 capability_vendor = 0x09, capability_msix = 0x11;

// An address range that the function answers to.
struct Bar {
  enum class Kind : u8 { none, memory, ports } kind = Kind::none;
  u64 address = 0;
  u64 size = 0;  // bytes, a power of two; 0: none
};

struct Capability {
  u8 id = 0;
  u8 offset = 0;  // in the function's registers, at least 0x40, a multiple of 4
};

struct Function {
  static constexpr u32 most_bars = 6;
  static constexpr u32 most_capabilities = 48;  // as many as 192 bytes can hold

  Address address{};
  u16 vendor = no_vendor;
  u16 device = 0;
  u16 subsystem = 0;
  u8 base_class = 0, sub_class = 0, interface = 0, revision = 0;
  u8 header_type = 0;      // without the multi-function bit
  bool multi_function = false;
  u8 interrupt_line = 0xff;  // as the firmware set it; 0xff: not connected
  u8 interrupt_pin = 0;      // 1 … 4: INTA … INTD; 0: none
  Bar bars[most_bars] = {};
  Capability capabilities[most_capabilities] = {};
  u32 capability_count = 0;

  [[nodiscard]] bool is_bridge() const { return base_class == 6 && sub_class == 4 && header_type == 1; }
  [[nodiscard]] std::span<const Capability> all_capabilities() const { return {capabilities, capability_count}; }
  // Offset of the first capability of this kind; 0: none.
  [[nodiscard]] u8 find_capability(u8 id) const;
};

// False: no function answers there.
[[nodiscard]] bool read_function(ConfigSpace& space, Address at, Function& to);

// Switches bits of the command register on and off.
void change_command(ConfigSpace& space, Address at, u16 on, u16 off);

// Calls `visit` for every function that can be reached from bus 0, each bus once, however bridges are programmed.
using FunctionVisitor = void (*)(void* context, const Function& function);
void for_each_function(ConfigSpace& space, FunctionVisitor visit, void* context);

}  // namespace corral::pci

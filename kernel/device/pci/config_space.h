// Where configuration registers of PCI functions are reached: 256 bytes of each function, 4096 with PCI Express.
// Source: PCI Local Bus Specification 3.0, 6.1; PCI Express Base Specification 4.0, 7.2.
#pragma once

#include "lib/types.h"

namespace corral::pci {

struct Address {
  u8 bus = 0;
  u8 device = 0;    // below 32
  u8 function = 0;  // below 8
  bool operator==(const Address&) const = default;
};

// Registers of functions that are not there read as all ones, and writes to them do nothing.
class ConfigSpace {
 public:
  // `offset`: a multiple of 4, below size(). Any core; not in interrupts.
  [[nodiscard]] virtual u32 read(Address at, u32 offset) = 0;
  virtual void write(Address at, u32 offset, u32 value) = 0;
  [[nodiscard]] virtual u32 size() const = 0;  // bytes of one function: 256 or 4096

  [[nodiscard]] u8 read8(Address at, u32 offset) { return static_cast<u8>(read(at, offset & ~3u) >> (offset & 3) * 8); }
  // `offset`: even.
  [[nodiscard]] u16 read16(Address at, u32 offset) { return static_cast<u16>(read(at, offset & ~3u) >> (offset & 2) * 8); }

 protected:
  ~ConfigSpace() = default;
};

}  // namespace corral::pci

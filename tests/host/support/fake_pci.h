// A PCI bus of functions that exist in memory only, with base addresses that can be sized.
#pragma once

#include <array>
#include <cstring>
#include <map>

#include "device/pci/function.h"

namespace corral::test {

class FakePci final : public pci::ConfigSpace {
 public:
  struct FakeFunction {
    std::array<u8, 256> bytes{};
    std::array<u32, 6> writable{};  // bits of each BAR that can be written
    void set(u32 offset, u64 value, u32 size) { std::memcpy(bytes.data() + offset, &value, size); }
    // A memory range of `size` bytes; 64 bits take two registers.
    void set_bar(u32 index, u64 address, u64 size, bool wide) {
      set(0x10 + 4 * index, static_cast<u32>(address) | (wide ? 4u : 0u), 4);
      writable[index] = static_cast<u32>(~(size - 1));
      if (!wide) return;
      set(0x14 + 4 * index, address >> 32, 4);
      writable[index + 1] = static_cast<u32>(~(size - 1) >> 32);
    }
  };

  FakeFunction& add(u8 bus, u8 device, u8 function, u16 vendor = 0x1234, u16 id = 0x5678) {
    FakeFunction& made = functions[{bus, device, function}];
    made.set(0, vendor | u32{id} << 16, 4);
    return made;
  }

  u32 read(pci::Address at, u32 offset) override {
    const auto found = functions.find({at.bus, at.device, at.function});
    u32 value = ~0u;
    if (found != functions.end() && offset + 4 <= 256) std::memcpy(&value, found->second.bytes.data() + offset, 4);
    return value;
  }
  void write(pci::Address at, u32 offset, u32 value) override {
    const auto found = functions.find({at.bus, at.device, at.function});
    if (found == functions.end() || offset + 4 > 256) return;
    FakeFunction& f = found->second;
    if (offset >= 0x10 && offset < 0x28) {
      const u32 mask = f.writable[(offset - 0x10) / 4];
      value = (value & mask) | (read(at, offset) & ~mask);
    } else if (offset == 4) {
      ++command_writes;
      value = (value & 0xffff) | (read(at, 4) & 0xffff'0000);
    } else {
      return;
    }
    std::memcpy(f.bytes.data() + offset, &value, 4);
  }
  [[nodiscard]] u32 size() const override { return 256; }

  std::map<std::array<u8, 3>, FakeFunction> functions;
  u32 command_writes = 0;
};

}  // namespace corral::test

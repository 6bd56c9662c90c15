// Functions with any bytes in their registers, and any answer to the sizing of their address ranges.
// sources: kernel/device/pci/function.cpp
#include <cstdlib>

#include "support/fake_pci.h"

extern "C" int LLVMFuzzerTestOneInput(const corral::u8* data, size_t size) {
  using namespace corral;
  test::FakePci bus;
  u32 count = 0;
  while (size >= 28) {
    auto& fake = bus.add(data[0] & 3, data[1] & 31, data[2] & 7);
    for (u32 i = 0; i < 6; ++i) fake.writable[i] = static_cast<u32>(data[4 + i]) << 24 | data[5 + i] << 4;
    const size_t now = size < 28 + 96 ? size - 28 : 96;
    std::memcpy(fake.bytes.data() + (data[3] & 0x70), data + 28, now);
    data += 28 + now;
    size -= 28 + now;
  }
  pci::for_each_function(
      bus,
      [](void* counter, const pci::Function& function) {
        if (++*static_cast<u32*>(counter) > 256 * 256) std::abort();
        for (const pci::Bar& bar : function.bars) {
          const bool none = bar.kind == pci::Bar::Kind::none;
          if (!none && (bar.size == 0 || (bar.size & (bar.size - 1)) != 0 || bar.address % bar.size != 0)) std::abort();
        }
        for (const pci::Capability& capability : function.all_capabilities()) {
          if (capability.offset < 0x40 || capability.offset % 4 != 0) std::abort();
        }
      },
      &count);
  return 0;
}

// The table of memory-mapped PCI configuration space.
// Source: PCI Firmware Specification 3.3, 4.1.2 (MCFG). Context: boot, bootstrap core. Pure.
#include "platform/pc/acpi/parser.h"

namespace corral::acpi {

namespace {
constexpr u32 entries_offset = 44;
constexpr u32 entry_size = 16;
constexpr u64 bytes_of_bus = 1u << 20;
constexpr u64 address_end = u64{1} << 52;
}  // namespace

void Parser::parse_mcfg(const Table& table, Mcfg& mcfg) {
  for (u32 offset = entries_offset; table.contains(offset, entry_size); offset += entry_size) {
    const u64 address = table.number(offset, 8);
    const u64 segment = table.number(offset + 8, 2);
    const u8 first = table.byte(offset + 10);
    const u8 last = table.byte(offset + 11);
    if (segment != 0) continue;  // further trees of buses: none of their devices is needed
    if (address == 0 || address % bytes_of_bus != 0 || address > address_end - 256 * bytes_of_bus || last < first) {
      report("ACPI: MCFG: buses {} to {} at {x} cannot be; ignored", first, last, address);
      continue;
    }
    mcfg = {true, {address}, first, last};
    return;
  }
}

}  // namespace corral::acpi

// See pci_access.h.
#include "platform/pc/pci_access.h"

#include "arch/page_table.h"
#include "arch/port_io.h"
#include "device/pci/pci_device.h"
#include "memory/page_allocator.h"
#include "trace/log.h"

namespace corral::platform {

namespace {

constexpr u16 address_port = 0xcf8;
constexpr u16 data_port = 0xcfc;
constexpr u32 address_enable = 1u << 31;
constexpr u64 bytes_of_bus = 1u << 20;

constexpr u64 message_base = 0xfee0'0000;
constexpr u32 largest_destination = 0xff;  // 255 is everybody

constinit PciPorts ports;
constinit PciMemory in_memory;
constinit ApicMessages messages;

u32 port_address(pci::Address at, u32 offset) {
  return address_enable | u32{at.bus} << 16 | u32{at.device} << 11 | u32{at.function} << 8 | (offset & 0xfc);
}

// The window of the buses lies over memory: the table is wrong.
bool lies_over_memory(const acpi::Mcfg& mcfg) {
  const u64 first = mcfg.address.value + mcfg.first_bus * bytes_of_bus;
  const u64 end = mcfg.address.value + (mcfg.last_bus + u64{1}) * bytes_of_bus;
  for (u64 page = first; page < end; page += page_size) {
    if (memory::is_managed({page})) return true;
  }
  return false;
}

}  // namespace

u32 PciPorts::read(pci::Address at, u32 offset) {
  if (offset >= size()) return ~0u;
  LockGuard guard{lock_};
  arch::port_write32(address_port, port_address(at, offset));
  return arch::port_read32(data_port);
}

void PciPorts::write(pci::Address at, u32 offset, u32 value) {
  if (offset >= size()) return;
  LockGuard guard{lock_};
  arch::port_write32(address_port, port_address(at, offset));
  arch::port_write32(data_port, value);
}

bool PciPorts::present() {
  LockGuard guard{lock_};
  arch::port_write32(address_port, address_enable);
  return arch::port_read32(address_port) == address_enable;
}

volatile u32* PciMemory::reach(pci::Address at, u32 offset) {
  if (at.bus < mcfg_.first_bus || at.bus > mcfg_.last_bus || offset >= size()) return nullptr;
  LockGuard guard{lock_};
  if (buses_[at.bus] == nullptr) {
    const Result<volatile u8*> mapped = arch::map_device(mcfg_.address + at.bus * bytes_of_bus, bytes_of_bus);
    if (!mapped.ok()) return nullptr;
    buses_[at.bus] = mapped.value();
  }
  const u64 place = u64{at.device} << 15 | u64{at.function} << 12 | offset;
  return reinterpret_cast<volatile u32*>(buses_[at.bus] + place);
}

u32 PciMemory::read(pci::Address at, u32 offset) {
  const volatile u32* place = reach(at, offset);
  return place == nullptr ? ~0u : *place;
}

void PciMemory::write(pci::Address at, u32 offset, u32 value) {
  if (volatile u32* place = reach(at, offset)) *place = value;
}

Result<InterruptMessage> ApicMessages::allocate(u32 hardware_id, const char* name, InterruptHandler& handler) {
  if (hardware_id >= largest_destination) return Errno::einval;  // needs interrupt remapping
  const u32 vector = TRY(interrupts::allocate_vector(name, handler));
  return InterruptMessage{message_base | u64{hardware_id} << 12, vector};  // fixed delivery, edge
}

Result<void> find_pci_devices(const acpi::Mcfg& mcfg, bool legacy_interrupts) {
  if (!legacy_interrupts) interrupts::set_messages(messages);
  if (mcfg.present && !lies_over_memory(mcfg)) {
    in_memory.initialise(mcfg);
    return pci::add_all(in_memory);
  }
  if (mcfg.present) log::warning("ACPI: MCFG: {x} is memory; PCI is reached through ports", mcfg.address.value);
  if (!ports.present()) {
    log::notice("there is no PCI bus");
    return {};
  }
  return pci::add_all(ports);
}

}  // namespace corral::platform

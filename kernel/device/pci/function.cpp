// Reading configuration registers. See function.h.
#include "device/pci/function.h"

namespace corral::pci {

namespace {

constexpr u32 first_capability = 0x40;
constexpr u32 header_size = 0x100;
constexpr u32 most_devices = 32;
constexpr u32 most_functions = 8;
constexpr u32 most_buses = 256;

constexpr u32 bar_is_ports = 1;
constexpr u32 bar_type = 6;  // of a memory range
constexpr u32 bar_type_64 = 4;

// The size that the writable bits of a base address tell; 0: not a power of two, or none.
u64 size_of(u64 writable) {
  const u64 size = writable & (~writable + 1);
  return writable == ~(size - 1) ? size : 0;
}

// The bits of BAR `index` that can be written. Decoding is off meanwhile.
u32 probe(ConfigSpace& space, Address at, u32 index) {
  const u32 offset = register_bars + 4 * index;
  const u32 before = space.read(at, offset);
  space.write(at, offset, ~0u);
  const u32 writable = space.read(at, offset);
  space.write(at, offset, before);
  return writable;
}

// Answers how many registers it takes.
u32 read_bar(ConfigSpace& space, Address at, u32 index, u32 count, Bar& bar) {
  const u32 low = space.read(at, register_bars + 4 * index);
  const u32 writable = probe(space, at, index);
  if ((low & bar_is_ports) != 0) {
    // The upper half may be fixed at zero (PCI 3.0, 6.2.5.1).
    const u64 mask = (writable & 0xfffc) == 0 ? 0 : ~u64{0xffff} | (writable & 0xfffc);
    bar = {Bar::Kind::ports, low & 0xfffc, size_of(mask)};
  } else if ((low & bar_type) == bar_type_64 && index + 1 < count) {
    const u64 high = space.read(at, register_bars + 4 * (index + 1));
    const u64 mask = (u64{probe(space, at, index + 1)} << 32) | (writable & ~0xfu);
    bar = {Bar::Kind::memory, high << 32 | (low & ~0xfu), size_of(mask)};
  } else {
    const u64 mask = (writable & ~0xfu) == 0 ? 0 : ~u64{0xffff'ffff} | (writable & ~0xfu);
    bar = {Bar::Kind::memory, low & ~0xfu, size_of(mask)};
  }
  const u32 taken = bar.kind == Bar::Kind::memory && (low & bar_type) == bar_type_64 ? 2 : 1;
  // Not set up by the firmware, or impossible.
  if (bar.size == 0 || bar.address == 0 || bar.address % bar.size != 0 || bar.address + bar.size < bar.address) bar = {};
  return taken;
}

void read_bars(ConfigSpace& space, Function& function) {
  const u32 count = function.header_type == 0 ? Function::most_bars : function.header_type == 1 ? 2 : 0;
  const u16 command = space.read16(function.address, register_command);
  change_command(space, function.address, 0, command_ports | command_memory);
  for (u32 i = 0; i < count;) i += read_bar(space, function.address, i, count, function.bars[i]);
  change_command(space, function.address, command & (command_ports | command_memory), 0);
}

void read_capabilities(ConfigSpace& space, Function& function) {
  if ((space.read16(function.address, register_command + 2) & status_capabilities) == 0) return;
  u32 offset = space.read8(function.address, register_capabilities) & ~3u;
  // The limit ends lists that lead back into themselves.
  while (offset >= first_capability && offset < header_size && function.capability_count < Function::most_capabilities) {
    const u32 head = space.read(function.address, offset);
    if (head == ~0u) return;
    function.capabilities[function.capability_count++] = {static_cast<u8>(head), static_cast<u8>(offset)};
    offset = head >> 8 & 0xfc;
  }
}

struct Search {
  ConfigSpace& space;
  FunctionVisitor visit;
  void* context;
  u8 to_do[most_buses] = {};  // buses found, in order
  u32 found = 0;
  bool seen[most_buses] = {};

  void add_bus(u8 bus) {
    if (seen[bus]) return;
    seen[bus] = true;
    to_do[found++] = bus;
  }

  bool look_at(Address at, Function& function) {
    if (!read_function(space, at, function)) return false;
    visit(context, function);
    if (function.is_bridge()) add_bus(space.read8(at, register_bus_numbers + 1));
    return true;
  }
};

}  // namespace

u8 Function::find_capability(u8 id) const {
  for (const Capability& capability : all_capabilities()) {
    if (capability.id == id) return capability.offset;
  }
  return 0;
}

void change_command(ConfigSpace& space, Address at, u16 on, u16 off) {
  // The upper half is the status, whose bits are cleared by writing ones: none is written.
  const u32 command = space.read(at, register_command) & 0xffff;
  space.write(at, register_command, (command & ~u32{off}) | on);
}

bool read_function(ConfigSpace& space, Address at, Function& to) {
  const u32 identity = space.read(at, register_identity);
  to = {};
  to.address = at;
  to.vendor = static_cast<u16>(identity);
  to.device = static_cast<u16>(identity >> 16);
  if (to.vendor == no_vendor || to.vendor == 0) return false;
  const u32 classes = space.read(at, register_class);
  to.revision = static_cast<u8>(classes);
  to.interface = static_cast<u8>(classes >> 8);
  to.sub_class = static_cast<u8>(classes >> 16);
  to.base_class = static_cast<u8>(classes >> 24);
  const u8 type = space.read8(at, register_header_type + 2);
  to.header_type = type & 0x7f;
  to.multi_function = (type & 0x80) != 0;
  if (to.header_type == 0) to.subsystem = space.read16(at, register_subsystem + 2);
  to.interrupt_line = space.read8(at, register_interrupt);
  to.interrupt_pin = space.read8(at, register_interrupt + 1);
  if (to.interrupt_pin > 4) to.interrupt_pin = 0;
  read_bars(space, to);
  read_capabilities(space, to);
  return true;
}

void for_each_function(ConfigSpace& space, FunctionVisitor visit, void* context) {
  Search search{space, visit, context};
  search.add_bus(0);
  for (u32 next = 0; next < search.found; ++next) {
    for (u8 device = 0; device < most_devices; ++device) {
      Function function;
      if (!search.look_at({search.to_do[next], device, 0}, function) || !function.multi_function) continue;
      for (u8 number = 1; number < most_functions; ++number) {
        Function other;
        (void)search.look_at({search.to_do[next], device, number}, other);
      }
    }
  }
}

}  // namespace corral::pci

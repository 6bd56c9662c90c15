// Fixed hardware: the FADT (power, timer, reset), the HPET table, and \_S5 of the DSDT.
//
// \_S5 is found by its byte pattern: Name (\_S5_, Package (n) {type a, type b, …}); everything around it is checked, and
// whatever is not exactly that is passed over. No byte code is ever executed.
// Source: ACPI 6.5, 5.2.9 (FADT), 7.4.2.6 (\_S5), 20.2 (encoding); HPET specification 1.0a, 3.2.4.
// Context: boot, bootstrap core. Pure.
#include "platform/pc/acpi/parser.h"

namespace corral::acpi {

namespace {

// Generic Address Structure, 5.2.3.2: space, width, bit offset, access size, address (8 bytes).
constexpr u32 gas_size = 12;
constexpr u8 space_memory = 0;
constexpr u8 space_port = 1;

constexpr u32 fadt_least = 116;  // ACPI 1.0
constexpr u32 fadt_flag_timer_32 = 1u << 8;
constexpr u32 fadt_flag_reset = 1u << 10;

constexpr u8 op_zero = 0x00;
constexpr u8 op_one = 0x01;
constexpr u8 op_name = 0x08;
constexpr u8 prefix_byte = 0x0a;
constexpr u8 prefix_word = 0x0b;
constexpr u8 op_package = 0x12;
constexpr u8 root_character = 0x5c;
constexpr u8 largest_sleep_type = 7;  // three bits of PM1_CNT (4.8.3.2.1)

// A constant of byte code at `offset`; moves behind it. False: not a small constant.
bool constant_at(const Table& table, u32& offset, u8& value) {
  if (!table.contains(offset, 1)) return false;
  const u8 first = table.byte(offset);
  u64 found = first;
  if (first == op_zero || first == op_one) {
    offset += 1;
  } else if (first == prefix_byte && table.contains(offset, 2)) {
    found = table.byte(offset + 1);
    offset += 2;
  } else if (first == prefix_word && table.contains(offset, 3)) {
    found = table.number(offset + 1, 2);
    offset += 3;
  } else {
    return false;
  }
  value = static_cast<u8>(found);
  return found <= largest_sleep_type;
}

}  // namespace

PortRegister Parser::port_of(const Table& table, u32 old_offset, u32 extended_offset, std::string_view name) {
  if (table.contains(extended_offset, gas_size)) {
    const u64 address = table.number(extended_offset + 4, 8);
    if (address != 0) {
      if (table.byte(extended_offset) == space_port && address <= 0xffff) return {static_cast<u16>(address)};
      report("ACPI: FACP: the extended address of {} ({x}) is not a port; the old field is used", name, address);
    }
  }
  const u32 port = table.word32(old_offset);
  if (port > 0xffff) {
    report("ACPI: FACP: {} is at port {x}, which does not exist; ignored", name, port);
    return {};
  }
  return {static_cast<u16>(port)};
}

void Parser::parse_reset(const Table& table, Fadt& fadt) {
  if ((table.word32(112) & fadt_flag_reset) == 0 || !table.contains(116, gas_size + 1)) return;
  const u8 space = table.byte(116);
  const u64 address = table.number(120, 8);
  fadt.reset.value = table.byte(128);
  fadt.reset.address = address;
  if (space == space_port && address != 0 && address <= 0xffff) {
    fadt.reset.space = ResetRegister::Space::port;
  } else if (space == space_memory && address != 0) {
    fadt.reset.space = ResetRegister::Space::memory;
  } else {
    report("ACPI: FACP: the reset register is in space {} at {x}, which cannot be used; ignored", space, address);
  }
}

void Parser::parse_fadt(const Table& table, Fadt& fadt) {
  if (table.length() < fadt_least) {
    report("ACPI: FACP at {x}: too short ({} bytes); ignored", table.address().value, table.length());
    return;
  }
  fadt.present = true;
  const u32 smi = table.word32(48);
  if (smi > 0xffff) report("ACPI: FACP: the SMI command port {x} does not exist; ignored", smi);
  fadt.smi_command = smi > 0xffff ? u16{0} : static_cast<u16>(smi);
  fadt.acpi_enable = table.byte(52);
  fadt.pm1a_control = port_of(table, 64, 172, "PM1a control");
  fadt.pm1b_control = port_of(table, 68, 184, "PM1b control");
  fadt.pm_timer = port_of(table, 76, 208, "the PM timer");
  if (fadt.pm_timer.present() && table.byte(91) != 4 && !table.contains(208, gas_size)) {
    report("ACPI: FACP: the PM timer's length is {}, not 4; not used", table.byte(91));
    fadt.pm_timer = {};
  }
  fadt.pm_timer_32_bits = (table.word32(112) & fadt_flag_timer_32) != 0;
  const u64 boot_flags = table.byte(8) >= 2 ? table.number(109, 2) : 0;  // 5.2.9.3; byte 8: the table's revision
  fadt.no_keyboard_controller = table.byte(8) >= 3 && (boot_flags & 2) == 0;
  fadt.no_vga = (boot_flags & 4) != 0;
  parse_reset(table, fadt);
  const u64 extended_dsdt = table.contains(140, 8) ? table.number(140, 8) : 0;
  fadt.dsdt = {extended_dsdt != 0 ? extended_dsdt : table.word32(40)};
}

void Parser::parse_hpet(const Table& table, Hpet& hpet) {
  if (table.length() < 56) {
    report("ACPI: HPET at {x}: too short ({} bytes); ignored", table.address().value, table.length());
    return;
  }
  const u64 address = table.number(44, 8);
  if (table.byte(40) != space_memory || address == 0 || (address & 7) != 0) {
    report("ACPI: HPET: its registers are in space {} at {x}, which cannot be; ignored", table.byte(40), address);
    return;
  }
  hpet = {true, {address}};
}

void Parser::find_soft_off(const Table& table, SoftOff& soft_off) {
  constexpr u32 piece_size = 512;
  constexpr u32 overlap = 3;  // the name may straddle two pieces
  u8 piece[piece_size];
  for (u32 offset = Table::header_size; table.contains(offset, 4); offset += piece_size - overlap) {
    const u32 rest = table.length() - offset;
    const u32 size = rest < piece_size ? rest : piece_size;
    if (!table.copy(offset, {piece, size})) return;
    for (u32 i = 0; i + 4 <= size; ++i) {
      if (piece[i] == '_' && piece[i + 1] == 'S' && piece[i + 2] == '5' && piece[i + 3] == '_' &&
          parse_soft_off(table, offset + i, soft_off)) {
        return;
      }
    }
  }
}

bool Parser::parse_soft_off(const Table& table, u32 name_offset, SoftOff& soft_off) {
  const u8 before = table.byte(name_offset - 1);
  const bool named = before == op_name || (before == root_character && table.byte(name_offset - 2) == op_name);
  u32 offset = name_offset + 4;
  if (!named || table.byte(offset) != op_package || !table.contains(offset, 4)) return false;
  ++offset;
  const u32 more_length_bytes = table.byte(offset) >> 6;  // 20.2.4: the length is 1 to 4 bytes
  offset += 1 + more_length_bytes;
  const u8 elements = table.byte(offset);
  ++offset;
  u8 a = 0;
  u8 b = 0;
  if (elements == 0 || !constant_at(table, offset, a)) return false;
  if (elements >= 2 && !constant_at(table, offset, b)) return false;
  soft_off = {true, a, b};
  return true;
}

}  // namespace corral::acpi

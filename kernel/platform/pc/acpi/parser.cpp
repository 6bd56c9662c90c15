// The way from the root pointer to each table, with every length and checksum verified.
// Source: ACPI 6.5, 5.2.5 (RSDP), 5.2.6 (header), 5.2.7 (RSDT), 5.2.8 (XSDT). Context: boot, bootstrap core.
#include "platform/pc/acpi/parser.h"

namespace corral::acpi {

namespace {

constexpr u32 rsdp_size = 20;           // revision 0
constexpr u32 rsdp_extended_size = 36;  // revision 2
constexpr std::string_view rsdp_signature{"RSD PTR ", 8};
constexpr u64 search_start = 0xe'0000;
constexpr u64 search_end = 0x10'0000;
constexpr u64 ebda_pointer = 0x40e;  // real-mode segment of the extended BIOS data area

u8 sum_of(std::span<const u8> bytes) {
  u32 sum = 0;
  for (u8 byte : bytes) sum += byte;
  return static_cast<u8>(sum);
}

u64 number_of(std::span<const u8> bytes) {
  u64 value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = (value << 8) | bytes[i];
  return value;
}

bool same(std::span<const u8> bytes, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (bytes[i] != static_cast<u8>(text[i])) return false;
  }
  return true;
}

}  // namespace

bool Table::copy(u32 offset, std::span<u8> to) const {
  return to.size() <= length_ && contains(offset, static_cast<u32>(to.size())) && reader_.read(address_ + offset, to);
}

u64 Table::number(u32 offset, u32 bytes) const {
  u8 raw[8] = {};
  if (bytes > sizeof raw || !copy(offset, {raw, bytes})) return 0;
  return number_of({raw, bytes});
}

void Parser::parse(PhysicalAddress rsdp, Tables& tables) {
  if (!find_rsdp(rsdp, tables)) {
    report("ACPI: no root pointer found; the machine's tables are not used");
    return;
  }
  const bool rooted =
      (xsdt_.value != 0 && parse_root(xsdt_, "XSDT", 8, tables)) || (rsdt_.value != 0 && parse_root(rsdt_, "RSDT", 4, tables));
  if (!rooted) report("ACPI: neither XSDT nor RSDT is usable; the machine's tables are not used");
  if (rooted && !tables.madt.present) report("ACPI: no usable MADT: cores cannot be detected, one is used");
}

bool Parser::find_rsdp(PhysicalAddress given, Tables& tables) {
  if (given.value != 0) {
    if (check_rsdp(given, tables)) return true;
    report("ACPI: the boot loader's root pointer at {x} is not one; searching", given.value);
  }
  u8 segment[2];
  if (reader_.read({ebda_pointer}, segment)) {
    const u64 ebda = number_of(segment) << 4;
    if (ebda >= 0x400 && ebda < search_end && search(ebda, ebda + 1024, tables)) return true;
  }
  return search(search_start, search_end, tables);
}

bool Parser::search(u64 from, u64 to, Tables& tables) {
  for (u64 at = round_up(from, 16); at + rsdp_size <= to; at += 16) {
    u8 signature[8];
    if (reader_.read({at}, signature) && same(signature, rsdp_signature) && check_rsdp({at}, tables)) return true;
  }
  return false;
}

bool Parser::check_rsdp(PhysicalAddress at, Tables& tables) {
  u8 raw[rsdp_extended_size] = {};
  if (!reader_.read(at, {raw, rsdp_size}) || !same(raw, rsdp_signature)) return false;
  if (sum_of({raw, rsdp_size}) != 0) {
    report("ACPI: root pointer at {x}: checksum is wrong", at.value);
    return false;
  }
  const u8 revision = raw[15];
  PhysicalAddress xsdt = {};
  if (revision >= 2) {
    if (!reader_.read(at, raw) || number_of({raw + 20, 4}) != rsdp_extended_size || sum_of(raw) != 0) {
      report("ACPI: root pointer at {x}: its extended part is damaged, only the RSDT is used", at.value);
    } else {
      xsdt = {number_of({raw + 24, 8})};
    }
  }
  xsdt_ = xsdt;
  rsdt_ = {number_of({raw + 16, 4})};
  tables.rsdp = at;
  tables.revision = revision;
  return true;
}

bool Parser::open(PhysicalAddress at, std::string_view signature, u32& length) {
  u8 header[8];
  if (!reader_.read(at, header)) {
    report("ACPI: {} at {x}: no readable memory there; ignored", signature, at.value);
    return false;
  }
  if (!same(header, signature)) {
    report("ACPI: {} at {x}: wrong signature; ignored", signature, at.value);
    return false;
  }
  length = static_cast<u32>(number_of({header + 4, 4}));
  if (length < Table::header_size || length > most_bytes) {
    report("ACPI: {} at {x}: impossible length {}; ignored", signature, at.value, length);
    return false;
  }
  u8 sum = 0;
  for (u32 done = 0; done < length;) {
    u8 piece[256];
    const u32 size = length - done < sizeof piece ? length - done : static_cast<u32>(sizeof piece);
    if (!reader_.read(at + done, {piece, size})) {
      report("ACPI: {} at {x}: its {} bytes reach beyond readable memory; ignored", signature, at.value, length);
      return false;
    }
    sum = static_cast<u8>(sum + sum_of({piece, size}));
    done += size;
  }
  if (sum != 0) {
    report("ACPI: {} at {x}: checksum is wrong; ignored", signature, at.value);
    return false;
  }
  return true;
}

bool Parser::parse_root(PhysicalAddress at, std::string_view signature, u32 entry_bytes, Tables& tables) {
  u32 length = 0;
  if (!open(at, signature, length)) return false;
  const Table root{reader_, at, length};
  u32 count = (length - Table::header_size) / entry_bytes;
  if ((length - Table::header_size) % entry_bytes != 0) {
    report("ACPI: {}: its length {} does not fit whole entries; the last bytes are ignored", signature, length);
  }
  if (count > most_tables) {
    report("ACPI: {} lists {} tables; the first {} are used", signature, count, most_tables);
    count = most_tables;
  }
  for (u32 i = 0; i < count; ++i) {
    const u64 address = root.number(Table::header_size + i * entry_bytes, entry_bytes);
    if (address != 0) parse_listed({address}, tables);
  }
  if (tables.fadt.present && tables.fadt.dsdt.value != 0 && open(tables.fadt.dsdt, "DSDT", length)) {
    find_soft_off(Table{reader_, tables.fadt.dsdt, length}, tables.soft_off);
  }
  return true;
}

void Parser::parse_listed(PhysicalAddress at, Tables& tables) {
  u8 signature[4];
  if (!reader_.read(at, signature)) {
    report("ACPI: a table is listed at {x}, where no memory is readable; ignored", at.value);
    return;
  }
  u32 length = 0;
  if (same(signature, "APIC") && !tables.madt.present && open(at, "APIC", length)) {
    parse_madt(Table{reader_, at, length}, tables.madt);
  } else if (same(signature, "FACP") && !tables.fadt.present && open(at, "FACP", length)) {
    parse_fadt(Table{reader_, at, length}, tables.fadt);
  } else if (same(signature, "HPET") && !tables.hpet.present && open(at, "HPET", length)) {
    parse_hpet(Table{reader_, at, length}, tables.hpet);
  } else if (same(signature, "MCFG") && !tables.mcfg.present && open(at, "MCFG", length)) {
    parse_mcfg(Table{reader_, at, length}, tables.mcfg);
  } else if (same(signature, "SSDT") && !tables.soft_off.present && open(at, "SSDT", length)) {
    find_soft_off(Table{reader_, at, length}, tables.soft_off);
  }
}

}  // namespace corral::acpi

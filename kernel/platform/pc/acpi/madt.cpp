// The Multiple APIC Description Table: processors and interrupt controllers.
// Source: ACPI 6.5, 5.2.12. Context: boot, bootstrap core. Pure.
#include "platform/pc/acpi/parser.h"

namespace corral::acpi {

namespace {

constexpr u32 entries_offset = 44;
constexpr u32 x2apic_id_of_nobody = 0xffff'ffff;
constexpr u32 apic_id_of_everybody = 0xff;  // the broadcast destination: nobody's own id

// Interrupt-source flags (5.2.12.5): polarity in bits 0 and 1, trigger mode in bits 2 and 3; 3: low or level; 0: the bus's way.
bool says_low(u64 flags) {
  return (flags & 3) == 3;
}
bool says_level(u64 flags) {
  return (flags >> 2 & 3) == 3;
}

// The least length of each type that is used (tables 5.21 and following).
u32 least_length(u8 type) {
  switch (type) {
    case 0: return 8;  // processor local APIC
    case 1: return 12;  // I/O APIC
    case 2: return 10;  // interrupt source override
    case 4: return 6;  // local APIC NMI
    case 5: return 12;  // local APIC address override
    case 9: return 16;  // processor local x2APIC
    case 0xa: return 12;  // local x2APIC NMI
    default: return 2;
  }
}

}  // namespace

Verdict verdict_of(const Processor& processor, u32 bootstrap_apic_id) {
  if (processor.apic_id == bootstrap_apic_id) return Verdict::bootstrap;
  if ((processor.flags & Processor::flag_enabled) != 0) return Verdict::startable;
  if ((processor.flags & Processor::flag_online_capable) != 0) return Verdict::pluggable;
  return Verdict::refused;
}

void Parser::parse_madt(const Table& table, Madt& madt) {
  if (table.length() < entries_offset) {
    report("ACPI: APIC at {x}: too short ({} bytes) for a MADT; ignored", table.address().value, table.length());
    return;
  }
  madt.present = true;
  madt.local_apic = {table.word32(36)};
  u32 offset = entries_offset;
  while (offset < table.length()) {
    const u8 type = table.byte(offset);
    const u8 length = table.contains(offset, 2) ? table.byte(offset + 1) : u8{0};
    if (length < 2 || !table.contains(offset, length)) {
      report("ACPI: MADT: the entry at offset {} has impossible length {}; it and what follows are ignored", offset, length);
      return;
    }
    if (length < least_length(type)) {
      report("ACPI: MADT: the entry of type {} at offset {} is too short ({} bytes); ignored", type, offset, length);
    } else {
      parse_madt_entry(table, offset, type, length, madt);
    }
    offset += length;
  }
}

void Parser::add_processor(const Processor& processor, Madt& madt) {
  for (const Processor& other : madt.processors.all()) {
    if (other.apic_id != processor.apic_id) continue;
    // Firmware lists absent processors with ids that mean nothing; only a usable one is worth a word.
    if (processor.flags != 0) report("ACPI: MADT lists APIC id {} twice; the first is used", processor.apic_id);
    return;
  }
  if (!madt.processors.add(processor) && !too_many_processors_) {
    too_many_processors_ = true;
    report("ACPI: MADT lists more than {} processors; the rest is not used", max_cores);
  }
}

void Parser::parse_madt_entry(const Table& table, u32 offset, u8 type, u8 length, Madt& madt) {
  bool room = true;
  switch (type) {
    case 0: {
      const Processor processor{table.byte(offset + 3), table.byte(offset + 2), table.word32(offset + 4)};
      // An id of 255 belongs to no xAPIC: firmware fills unused entries with it.
      if (processor.apic_id != apic_id_of_everybody) add_processor(processor, madt);
      break;
    }
    case 9: {
      const Processor processor{table.word32(offset + 4), table.word32(offset + 12), table.word32(offset + 8)};
      if (processor.apic_id != x2apic_id_of_nobody) add_processor(processor, madt);
      break;
    }
    case 1: room = madt.io_apics.add({table.byte(offset + 2), {table.word32(offset + 4)}, table.word32(offset + 8)}); break;
    case 2: {
      const u64 flags = table.number(offset + 8, 2);
      if (table.byte(offset + 2) != 0) {
        report("ACPI: MADT: an interrupt override for a bus other than ISA ({}); ignored", table.byte(offset + 2));
        break;
      }
      if (table.byte(offset + 3) > 15) {
        report("ACPI: MADT: an interrupt override for ISA interrupt {}, which does not exist; ignored", table.byte(offset + 3));
        break;
      }
      room = madt.overrides.add({table.byte(offset + 3), table.word32(offset + 4), says_low(flags), says_level(flags)});
      break;
    }
    case 4: {
      const u8 id = table.byte(offset + 2);
      room = madt.nmis.add(
          {id == 0xff ? LocalNmi::all_processors : u32{id}, table.byte(offset + 5), says_low(table.number(offset + 3, 2))});
      break;
    }
    case 0xa:
      room = madt.nmis.add({table.word32(offset + 4), table.byte(offset + 8), says_low(table.number(offset + 2, 2))});
      break;
    case 5: madt.local_apic = {table.number(offset + 4, 8)}; break;
    default: break;  // other kinds of controller: not needed
  }
  if (!room) report("ACPI: MADT: no room for one more entry of type {} ({} bytes); ignored", type, length);
}

}  // namespace corral::acpi

// Reads the ACPI tables: RSDP, XSDT or RSDT, MADT, FADT, HPET, MCFG, and \_S5 of the DSDT and SSDTs.
//
// Trusts nothing: every read is bounded by the table's length, every length by a limit, every table by its checksum;
// the namespace is never interpreted. What is wrong is refused with one sentence that names it, and the rest is used.
// Never fails as a whole: with nothing usable the result says so. Pure: memory comes through PhysicalReader, so the
// parser is tested and fuzzed on the host. Bootstrap core, once.
// Neighbours: acpi/tables.h (result), platform/pc/detect.cpp (user), platform/pc/physical_memory.h (reader).
#pragma once

#include <string_view>

#include "lib/format.h"
#include "platform/pc/acpi/tables.h"

namespace corral::acpi {

class PhysicalReader {
 public:
  // Copies memory; false, with `to` unspecified, when any of it may not be read.
  [[nodiscard]] virtual bool read(PhysicalAddress from, std::span<u8> to) = 0;

 protected:
  ~PhysicalReader() = default;
};

// Gets one sentence about each thing that is wrong, without a line break.
class Reporter {
 public:
  virtual void report(std::string_view sentence) = 0;

 protected:
  ~Reporter() = default;
};

// One table whose header and checksum have been verified; reads inside its length only.
class Table {
 public:
  static constexpr u32 header_size = 36;  // 5.2.6
  Table(PhysicalReader& reader, PhysicalAddress address, u32 length) : reader_{reader}, address_{address}, length_{length} {}

  [[nodiscard]] PhysicalAddress address() const { return address_; }
  [[nodiscard]] u32 length() const { return length_; }
  [[nodiscard]] bool copy(u32 offset, std::span<u8> to) const;
  // A little-endian number of `bytes` (1 … 8) at `offset`; 0 when it is not inside the table.
  [[nodiscard]] u64 number(u32 offset, u32 bytes) const;
  [[nodiscard]] u8 byte(u32 offset) const { return static_cast<u8>(number(offset, 1)); }
  [[nodiscard]] u32 word32(u32 offset) const { return static_cast<u32>(number(offset, 4)); }
  [[nodiscard]] bool contains(u32 offset, u32 bytes) const { return offset <= length_ && bytes <= length_ - offset; }

 private:
  PhysicalReader& reader_;
  PhysicalAddress address_;
  u32 length_;
};

class Parser {
 public:
  Parser(PhysicalReader& reader, Reporter& reporter) : reader_{reader}, reporter_{reporter} {}

  // `rsdp`: where the boot loader says that the root pointer is; 0: it is searched for. `tables` must be fresh.
  void parse(PhysicalAddress rsdp, Tables& tables);

 private:
  static constexpr u32 most_bytes = 4u << 20;  // of one table; the largest DSDTs are below 1 MiB
  static constexpr u32 most_tables = 256;      // listed by the root table

  bool find_rsdp(PhysicalAddress given, Tables& tables);
  bool check_rsdp(PhysicalAddress at, Tables& tables);
  bool search(u64 from, u64 to, Tables& tables);
  // True when a table of this signature is there and whole; says what is wrong otherwise.
  bool open(PhysicalAddress at, std::string_view signature, u32& length);
  bool parse_root(PhysicalAddress at, std::string_view signature, u32 entry_bytes, Tables& tables);
  void parse_listed(PhysicalAddress at, Tables& tables);
  void parse_madt(const Table& table, Madt& madt);
  void parse_madt_entry(const Table& table, u32 offset, u8 type, u8 length, Madt& madt);
  void add_processor(const Processor& processor, Madt& madt);
  void parse_fadt(const Table& table, Fadt& fadt);
  void parse_reset(const Table& table, Fadt& fadt);
  PortRegister port_of(const Table& table, u32 old_offset, u32 extended_offset, std::string_view name);
  void parse_hpet(const Table& table, Hpet& hpet);
  void parse_mcfg(const Table& table, Mcfg& mcfg);
  void find_soft_off(const Table& table, SoftOff& soft_off);
  static bool parse_soft_off(const Table& table, u32 name_offset, SoftOff& soft_off);

  template <class... A>
  void report(const char* format, const A&... arguments) {
    char line[200];
    reporter_.report(format_to(line, format, arguments...));
  }

  PhysicalReader& reader_;
  Reporter& reporter_;
  PhysicalAddress xsdt_ = {};
  PhysicalAddress rsdt_ = {};
  bool too_many_processors_ = false;
};

}  // namespace corral::acpi

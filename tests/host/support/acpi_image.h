// A piece of physical memory with ACPI tables in it, built by hand, for tests of the parser.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "platform/pc/acpi/parser.h"

namespace corral::test {

class AcpiImage : public acpi::PhysicalReader, public acpi::Reporter {
 public:
  static constexpr u64 size = 0x20'0000;
  static constexpr u64 rsdp_at = 0xf'0000;

  AcpiImage() : memory_(size, 0) {}

  bool read(PhysicalAddress from, std::span<u8> to) override {
    if (from.value > size || to.size() > size - from.value) return false;
    std::memcpy(to.data(), memory_.data() + from.value, to.size());
    return true;
  }
  void report(std::string_view sentence) override { messages.append(sentence).append("\n"); }

  void put(u64 at, const std::vector<u8>& bytes) { std::memcpy(memory_.data() + at, bytes.data(), bytes.size()); }
  u8& at(u64 address) { return memory_[address]; }
  void put_number(u64 at, u64 value, u32 bytes) {
    for (u32 i = 0; i < bytes; ++i) memory_[at + i] = static_cast<u8>(value >> (8 * i));
  }
  u64 number(u64 at, u32 bytes) const {
    u64 value = 0;
    for (u32 i = 0; i < bytes; ++i) value |= u64{memory_[at + i]} << (8 * i);
    return value;
  }
  // Makes the bytes from `from` on add up to 0 by changing the one at `where`.
  void mend(u64 from, u64 length, u64 where) {
    u8 sum = 0;
    for (u64 i = 0; i < length; ++i) sum = static_cast<u8>(sum + memory_[from + i]);
    memory_[where] = static_cast<u8>(memory_[where] - sum);
  }
  void mend_table(u64 at) { mend(at, number(at + 4, 4), at + 9); }

  // A table with this body behind its header; the next free place. Returns its address.
  u64 add_table(std::string_view signature, const std::vector<u8>& body, u8 revision = 3) {
    const u64 at = next_;
    next_ += (36 + body.size() + 15) / 16 * 16;
    std::memcpy(memory_.data() + at, signature.data(), 4);
    put_number(at + 4, 36 + body.size(), 4);
    memory_[at + 8] = revision;
    put(at + 36, body);
    mend_table(at);
    return at;
  }
  // Root pointer and root tables that list `tables`. `extended`: revision 2 with an XSDT.
  void add_root(const std::vector<u64>& tables, bool extended, u64 rsdp = rsdp_at) {
    rsdt = add_table("RSDT", numbers(tables, 4), 1);
    if (extended) xsdt = add_table("XSDT", numbers(tables, 8), 1);
    std::memcpy(memory_.data() + rsdp, "RSD PTR ", 8);
    memory_[rsdp + 15] = extended ? 2 : 0;
    put_number(rsdp + 16, rsdt, 4);
    mend(rsdp, 20, rsdp + 8);
    if (!extended) return;
    put_number(rsdp + 20, 36, 4);
    put_number(rsdp + 24, xsdt, 8);
    mend(rsdp, 36, rsdp + 32);
  }
  acpi::Tables parse(u64 rsdp = 0) {
    acpi::Tables tables;
    acpi::Parser{*this, *this}.parse({rsdp}, tables);
    return tables;
  }
  [[nodiscard]] bool said(std::string_view words) const { return messages.find(words) != std::string::npos; }

  virtual ~AcpiImage() = default;

  std::string messages;
  u64 rsdt = 0;
  u64 xsdt = 0;

 private:
  static std::vector<u8> numbers(const std::vector<u64>& values, u32 bytes) {
    std::vector<u8> out;
    for (u64 value : values) {
      for (u32 i = 0; i < bytes; ++i) out.push_back(static_cast<u8>(value >> (8 * i)));
    }
    return out;
  }

  std::vector<u8> memory_;
  u64 next_ = 0x10'0000;
};

// ---- pieces of a MADT -------------------------------------------------------------------------------------------
using Bytes = std::vector<u8>;
inline Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline Bytes word(u64 value, u32 bytes) {
  Bytes out;
  for (u32 i = 0; i < bytes; ++i) out.push_back(static_cast<u8>(value >> (8 * i)));
  return out;
}
inline Bytes madt_head(u32 local_apic = 0xfee0'0000) {
  return word(local_apic, 4) + word(1, 4);
}
inline Bytes madt_processor(u8 firmware_id, u8 apic_id, u32 flags) {
  return Bytes{0, 8, firmware_id, apic_id} + word(flags, 4);
}
inline Bytes madt_x2apic(u32 firmware_id, u32 apic_id, u32 flags) {
  return Bytes{9, 16, 0, 0} + word(apic_id, 4) + word(flags, 4) + word(firmware_id, 4);
}
inline Bytes madt_io_apic(u8 id, u32 address, u32 first) {
  return Bytes{1, 12, id, 0} + word(address, 4) + word(first, 4);
}
inline Bytes madt_override(u8 irq, u32 line, u16 flags) {
  return Bytes{2, 10, 0, irq} + word(line, 4) + word(flags, 2);
}

// A FADT of 276 bytes (ACPI 6) as a PC has it.
inline Bytes fadt_body(u32 dsdt) {
  Bytes body(276 - 36, 0);
  const auto put = [&body](u32 offset, const Bytes& bytes) {
    for (size_t i = 0; i < bytes.size(); ++i) body[offset - 36 + i] = bytes[i];
  };
  put(40, word(dsdt, 4));
  put(48, word(0xb2, 4));
  put(52, Bytes{2, 3});
  put(64, word(0x604, 4));
  put(76, word(0x608, 4));
  put(91, Bytes{4});
  put(109, word(2, 2));
  put(112, word(1u << 10 | 1u << 8, 4));
  put(116, Bytes{1, 8, 0, 1} + word(0xcf9, 8));
  put(128, Bytes{0x0f});
  return body;
}

// Name (\_S5_, Package (4) {type a, type b, 0, 0}) among other byte code.
inline Bytes dsdt_body(u8 type_a, u8 type_b) {
  return Bytes{0x08, 'A',  'B',  'C',  'D',    0x0a, 7,      0x08, '_',  'S',  '5', '_',
               0x12, 0x08, 0x04, 0x0a, type_a, 0x0a, type_b, 0x00, 0x00, 0x5b, 0x80};
}

}  // namespace corral::test

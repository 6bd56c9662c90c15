// The ACPI parser on anything at all. Two ways, chosen by the first byte: the input as raw memory, so that the fuzzer has
// to find every checksum itself; or the input as changes to a good machine, with the checksums mended afterwards.
// sources: kernel/platform/pc/acpi/parser.cpp kernel/platform/pc/acpi/madt.cpp kernel/platform/pc/acpi/fixed.cpp kernel/platform/pc/acpi/mcfg.cpp
#include <cstdlib>

#include "support/acpi_image.h"

namespace {

using namespace corral;
using namespace corral::test;

void check(const acpi::Tables& tables) {
  // What the rest of the kernel relies on, whatever the tables say.
  for (const acpi::Override& entry : tables.madt.overrides.all()) {
    if (entry.isa_irq > 15) std::abort();
  }
  if (tables.madt.processors.count() > max_cores) std::abort();
  if (tables.soft_off.sleep_type_a > 7 || tables.soft_off.sleep_type_b > 7) std::abort();
  if (tables.fadt.reset.space == acpi::ResetRegister::Space::port && tables.fadt.reset.address > 0xffff) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  if (size < 2) return 0;
  const bool raw = (data[0] & 1) != 0;
  ++data;
  --size;
  static AcpiImage pristine = [] {
    AcpiImage image;
    const u64 madt = image.add_table("APIC", madt_head() + madt_processor(0, 0, 1) + madt_x2apic(1, 1, 1) +
                                                 madt_io_apic(0, 0xfec0'0000, 0) + madt_override(0, 2, 0) +
                                                 Bytes{4, 6, 0xff, 0, 0, 1} + (Bytes{5, 12, 0, 0} + word(0xfee0'0000, 8)));
    const u64 dsdt = image.add_table("DSDT", dsdt_body(5, 5));
    const u64 fadt = image.add_table("FACP", fadt_body(static_cast<u32>(dsdt)));
    const u64 hpet = image.add_table("HPET", word(0x8086'a201, 4) + Bytes{0, 64, 0, 0} + word(0xfed0'0000, 8) + Bytes(4, 0));
    image.add_root({madt, fadt, hpet}, true);
    return image;
  }();
  constexpr u64 tables_at = 0x10'0000;
  constexpr u64 tables_size = 0x800;
  // Memory is large: what was changed is put back instead of copying all of it for every input.
  std::vector<u8> before(tables_size + 36);
  AcpiImage& image = pristine;
  static_cast<void>(image.read({tables_at}, {before.data(), tables_size}));
  static_cast<void>(image.read({AcpiImage::rsdp_at}, {before.data() + tables_size, 36}));
  image.messages.clear();
  if (raw) {
    for (size_t i = 0; i < size && i < tables_size; ++i) image.at(tables_at + i) = data[i];
  } else {
    for (size_t i = 0; i + 3 <= size; i += 3) {
      image.at(tables_at + (data[i] | data[i + 1] << 8) % tables_size) = data[i + 2];
    }
    for (u64 at = tables_at; at < tables_at + tables_size; at += 16) {
      const u64 length = image.number(at + 4, 4);
      if (length >= 36 && length <= tables_size) image.mend_table(at);
    }
  }
  check(image.parse(AcpiImage::rsdp_at));
  image.put(tables_at, {before.begin(), before.begin() + tables_size});
  image.put(AcpiImage::rsdp_at, {before.begin() + tables_size, before.end()});
  return 0;
}

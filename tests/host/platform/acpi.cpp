// The ACPI parser on tables that are right, wrong and absurd.
// sources: kernel/platform/pc/acpi/parser.cpp kernel/platform/pc/acpi/madt.cpp kernel/platform/pc/acpi/fixed.cpp kernel/platform/pc/acpi/mcfg.cpp
#include <gtest/gtest.h>

#include "support/acpi_image.h"

namespace corral::test {
namespace {

using acpi::Processor;
using acpi::Tables;
using acpi::Verdict;
using acpi::verdict_of;

Bytes usual_madt() {
  return madt_head() + madt_processor(0, 0, 1) + madt_processor(1, 2, 1) + madt_processor(2, 4, 2) + madt_processor(3, 6, 0) +
         madt_io_apic(0, 0xfec0'0000, 0) + madt_override(0, 2, 0) + madt_override(9, 9, 0xd) + Bytes{4, 6, 0xff, 0, 0, 1};
}

struct Machine : AcpiImage {
  explicit Machine(bool extended = true) {
    madt = add_table("APIC", usual_madt());
    dsdt = add_table("DSDT", dsdt_body(5, 3));
    fadt = add_table("FACP", fadt_body(static_cast<u32>(dsdt)));
    hpet = add_table("HPET", word(0x8086'a201, 4) + Bytes{0, 64, 0, 0} + word(0xfed0'0000, 8) + Bytes{0, 0, 1, 0});
    add_root({fadt, madt, hpet}, extended);
  }
  u64 madt, dsdt, fadt, hpet;
};

void expect_usual(const Tables& tables) {
  EXPECT_TRUE(tables.madt.present);
  EXPECT_EQ(tables.madt.local_apic.value, 0xfee0'0000u);
  ASSERT_EQ(tables.madt.processors.count(), 4u);
  EXPECT_EQ(tables.madt.processors.all()[1].apic_id, 2u);
  EXPECT_EQ(tables.madt.processors.all()[1].firmware_id, 1u);
  ASSERT_EQ(tables.madt.overrides.count(), 2u);
  EXPECT_EQ(tables.madt.overrides.all()[0].line, 2u);
  EXPECT_FALSE(tables.madt.overrides.all()[0].level);
  EXPECT_TRUE(tables.madt.overrides.all()[1].level);
  EXPECT_FALSE(tables.madt.overrides.all()[1].active_low);
  ASSERT_EQ(tables.madt.nmis.count(), 1u);
  EXPECT_EQ(tables.madt.nmis.all()[0].firmware_id, acpi::LocalNmi::all_processors);
  EXPECT_TRUE(tables.fadt.present);
  EXPECT_EQ(tables.fadt.pm1a_control.port, 0x604);
  EXPECT_FALSE(tables.fadt.pm1b_control.present());
  EXPECT_EQ(tables.fadt.pm_timer.port, 0x608);
  EXPECT_TRUE(tables.fadt.pm_timer_32_bits);
  EXPECT_FALSE(tables.fadt.no_keyboard_controller);
  EXPECT_EQ(tables.fadt.reset.address, 0xcf9u);
  EXPECT_EQ(tables.fadt.reset.value, 0x0f);
  EXPECT_TRUE(tables.hpet.present);
  EXPECT_EQ(tables.hpet.address.value, 0xfed0'0000u);
  EXPECT_TRUE(tables.soft_off.present);
  EXPECT_EQ(tables.soft_off.sleep_type_a, 5);
  EXPECT_EQ(tables.soft_off.sleep_type_b, 3);
}

TEST(Acpi, ReadsAnXsdt) {
  Machine machine;
  expect_usual(machine.parse(AcpiImage::rsdp_at));
  EXPECT_EQ(machine.messages, "");
}

TEST(Acpi, ReadsAnRsdtAndSearchesForTheRoot) {
  Machine machine{false};
  expect_usual(machine.parse());
  EXPECT_EQ(machine.messages, "");
}

TEST(Acpi, FindsTheRootInTheExtendedBiosArea) {
  AcpiImage machine;
  const u64 madt = machine.add_table("APIC", usual_madt());
  machine.put_number(0x40e, 0x9fc0, 2);
  machine.add_root({madt}, true, 0x9fc20);
  EXPECT_EQ(machine.parse().rsdp.value, 0x9fc20u);
}

TEST(Acpi, VerdictsFollowTheFlags) {
  EXPECT_EQ(verdict_of({0, 0, 0}, 0), Verdict::bootstrap);  // it runs, whatever the table says
  EXPECT_EQ(verdict_of({1, 1, Processor::flag_enabled}, 0), Verdict::startable);
  EXPECT_EQ(verdict_of({1, 1, 3}, 0), Verdict::startable);
  EXPECT_EQ(verdict_of({1, 1, Processor::flag_online_capable}, 0), Verdict::pluggable);
  EXPECT_EQ(verdict_of({1, 1, 0}, 0), Verdict::refused);
  EXPECT_EQ(verdict_of({1, 1, 4}, 0), Verdict::refused);
}

TEST(Acpi, AWrongBootLoaderPointerLeadsToASearch) {
  Machine machine;
  expect_usual(machine.parse(0x1234));
  EXPECT_TRUE(machine.said("searching"));
}

TEST(Acpi, NoRootAtAll) {
  AcpiImage machine;
  EXPECT_EQ(machine.parse().rsdp.value, 0u);
  EXPECT_TRUE(machine.said("no root pointer"));
}

TEST(Acpi, ADamagedExtendedRootFallsBackToTheRsdt) {
  Machine machine;
  machine.at(AcpiImage::rsdp_at + 30) ^= 1;
  expect_usual(machine.parse());
  EXPECT_TRUE(machine.said("extended part is damaged"));
}

TEST(Acpi, ADamagedXsdtFallsBackToTheRsdt) {
  Machine machine;
  machine.at(machine.xsdt + 40) ^= 1;
  expect_usual(machine.parse());
  EXPECT_TRUE(machine.said("XSDT")) << machine.messages;
  EXPECT_TRUE(machine.said("checksum"));
}

TEST(Acpi, EveryTableWithAWrongChecksumIsNamed) {
  for (u32 which = 0; which < 4; ++which) {
    Machine machine;
    const u64 at[] = {machine.madt, machine.fadt, machine.hpet, machine.dsdt};
    const std::string name[] = {"APIC", "FACP", "HPET", "DSDT"};
    machine.at(at[which] + 36) ^= 0x55;
    const Tables tables = machine.parse();
    EXPECT_TRUE(machine.said(name[which] + " at")) << machine.messages;
    EXPECT_TRUE(machine.said("checksum is wrong"));
    EXPECT_EQ(tables.madt.present, which != 0);
    EXPECT_EQ(tables.fadt.present, which != 1);
    EXPECT_EQ(tables.hpet.present, which != 2);
    EXPECT_EQ(tables.soft_off.present, which != 1 && which != 3);
    if (which == 0) EXPECT_TRUE(machine.said("no usable MADT"));
  }
}

TEST(Acpi, ImpossibleLengthsAreRefused) {
  for (u32 length : {0u, 8u, 35u, 0x50'0000u, 0xffff'ffffu}) {
    Machine machine;
    machine.put_number(machine.madt + 4, length, 4);
    EXPECT_FALSE(machine.parse().madt.present);
    EXPECT_TRUE(machine.said("impossible length")) << length;
  }
  Machine machine;
  machine.put_number(machine.madt + 4, 0x30'0000, 4);  // possible, but beyond memory
  EXPECT_FALSE(machine.parse().madt.present);
  EXPECT_TRUE(machine.said("beyond readable memory"));
}

TEST(Acpi, ATableShorterThanItsKindIsRefused) {
  AcpiImage machine;
  const u64 madt = machine.add_table("APIC", Bytes{1, 2, 3});
  const u64 fadt = machine.add_table("FACP", Bytes(20, 0));
  const u64 hpet = machine.add_table("HPET", Bytes(4, 0));
  machine.add_root({madt, fadt, hpet, 0x7fff'0000}, true);
  const Tables tables = machine.parse();
  EXPECT_FALSE(tables.madt.present || tables.fadt.present || tables.hpet.present);
  EXPECT_TRUE(machine.said("too short (39 bytes) for a MADT"));
  EXPECT_TRUE(machine.said("FACP"));
  EXPECT_TRUE(machine.said("HPET"));
  EXPECT_TRUE(machine.said("no memory is readable"));
}

Tables parse_madt(AcpiImage& machine, const Bytes& body) {
  const u64 madt = machine.add_table("APIC", body);
  machine.add_root({madt}, true);
  return machine.parse();
}

TEST(Acpi, AnEntryOfLengthZeroEndsTheTable) {
  AcpiImage machine;
  const Tables tables = parse_madt(machine, madt_head() + madt_processor(0, 0, 1) + Bytes{0, 0} + madt_processor(1, 1, 1));
  EXPECT_EQ(tables.madt.processors.count(), 1u);
  EXPECT_TRUE(machine.said("impossible length 0"));
}

TEST(Acpi, AnEntryThatLeavesTheTableIsNotRead) {
  AcpiImage machine;
  const Tables tables = parse_madt(machine, madt_head() + madt_processor(0, 0, 1) + Bytes{0, 255, 1, 1, 1, 0, 0, 0});
  EXPECT_EQ(tables.madt.processors.count(), 1u);
  EXPECT_TRUE(machine.said("impossible length 255"));
}

TEST(Acpi, AKnownEntryThatIsTooShortIsSkipped) {
  AcpiImage machine;
  const Tables tables = parse_madt(machine, madt_head() + Bytes{0, 4, 9, 9} + madt_processor(1, 1, 1));
  ASSERT_EQ(tables.madt.processors.count(), 1u);
  EXPECT_EQ(tables.madt.processors.all()[0].apic_id, 1u);
  EXPECT_TRUE(machine.said("too short (4 bytes)"));
}

TEST(Acpi, X2ApicEntriesAndTheAddressOverride) {
  AcpiImage machine;
  const Tables tables = parse_madt(machine, madt_head() + madt_x2apic(7, 300, 1) + madt_x2apic(8, 0xffff'ffff, 1) +
                                                (Bytes{5, 12, 0, 0} + word(0x1'fee0'0000, 8)) +
                                                (Bytes{0xa, 12, 0, 0} + word(7, 4) + Bytes{1, 0, 0, 0}));
  ASSERT_EQ(tables.madt.processors.count(), 1u);
  EXPECT_EQ(tables.madt.processors.all()[0].apic_id, 300u);
  EXPECT_EQ(tables.madt.processors.all()[0].firmware_id, 7u);
  EXPECT_EQ(tables.madt.local_apic.value, 0x1'fee0'0000u);
  ASSERT_EQ(tables.madt.nmis.count(), 1u);
  EXPECT_EQ(tables.madt.nmis.all()[0].firmware_id, 7u);
}

TEST(Acpi, ACoreListedTwiceCountsOnce) {
  AcpiImage machine;
  const Tables tables = parse_madt(machine, madt_head() + madt_processor(0, 5, 1) + madt_x2apic(0, 5, 1));
  EXPECT_EQ(tables.madt.processors.count(), 1u);
  EXPECT_TRUE(machine.said("APIC id 5 twice"));
}

TEST(Acpi, MoreCoresThanTheKernelTakes) {
  AcpiImage machine;
  Bytes body = madt_head();
  for (u32 id = 0; id < max_cores + 40; ++id) body = body + madt_x2apic(id, id, 1);
  const Tables tables = parse_madt(machine, body);
  EXPECT_EQ(tables.madt.processors.count(), max_cores);
  EXPECT_TRUE(machine.said("more than 256 processors"));
}

TEST(Acpi, OddOverridesAreRefused) {
  AcpiImage machine;
  const Tables tables = parse_madt(machine, madt_head() + madt_override(16, 16, 0) + Bytes{2, 10, 3, 1, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(tables.madt.overrides.count(), 0u);
  EXPECT_TRUE(machine.said("which does not exist"));
  EXPECT_TRUE(machine.said("other than ISA"));
}

TEST(Acpi, ExtendedRegistersWinAndNonsenseFallsBack) {
  for (u64 address : {u64{0x1604}, u64{0x1'0604}}) {
    AcpiImage machine;
    Bytes body = fadt_body(0);
    const Bytes gas = Bytes{1, 16, 0, 2} + word(address, 8);
    for (size_t i = 0; i < gas.size(); ++i) body[172 - 36 + i] = gas[i];
    machine.add_root({machine.add_table("FACP", body)}, true);
    EXPECT_EQ(machine.parse().fadt.pm1a_control.port, address == 0x1604 ? 0x1604 : 0x604);
    EXPECT_EQ(machine.said("the old field is used"), address != 0x1604);
  }
}

Tables parse_dsdt(const Bytes& code) {
  AcpiImage machine;
  const u64 dsdt = machine.add_table("DSDT", code);
  machine.add_root({machine.add_table("FACP", fadt_body(static_cast<u32>(dsdt)))}, true);
  return machine.parse();
}

TEST(Acpi, SoftOffInAllItsSpellings) {
  EXPECT_TRUE(parse_dsdt({0x08, '\\', '_', 'S', '5', '_', 0x12, 4, 2, 0, 1, 0}).soft_off.present);
  EXPECT_EQ(parse_dsdt({0x08, '_', 'S', '5', '_', 0x12, 0x48, 0, 2, 0x0b, 6, 0, 1}).soft_off.sleep_type_a, 6);
  // A mention of the name alone, a package of something else, values of more than three bits, the end of the table.
  EXPECT_FALSE(parse_dsdt({0x70, '_', 'S', '5', '_', 0x12, 4, 2, 0, 0}).soft_off.present);
  EXPECT_FALSE(parse_dsdt({0x08, '_', 'S', '5', '_', 0x11, 4, 2, 0, 0}).soft_off.present);
  EXPECT_FALSE(parse_dsdt({0x08, '_', 'S', '5', '_', 0x12, 4, 2, 0x0a, 8, 0}).soft_off.present);
  EXPECT_FALSE(parse_dsdt({0x08, '_', 'S', '5', '_', 0x12, 4, 2, 0x0a}).soft_off.present);
  EXPECT_FALSE(parse_dsdt({0x08, '_', 'S', '5', '_'}).soft_off.present);
  EXPECT_FALSE(parse_dsdt({'_', 'S', '5', '_', 0x12, 4, 2, 0, 0}).soft_off.present);
}

TEST(Acpi, SoftOffIsFoundAcrossReadingPieces) {
  for (u32 shift = 490; shift < 530; ++shift) {
    const Bytes code = Bytes(shift, 0x77) + Bytes{0x08, '_', 'S', '5', '_', 0x12, 4, 2, 1, 1, 0};
    EXPECT_TRUE(parse_dsdt(code).soft_off.present) << shift;
  }
}

}  // namespace
}  // namespace corral::test

// Reading PCI configuration registers: right ones, absurd ones, and buses that lead in circles.
// sources: kernel/device/pci/function.cpp
#include <gtest/gtest.h>

#include <vector>

#include "support/fake_pci.h"

namespace corral::test {
namespace {

using pci::Bar;
using pci::Function;

std::vector<pci::Address> all(FakePci& bus) {
  std::vector<pci::Address> found;
  pci::for_each_function(
      bus, [](void* to, const Function& f) { static_cast<std::vector<pci::Address>*>(to)->push_back(f.address); }, &found);
  return found;
}

TEST(Pci, AbsentFunctionsAreNotFound) {
  FakePci bus;
  Function function;
  EXPECT_FALSE(pci::read_function(bus, {0, 3, 0}, function));
  EXPECT_TRUE(all(bus).empty());
}

TEST(Pci, BarsAreSizedAndLeftAsTheyWere) {
  FakePci bus;
  auto& fake = bus.add(0, 3, 0);
  fake.set(4, 0x0007, 2);
  fake.set_bar(0, 0xfebc'0000, 0x4000, false);
  fake.set_bar(2, 0x38'0000'0000, u64{8} << 30, true);
  fake.set(0x10 + 16, 0xc001, 4);
  fake.writable[4] = 0xffe0;
  Function function;
  ASSERT_TRUE(pci::read_function(bus, {0, 3, 0}, function));
  EXPECT_EQ(function.bars[0].kind, Bar::Kind::memory);
  EXPECT_EQ(function.bars[0].address, 0xfebc'0000u);
  EXPECT_EQ(function.bars[0].size, 0x4000u);
  EXPECT_EQ(function.bars[1].kind, Bar::Kind::none);
  EXPECT_EQ(function.bars[2].address, 0x38'0000'0000u);
  EXPECT_EQ(function.bars[2].size, u64{8} << 30);
  EXPECT_EQ(function.bars[4].kind, Bar::Kind::ports);
  EXPECT_EQ(function.bars[4].size, 0x20u);
  EXPECT_EQ(bus.read({0, 3, 0}, 0x10), 0xfebc'0000u);
  EXPECT_EQ(bus.read({0, 3, 0}, 0x1c), 0x38u);
  EXPECT_EQ(bus.read16({0, 3, 0}, 4), 0x0007);
}

TEST(Pci, ImpossibleBarsAreLeftOut) {
  FakePci bus;
  auto& fake = bus.add(0, 3, 0);
  fake.set(0x10, 0xfebc'1000, 4);  // not a multiple of its size
  fake.writable[0] = 0xffff'0000;
  fake.set(0x14, 0xfebc'0000, 4);  // bits with a gap
  fake.writable[1] = 0xff0f'0000;
  fake.writable[2] = 0xffff'f000;  // not set up
  fake.set(0x24, 0xfebc'0004, 4);  // 64 bits, and no register is left
  fake.writable[5] = 0xffff'0000;
  Function function;
  ASSERT_TRUE(pci::read_function(bus, {0, 3, 0}, function));
  for (u32 i = 0; i < 5; ++i) EXPECT_EQ(function.bars[i].kind, Bar::Kind::none) << i;
}

TEST(Pci, CapabilitiesInACircleEnd) {
  FakePci bus;
  auto& fake = bus.add(0, 3, 0);
  fake.set(6, 0x10, 2);
  fake.set(0x34, 0x41, 1);
  fake.set(0x40, 0x5009, 2);
  fake.set(0x50, 0x4011, 2);
  Function function;
  ASSERT_TRUE(pci::read_function(bus, {0, 3, 0}, function));
  EXPECT_EQ(function.find_capability(pci::capability_vendor), 0x40);
  EXPECT_EQ(function.find_capability(pci::capability_msix), 0x50);
  EXPECT_EQ(function.find_capability(0x05), 0);
  EXPECT_LE(function.capability_count, Function::most_capabilities);
}

TEST(Pci, CapabilitiesInTheHeaderEnd) {
  FakePci bus;
  auto& fake = bus.add(0, 3, 0);
  fake.set(6, 0x10, 2);
  fake.set(0x34, 0x04, 1);
  Function function;
  ASSERT_TRUE(pci::read_function(bus, {0, 3, 0}, function));
  EXPECT_EQ(function.capability_count, 0u);
}

TEST(Pci, BridgesAreFollowedOnce) {
  FakePci bus;
  bus.add(0, 0, 0);
  auto& multi = bus.add(0, 1, 0);
  multi.set(0x0e, 0x81, 1);
  multi.set(0x0a, 0x0604, 2);
  multi.set(0x18, 0x00'0700, 3);  // to bus 7
  auto& back = bus.add(0, 1, 2);
  back.set(0x0e, 0x01, 1);
  back.set(0x0a, 0x0604, 2);
  back.set(0x18, 0x00'0000, 3);  // to bus 0 again
  bus.add(0, 2, 1);               // not the first function of a device with several
  bus.add(7, 31, 0);
  const auto found = all(bus);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[2], (pci::Address{0, 1, 2}));
  EXPECT_EQ(found[3], (pci::Address{7, 31, 0}));
}

}  // namespace
}  // namespace corral::test

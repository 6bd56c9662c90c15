// The processor's counters of events: what CPUID's leaf 0xA says, how they are set up and read, on registers that are an array.
#include "arch/x86_64/performance_unit.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace corral::arch {
namespace {

// The leaf's words.
struct Leaf {
  u32 version = 4, general = 4, general_width = 48, named_events = 7, not_there = 0, fixed = 3, fixed_width = 48;
  [[nodiscard]] PerformanceUnit unit() const {
    return PerformanceUnit::from_cpuid(version | general << 8 | general_width << 16 | named_events << 24, not_there,
                                       fixed | fixed_width << 5);
  }
};

// Counts how the unit was set up, and counts as it says.
struct Registers {
  std::map<u32, u64> msr;
  std::vector<u32> order;
  std::map<u32, u64> counters;
  void write(u32 number, u64 value) {
    msr[number] = value;
    order.push_back(number);
  }
  u64 counter(u32 number) {
    const auto found = counters.find(number);
    EXPECT_NE(found, counters.end()) << "a counter that is not there";
    return found == counters.end() ? 0 : found->second;
  }
};

TEST(PerformanceUnit, NeedsVersionTwoWithFixedCounters) {
  EXPECT_NE(PerformanceUnit::from_cpuid(0, 0, 0).missing, nullptr) << "an emulator, or another maker's processor";
  EXPECT_NE((Leaf{.version = 1}.unit().missing), nullptr);
  EXPECT_EQ((Leaf{.version = 2}.unit().missing), nullptr);
  EXPECT_NE((Leaf{.fixed = 1}.unit().missing), nullptr);
  EXPECT_NE((Leaf{.fixed_width = 0}.unit().missing), nullptr);
  EXPECT_NE((Leaf{.not_there = 1}.unit().missing), nullptr) << "no cycles";
  EXPECT_NE((Leaf{.not_there = 2}.unit().missing), nullptr) << "no instructions";
  EXPECT_NE((Leaf{.named_events = 1}.unit().missing), nullptr) << "it does not say whether there are instructions";
}

TEST(PerformanceUnit, MayLackCacheEvents) {
  EXPECT_TRUE(Leaf{}.unit().cache_events);
  for (const Leaf& leaf : {Leaf{.named_events = 4}, Leaf{.not_there = 1 << 3}, Leaf{.not_there = 1 << 4}, Leaf{.general = 1},
                           Leaf{.general_width = 0}}) {
    const PerformanceUnit unit = leaf.unit();
    EXPECT_EQ(unit.missing, nullptr);
    EXPECT_FALSE(unit.cache_events);
    Registers registers;
    unit.start(registers);
    EXPECT_EQ(registers.msr[0x38f], 0x3'0000'0000u) << "two fixed counters only";
    EXPECT_EQ(registers.msr.count(0x186), 0u);
    registers.counters = {{1u << 30, 5}, {(1u << 30) + 1, 6}};
    EXPECT_EQ(unit.read(registers).accesses, 0u);
  }
}

// The numbers themselves, as the manual has them.
TEST(PerformanceUnit, IsSetUpWhileItStands) {
  Registers registers;
  Leaf{}.unit().start(registers);
  EXPECT_EQ(registers.order.front(), 0x38fu) << "off, while it is changed";
  EXPECT_EQ(registers.order.back(), 0x38fu);
  EXPECT_EQ(registers.msr[0x38f], 0x3'0000'0003u);
  EXPECT_EQ(registers.msr[0x38d], 0x33u) << "user and kernel mode, no interrupt";
  EXPECT_EQ(registers.msr[0x186], 0x43'4f2eu);
  EXPECT_EQ(registers.msr[0x187], 0x43'412eu);
  for (const u32 counter : {0xc1u, 0xc2u, 0x309u, 0x30au}) EXPECT_EQ(registers.msr.at(counter), 0u);
}

TEST(PerformanceUnit, ReadsEachCounterByItsNumber) {
  Registers registers;
  registers.counters = {{0, 30}, {1, 40}, {1u << 30, 10}, {(1u << 30) + 1, 20}};
  const EventSums sums = Leaf{}.unit().read(registers);
  EXPECT_EQ(sums.instructions, 10u);
  EXPECT_EQ(sums.cycles, 20u);
  EXPECT_EQ(sums.accesses, 30u);
  EXPECT_EQ(sums.refills, 40u);
}

TEST(PerformanceUnit, CountersThatWrapGoOn) {
  const PerformanceUnit unit = Leaf{.general_width = 40, .fixed_width = 48}.unit();
  const EventSums before{(u64{1} << 48) - 3, 100, (u64{1} << 40) - 1, 7};
  const EventSums between = unit.between(before, {4, 150, 1, 7});
  EXPECT_EQ(between.instructions, 7u);
  EXPECT_EQ(between.cycles, 50u);
  EXPECT_EQ(between.accesses, 2u);
  EXPECT_EQ(between.refills, 0u);
}

}  // namespace
}  // namespace corral::arch

// The processor's counters of events: what CPUID's leaf 0xA says, how they are set up and read, on registers that are an array.
#include "arch/x86_64/performance_unit.h"

#include <gtest/gtest.h>

#include <initializer_list>
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

TEST(PerformanceUnit, TakesTheMostWantedEventsAsFarAsThereAreCounters) {
  using enum CountedEvent;
  struct Case {
    u32 general;
    CountedEvents counted, apart;
  };
  const CountedEvents all = CountedEvents::of(instructions, cycles, accesses, refills);
  for (const Case& each :
       {Case{0, CountedEvents::of(instructions, cycles), {}}, Case{1, CountedEvents::of(instructions, cycles, refills), {}},
        Case{2, all, {}}, Case{3, all, CountedEvents::of(instructions)}, Case{4, all, CountedEvents::of(instructions, refills)},
        Case{5, all, CountedEvents::of(instructions, refills, cycles)}, Case{6, all, all}, Case{8, all, all}}) {
    const PerformanceUnit unit = Leaf{.general = each.general}.unit();
    EXPECT_EQ(unit.missing, nullptr);
    EXPECT_EQ(unit.counted(), each.counted) << each.general;
    EXPECT_EQ(unit.told_apart(), each.apart) << each.general;
  }
}

TEST(PerformanceUnit, MayLackCacheEvents) {
  using enum CountedEvent;
  const CountedEvents without = CountedEvents::of(instructions, cycles);
  for (const u32 not_there : {1u << 3 | 1u << 4, 1u << 4}) {
    const PerformanceUnit unit = Leaf{.general = 8, .not_there = not_there}.unit();
    EXPECT_EQ(unit.missing, nullptr);
    EXPECT_FALSE(unit.counted().has(refills));
    EXPECT_EQ(unit.told_apart(), unit.counted());
  }
  EXPECT_EQ((Leaf{.general = 8, .named_events = 3}.unit().counted()), without);
  const PerformanceUnit unit = Leaf{.general_width = 0}.unit();
  EXPECT_EQ(unit.counted(), without);
  Registers registers;
  unit.start(registers);
  EXPECT_EQ(registers.msr[0x38f], 0x3'0000'0000u) << "two fixed counters only";
  EXPECT_EQ(registers.msr.count(0x186), 0u);
  registers.counters = {{1u << 30, 5}, {(1u << 30) + 1, 6}};
  EXPECT_EQ(unit.read(registers), (EventSums{.all = {5, 6}, .in_kernel = {}}));
}

// The numbers themselves, as the manual has them.
TEST(PerformanceUnit, IsSetUpWhileItStands) {
  Registers registers;
  Leaf{.general = 8}.unit().start(registers);
  EXPECT_EQ(registers.order.front(), 0x38fu) << "off, while it is changed";
  EXPECT_EQ(registers.order.back(), 0x38fu);
  EXPECT_EQ(registers.msr[0x38f], 0x3'0000'003fu);
  EXPECT_EQ(registers.msr[0x38d], 0x33u) << "user and kernel mode, no interrupt";
  const u64 expected[] = {0x43'412e, 0x43'4f2e, 0x42'00c0, 0x42'412e, 0x42'003c, 0x42'4f2e};
  for (u32 i = 0; i < 6; ++i) {
    EXPECT_EQ(registers.msr.at(0x186 + i), expected[i]) << i;
    EXPECT_EQ(registers.msr.at(0xc1 + i), 0u) << i;
  }
  EXPECT_EQ(registers.msr.count(0x18c), 0u) << "a counter that is not used";
  for (const u32 counter : {0x309u, 0x30au}) EXPECT_EQ(registers.msr.at(counter), 0u);
}

TEST(PerformanceUnit, ReadsEachCounterByItsNumber) {
  Registers registers;
  registers.counters = {{0, 40}, {1, 30}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {1u << 30, 10}, {(1u << 30) + 1, 20}};
  EXPECT_EQ((Leaf{.general = 6}.unit().read(registers)), (EventSums{.all = {10, 20, 30, 40}, .in_kernel = {3, 5, 6, 4}}));
  EXPECT_EQ((Leaf{.general = 4}.unit().read(registers)), (EventSums{.all = {10, 20, 30, 40}, .in_kernel = {3, 0, 0, 4}}));
}

TEST(PerformanceUnit, CountersThatWrapGoOn) {
  const PerformanceUnit unit = Leaf{.general = 6, .general_width = 40, .fixed_width = 48}.unit();
  const u64 last = (u64{1} << 40) - 1;
  const EventSums before{.all = {(u64{1} << 48) - 3, 100, last, 7}, .in_kernel = {last, 20, 5, 7}};
  const EventSums after{.all = {4, 150, 1, 7}, .in_kernel = {3, 30, 6, 7}};
  EXPECT_EQ(unit.between(before, after), (EventSums{.all = {7, 50, 2, 0}, .in_kernel = {4, 10, 1, 0}}));
}

TEST(PerformanceUnit, NoMoreIsCountedInKernelModeThanAtAll) {
  const PerformanceUnit unit = Leaf{.general = 6}.unit();
  EXPECT_EQ(unit.between({}, {.all = {10, 20, 30, 40}, .in_kernel = {11, 22, 30, 39}}),
            (EventSums{.all = {10, 20, 30, 40}, .in_kernel = {10, 20, 30, 39}}));
}

}  // namespace
}  // namespace corral::arch

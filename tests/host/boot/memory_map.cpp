// Firmware's memory map, brought into order: compared with a byte-by-byte model (granules of 4 KiB) on random lists.
// sources: kernel/boot/memory_map.cpp
#include "boot/memory_map.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

namespace corral::boot {
namespace {

constexpr u64 mib = u64{1} << 20;

TEST(MemoryMap, SortsJoinsAndCutsOut) {
  BootInfo info;
  add_range(info, 4 * mib, 4 * mib, e820_usable);
  add_range(info, 0, 2 * mib, e820_usable);
  add_range(info, 2 * mib, 2 * mib, e820_usable);
  add_range(info, 6 * mib, mib, e820_acpi_tables);
  ASSERT_TRUE(order_ranges(info));
  ASSERT_EQ(info.range_count, 3u);
  EXPECT_EQ(info.ranges[0].size, 6 * mib);
  EXPECT_TRUE(info.ranges[1].tables);
  EXPECT_FALSE(info.ranges[1].usable);
  EXPECT_EQ(info.ranges[2].base.value, 7 * mib);
  EXPECT_EQ(usable_bytes(info), 7 * mib);
  EXPECT_TRUE(is_usable(info, mib, 5 * mib));
  EXPECT_FALSE(is_usable(info, mib, 5 * mib + 1));
  EXPECT_FALSE(is_usable(info, 6 * mib, 1));
  EXPECT_FALSE(is_usable(info, 8 * mib, ~u64{0}));
}

TEST(MemoryMap, NonsenseIsCut) {
  BootInfo info;
  EXPECT_TRUE(add_range(info, ~u64{0} - 5, 100, e820_usable));
  EXPECT_TRUE(add_range(info, mib, ~u64{0}, e820_usable));
  EXPECT_TRUE(add_range(info, mib, 0, e820_usable));
  ASSERT_TRUE(order_ranges(info));
  ASSERT_EQ(info.range_count, 1u);
  EXPECT_EQ(info.ranges[0].base.value + info.ranges[0].size, u64{1} << 52);
}

TEST(MemoryMap, FullListSaysSo) {
  BootInfo info;
  for (u32 i = 0; i < BootInfo::max_ranges; ++i) EXPECT_TRUE(add_range(info, 2 * i * mib, mib, e820_usable));
  EXPECT_FALSE(add_range(info, 1000 * mib, mib, e820_usable));
  EXPECT_TRUE(order_ranges(info));
  EXPECT_EQ(info.range_count, BootInfo::max_ranges);
}

TEST(MemoryMap, ReservedPiecesNearMemoryAreReachable) {
  BootInfo info;
  add_range(info, 0, 0x9fc00, 1);
  add_range(info, 0xf0000, 0x10000, 2);
  add_range(info, mib, 511 * mib, 1);
  add_range(info, 512 * mib, mib, 2);           // directly behind
  add_range(info, 0xb0000000, 256 * mib, 2);    // device space
  ASSERT_TRUE(order_ranges(info));
  mark_table_ranges(info);
  ASSERT_EQ(info.range_count, 5u);
  EXPECT_TRUE(info.ranges[1].tables);
  EXPECT_TRUE(info.ranges[3].tables);
  EXPECT_FALSE(info.ranges[4].tables);
}

TEST(MemoryMap, AModuleMayLieOverWhatTheFirmwareReserved) {
  BootInfo info;
  add_range(info, 1 * mib, 7 * mib, e820_usable);
  add_range(info, 8 * mib, mib, 2);
  add_range(info, 10 * mib, mib, 2);
  ASSERT_TRUE(order_ranges(info));
  mark_table_ranges(info);
  EXPECT_TRUE(is_reachable(info, 2 * mib, mib));
  EXPECT_TRUE(is_reachable(info, 7 * mib, mib + 5));
  EXPECT_TRUE(is_reachable(info, 7 * mib, 2 * mib));
  EXPECT_FALSE(is_reachable(info, 7 * mib, 2 * mib + 1));
  EXPECT_FALSE(is_reachable(info, 0, 2 * mib));
  EXPECT_FALSE(is_reachable(info, 7 * mib, ~u64{0}));
}

TEST(MemoryMap, AgreesWithTheModel) {
  std::mt19937 random{7};
  for (int round = 0; round < 3000; ++round) {
    auto info = std::make_unique<BootInfo>();
    constexpr int cells = 48;
    int state[cells] = {};  // 0: nothing, 1: usable, 2: not
    for (u32 n = random() % 20; n > 0; --n) {
      u32 base = random() % cells;
      u32 size = random() % (cells - base + 1);
      u32 type = random() % 4 + 1;
      add_range(*info, base * page_size, size * page_size, type);
      for (u32 i = base; i < base + size; ++i) {
        int claim = type == e820_usable ? 1 : 2;
        if (claim > state[i]) state[i] = claim;
      }
    }
    ASSERT_TRUE(order_ranges(*info));
    int result[cells] = {};
    u64 end = 0;
    for (const MemoryRange& range : info->memory()) {
      ASSERT_GE(range.base.value, end);
      ASSERT_GT(range.size, 0u);
      end = range.base.value + range.size;
      for (u64 i = range.base.value / page_size; i < end / page_size; ++i) result[i] = range.usable ? 1 : 2;
    }
    for (int i = 0; i < cells; ++i) ASSERT_EQ(result[i], state[i]) << "round " << round << " cell " << i;
  }
}

}  // namespace
}  // namespace corral::boot

// MemoryMap against a bitmap of pages.
#include "memory/memory_map.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/random.h"

namespace corral::memory {
namespace {

void expect_well_formed(const MemoryMap& map) {
  u64 previous_end = 0;
  bool first = true;
  for (const PageRange& range : map.ranges()) {
    ASSERT_GT(range.count, 0u);
    if (!first) { ASSERT_GT(range.first, previous_end); }
    previous_end = range.end();
    first = false;
  }
}

class MemoryMapProperty : public testing::TestWithParam<int> {};

TEST_P(MemoryMapProperty, AgreesWithABitmap) {
  Random random{static_cast<u64>(GetParam())};
  MemoryMap map;
  constexpr u64 pages = 300;
  std::vector<bool> model(pages, false);
  for (int step = 0; step < 200; ++step) {
    const u64 base = random.below(pages * page_size);
    const u64 size = random.below(std::min<u64>(pages * page_size - base, 40 * page_size) + 1);
    if (random.one_in(2)) {
      ASSERT_TRUE(map.add({base}, size));
      for (u64 p = (base + page_size - 1) / page_size; (p + 1) * page_size <= base + size; ++p) model[p] = true;
    } else {
      map.remove({base}, size);
      if (size != 0) {
        for (u64 p = base / page_size; p * page_size < base + size; ++p) model[p] = false;
      }
    }
    expect_well_formed(map);
    u64 count = 0;
    for (u64 p = 0; p < pages; ++p) {
      ASSERT_EQ(map.contains(p), model[p]) << "page " << p;
      count += model[p] ? 1 : 0;
    }
    ASSERT_EQ(map.pages(), count);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemoryMapProperty, testing::Range(1, 21));

TEST(MemoryMap, TheEndsOfTheNumbers) {
  MemoryMap map;
  EXPECT_TRUE(map.add({~u64{0} - 5000}, ~u64{0}));
  expect_well_formed(map);
  map.remove({0}, ~u64{0});
  EXPECT_EQ(map.pages(), 0u);
  EXPECT_EQ(map.end(), 0u);
  EXPECT_TRUE(map.add({0}, ~u64{0}));
  EXPECT_TRUE(map.contains(0));
  map.remove({0}, 1);
  EXPECT_FALSE(map.contains(0));
  EXPECT_TRUE(map.contains(1));
}

TEST(MemoryMap, FullMapsStaySafe) {
  MemoryMap map;
  u32 added = 0;
  for (u64 i = 0; i < 2 * MemoryMap::max_ranges; ++i) added += map.add({i * 10 * page_size}, 5 * page_size) ? 1 : 0;
  EXPECT_EQ(added, MemoryMap::max_ranges);
  map.remove({1 * page_size}, page_size);  // no room for two parts: the smaller one goes too
  EXPECT_FALSE(map.contains(0));
  EXPECT_FALSE(map.contains(1));
  EXPECT_TRUE(map.contains(2));
  expect_well_formed(map);
  EXPECT_TRUE(map.add({5 * page_size}, 5 * page_size));  // touches both neighbours: merges
  EXPECT_EQ(map.ranges().size(), MemoryMap::max_ranges - 1);
}

TEST(MemoryMap, FindsThePlace) {
  MemoryMap map;
  map.add({0x1000}, 0x3000);
  map.add({0x10000}, 0x8000);
  u64 first = 0;
  EXPECT_TRUE(map.find(3, first));
  EXPECT_EQ(first, 1u);
  EXPECT_TRUE(map.find(4, first));
  EXPECT_EQ(first, 0x10u);
  EXPECT_FALSE(map.find(9, first));
}

}  // namespace
}  // namespace corral::memory

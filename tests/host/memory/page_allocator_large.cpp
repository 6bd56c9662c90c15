// The page allocator on a machine with memory above 4 GiB behind a hole, as PCs have it.
#include <gtest/gtest.h>

#include "arch/page_table.h"
#include "memory/buddy_allocator.h"
#include "memory/page_allocator.h"
#include "support/host_machine.h"

namespace corral::memory {
namespace {

constexpr u64 mib = u64{1} << 20;
constexpr u64 gib = u64{1} << 30;

TEST(LargeMachine, UsesMemoryOnBothSidesOfTheHole) {
  host::Memory memory{{0}, 8 * gib};
  BootInfo boot;
  const MemoryRange ranges[] = {
      {{4 * gib}, 4 * gib, true}, {{0xfffc'0000}, 0x4'0000, false}, {{3 * gib}, gib, false}, {{mib}, 3 * gib - mib, true},
      {{0}, 0x9fc00, true},
  };
  for (const MemoryRange& range : ranges) boot.ranges[boot.range_count++] = range;
  initialise_pages(boot, {});
  const PageStatistics pages = page_statistics();
  EXPECT_EQ(pages.total, (7 * gib - mib) / page_size);
  EXPECT_EQ(pages.reserved, 8 * gib / page_size * sizeof(Frame) / page_size);  // the frame array alone
  EXPECT_EQ(pages.free_global, pages.total - pages.reserved);
  EXPECT_TRUE(is_managed({8 * gib - 1}));
  EXPECT_FALSE(is_managed({8 * gib}));
  EXPECT_FALSE(is_managed({3 * gib}));

  FrameList blocks;
  u64 low = 0;
  u64 high = 0;
  for (;;) {
    Result<Frame*> block = allocate_block(max_order);
    if (!block.ok()) break;
    const u64 address = address_of(*block.value()).value;
    ASSERT_FALSE(address + (page_size << max_order) > 3 * gib && address < 4 * gib);
    (address < 4 * gib ? low : high) += 1;
    blocks.push_back(*block.value());
  }
  EXPECT_EQ(high, 4 * gib / (page_size << max_order));
  EXPECT_GT(low, 700u);
  while (Frame* block = blocks.pop_front()) release_block(*block, max_order);
  EXPECT_EQ(page_statistics().free_global, pages.free_global);
  EXPECT_EQ(host::take_log(), "");
}

}  // namespace
}  // namespace corral::memory

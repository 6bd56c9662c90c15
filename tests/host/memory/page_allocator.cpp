// The machine's page allocator and heap over an odd memory map: overlapping, unsorted, with holes and reserved parts.
// One machine for all tests of the process, as at a start; each test leaves it as it found it.
#include "memory/page_allocator.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "arch/page_table.h"
#include "lib/random.h"
#include "memory/heap.h"
#include "memory/page_list.h"
#include "support/host_machine.h"

namespace corral::memory {
namespace {

constexpr u64 mib = 1 << 20;
constexpr MemoryRange reserved_ranges[] = {{{2 * mib + 100}, 3 * mib, true}, {{0x7000}, 0x1000, true}};

class PageAllocator : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static host::Memory memory{{0}, 64 * mib};
    BootInfo boot;
    const MemoryRange ranges[] = {
        {{20 * mib}, 20 * mib + 77, true},          // unsorted, odd end
        {{0}, 0x9fc00, true},                       // low memory
        {{1 * mib}, 20 * mib, true},                // overlaps the first
        {{30 * mib + 1}, 4095, false},              // a hole, odd ends
        {{10 * mib}, 0x800, false},                 // half a page
        {{50 * mib + 0x10}, 4 * mib, true},
        {{u64{1} << 50}, mib, true},                // beyond the direct map
        {{u64{1} << 40}, mib, true},                // too far: its frames would cost more
        {{60 * mib}, 0, true},
    };
    for (const MemoryRange& range : ranges) boot.ranges[boot.range_count++] = range;
    initialise_pages(boot, reserved_ranges);
    initialise_heap();
  }
  void SetUp() override { before_ = page_statistics(); }
  void TearDown() override {
    fail_allocation(0, 0);
    trim_heap();
    const PageStatistics after = page_statistics();
    const u64 slack = heap_statistics().sizes;  // one spare slab for each may stay
    EXPECT_GE(after.free_global + after.free_local + slack, before_.free_global + before_.free_local);
    EXPECT_EQ(heap_statistics().objects, 0u);
    EXPECT_EQ(heap_statistics().block_pages, 0u);
  }
  PageStatistics before_{};
};

TEST_F(PageAllocator, CountsWhatThereIs) {
  // 1 MiB … 40 MiB without the page of the hole at 30 MiB and the page at 10 MiB; 50 MiB + 1 page … 54 MiB.
  EXPECT_EQ(before_.total, 39 * 256 - 2 + 4 * 256 - 1 + 0u);
  EXPECT_EQ(before_.free_global + before_.free_local + before_.reserved + heap_statistics().slab_pages, before_.total);
  EXPECT_TRUE(is_managed({mib}));
  EXPECT_FALSE(is_managed({0x1000}));
  EXPECT_FALSE(is_managed({30 * mib}));
  EXPECT_FALSE(is_managed({45 * mib}));
  EXPECT_FALSE(is_managed({u64{1} << 40}));
  EXPECT_TRUE(is_managed({3 * mib}));  // reserved, still memory
}

TEST_F(PageAllocator, HandsOutEveryPageOnceAndTakesAllBack) {
  std::vector<Frame*> all;
  std::set<u64> numbers;
  for (;;) {
    Result<Frame*> frame = allocate_page(Zero::no);
    if (!frame.ok()) {
      EXPECT_EQ(frame.error(), Errno::enomem);
      break;
    }
    const u64 address = address_of(*frame.value()).value;
    ASSERT_TRUE(numbers.insert(address).second);
    ASSERT_TRUE(is_managed({address}));
    ASSERT_GE(address, mib);
    ASSERT_FALSE(address + page_size > 2 * mib + 100 && address < 5 * mib + 100) << "reserved";
    ASSERT_FALSE(address == 30 * mib || address == 10 * mib || address == 50 * mib);
    ASSERT_EQ(&frame_of({address + 5}), frame.value());
    ASSERT_EQ(contents(*frame.value()), arch::direct<u8>({address}));
    ASSERT_EQ(frame.value()->references.load(Order::relaxed), 1u);
    all.push_back(frame.value());
  }
  EXPECT_EQ(all.size(), before_.free_global + before_.free_local);
  EXPECT_EQ(allocate_block(3).error(), Errno::enomem);
  void* object = allocate(5000);
  EXPECT_EQ(object, nullptr);
  for (Frame* frame : all) release_page(*frame);
}

TEST_F(PageAllocator, CountsReferencesAndFindsDoubleReleases) {
  Frame* frame = allocate_page(Zero::no).take();
  share_page(*frame);
  release_page(*frame);
  EXPECT_EQ(frame->references.load(Order::relaxed), 1u);
  release_page(*frame);
  EXPECT_THROW(release_page(*frame), host::Panic);
  frame->references.store(0, Order::relaxed);
}

TEST_F(PageAllocator, ZeroesWhenAsked) {
  Frame* frame = allocate_page(Zero::no).take();
  memset(contents(*frame), 0xff, page_size);
  release_page(*frame);
  Frame* again = allocate_page(Zero::yes).take();
  EXPECT_EQ(again, frame);  // the one used last
  for (u64 i = 0; i < page_size; ++i) ASSERT_EQ(contents(*again)[i], 0);
  release_page(*again);
}

TEST_F(PageAllocator, BlocksAreAligned) {
  std::vector<std::pair<Frame*, u32>> blocks;
  for (u32 order = 0; order <= max_order; ++order) {
    Frame* block = allocate_block(order).take();
    EXPECT_EQ(address_of(*block).value % (page_size << order), 0u);
    memset(contents(*block), 1, page_size << order);
    blocks.emplace_back(block, order);
  }
  EXPECT_EQ(allocate_block(max_order + 1).error(), Errno::enomem);
  for (auto [block, order] : blocks) release_block(*block, order);
}

TEST_F(PageAllocator, LowPagesAreApart) {
  std::set<u64> low;
  for (;;) {
    Result<PhysicalAddress> page = allocate_low();
    if (!page.ok()) break;
    ASSERT_TRUE(low.insert(page.value().value).second);
  }
  EXPECT_EQ(low.size(), 0x9fu - 2);  // without page 0 and the reserved one
  EXPECT_FALSE(low.contains(0));
  EXPECT_FALSE(low.contains(0x7000));
}

TEST_F(PageAllocator, FailsOnDemand) {
  EXPECT_EQ(allocations_until_failure(), 0u);
  fail_allocation(3, 2);
  EXPECT_EQ(allocations_until_failure(), 3u);
  std::vector<Frame*> frames;
  std::string outcome;
  for (int i = 0; i < 8; ++i) {
    Result<Frame*> frame = allocate_page(Zero::no);
    outcome.push_back(frame.ok() ? '+' : '-');
    if (frame.ok()) frames.push_back(frame.value());
  }
  EXPECT_EQ(outcome, "++-+-+-+");
  fail_allocation(1, 0);
  void* object = allocate(100);
  EXPECT_EQ(object, nullptr);
  object = allocate(100);
  EXPECT_NE(object, nullptr);
  release(object);
  for (Frame* frame : frames) release_page(*frame);
}

TEST_F(PageAllocator, ReservedPagesCanBeGivenAway) {
  const PageStatistics start = page_statistics();
  release_reserved({2 * mib + 100}, 64 * 1024);
  const PageStatistics end = page_statistics();
  EXPECT_EQ(end.free_global, start.free_global + 15);  // whole pages inside
  EXPECT_EQ(end.reserved, start.reserved - 15);
  EXPECT_THROW(release_reserved({2 * mib + 100}, 64 * 1024), host::Panic);
}

TEST_F(PageAllocator, HeapServesEverySize) {
  Random random{1};
  struct Object {
    u8* memory;
    size_t size;
    u8 pattern;
  };
  std::vector<Object> objects;
  for (int step = 0; step < 30'000; ++step) {
    if (objects.size() < 500 && random.below(100) < (step < 20'000 ? 60u : 40u)) {
      const size_t size = random.one_in(50) ? random.below(100'000) : random.below(2200);
      auto* memory = static_cast<u8*>(allocate(size));
      ASSERT_NE(memory, nullptr);
      ASSERT_EQ(reinterpret_cast<u64>(memory) % (size >= 64 ? 64 : 16), 0u);
      const u8 pattern = static_cast<u8>(random.next());
      memset(memory, pattern, size);
      objects.push_back({memory, size, pattern});
    } else if (!objects.empty()) {
      const size_t index = random.below(objects.size());
      const Object object = objects[index];
      for (size_t i = 0; i < object.size; ++i) ASSERT_EQ(object.memory[i], object.pattern);
      release(object.memory);
      objects[index] = objects.back();
      objects.pop_back();
    }
    if (step % 1000 == 0) { ASSERT_EQ(heap_statistics().objects, objects.size()); }
  }
  for (const Object& object : objects) release(object.memory);
}

TEST_F(PageAllocator, HeapFindsMisuse) {
  auto* memory = static_cast<u8*>(allocate(100));
  EXPECT_THROW(release(memory + 16), host::Panic);
  release(memory);
  EXPECT_THROW(release(memory), host::Panic);
  EXPECT_THROW(release(&before_), host::Panic);  // not from the heap at all
  auto* large = static_cast<u8*>(allocate(10'000));
  EXPECT_THROW(release(large + 64), host::Panic);
  release(large);
  EXPECT_THROW(release(large), host::Panic);
  release(nullptr);
  EXPECT_EQ(allocate(size_t{1} << 40), nullptr);
}

TEST_F(PageAllocator, ObjectsMayBeReleasedOnAnotherCore) {
  std::vector<void*> objects;
  for (int i = 0; i < 1000; ++i) objects.push_back(allocate(64));
  host::become_core(9);
  for (void* object : objects) release(object);
  trim_heap();
  host::become_core(0);
  EXPECT_EQ(heap_statistics().objects, 0u);
}

}  // namespace
}  // namespace corral::memory

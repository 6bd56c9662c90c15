// Pages to be released later: every reference is dropped once, whatever the mixture of owned and shared pages.
// sources: kernel/vm/frame_batch.cpp
#include "vm/frame_batch.h"

#include <gtest/gtest.h>

#include <vector>

#include "memory/page_allocator.h"
#include "support/host_machine.h"

namespace corral::vm {
namespace {

constexpr PhysicalAddress base{0x10'0000};
constexpr u64 size = 16u << 20;

// One machine for all tests of the process, as at a start.
class FrameBatches : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static host::Memory memory{base, size};
    BootInfo boot;
    boot.ranges[0] = {base, size, true};
    boot.range_count = 1;
    memory::initialise_pages(boot, {});
  }
  static u64 free_pages() {
    const memory::PageStatistics s = memory::page_statistics();
    return s.free_global + s.free_local;
  }
};

TEST_F(FrameBatches, DropsEveryReferenceOnce) {
  const u64 before = free_pages();
  std::vector<Frame*> shared;
  {
    FrameBatch batch;
    for (u32 i = 0; i < 1500; ++i) {
      Frame* frame = memory::allocate_page(memory::Zero::no).take();
      if (i % 3 != 0) {
        memory::share_page(*frame);
        shared.push_back(frame);
      }
      ASSERT_TRUE(batch.add(*frame));
    }
    EXPECT_FALSE(batch.empty());
    batch.release_all();
    EXPECT_TRUE(batch.empty());
  }
  EXPECT_EQ(before - free_pages(), shared.size());
  for (Frame* frame : shared) {
    EXPECT_EQ(frame->references.load(Order::relaxed), 1u);
    memory::release_page(*frame);
  }
  EXPECT_EQ(free_pages(), before);
}

TEST_F(FrameBatches, SaysWhenThereIsNoMemoryForNotes) {
  Frame* frame = memory::allocate_page(memory::Zero::no).take();
  FrameBatch batch;
  memory::fail_allocation(1, 1);
  u32 taken = 0;
  for (; taken < 100; ++taken) {
    memory::share_page(*frame);
    if (!batch.add(*frame)) break;
  }
  memory::fail_allocation(0, 0);
  EXPECT_GT(taken, 0u);
  EXPECT_LT(taken, 100u);
  memory::release_page(*frame);  // the one that was not taken
  batch.release_all();
  EXPECT_EQ(frame->references.load(Order::relaxed), 1u);
  EXPECT_TRUE(batch.add(*frame));  // its only reference: no note needed
  batch.release_all();
}

}  // namespace
}  // namespace corral::vm

// BuddyAllocator against a model that knows for each page whether it is given out.
#include "memory/buddy_allocator.h"

#include <gtest/gtest.h>

#include <vector>

#include "lib/random.h"
#include "support/host_machine.h"

namespace corral::memory {
namespace {

class Fixture {
 public:
  explicit Fixture(u64 pages) : frames(pages), given(pages, true) { buddy.set_frames(frames); }
  void add(u64 first, u64 count) {
    buddy.add(first, count);
    for (u64 i = 0; i < count; ++i) {
      ASSERT_TRUE(given[first + i]);
      given[first + i] = false;
    }
    free += count;
  }
  Frame* allocate(u32 order) {
    Frame* frame = buddy.allocate(order);
    if (frame != nullptr) take(*frame, order);
    return frame;
  }
  void take(Frame& frame, u32 order) {
    const u64 number = number_of(frame);
    EXPECT_EQ(number % (u64{1} << order), 0u);
    for (u64 i = 0; i < (u64{1} << order); ++i) {
      EXPECT_FALSE(given[number + i]) << "page handed out twice";
      given[number + i] = true;
    }
    free -= u64{1} << order;
  }
  void release(Frame& frame, u32 order) {
    buddy.release(frame, order);
    for (u64 i = 0; i < (u64{1} << order); ++i) given[number_of(frame) + i] = false;
    free += u64{1} << order;
  }
  u64 number_of(const Frame& frame) const { return static_cast<u64>(&frame - frames.data()); }
  void check() {
    ASSERT_TRUE(buddy.valid());
    ASSERT_EQ(buddy.free_pages(), free);
  }
  // Is there an aligned free block of that order in the model?
  bool available(u32 order) const {
    const u64 size = u64{1} << order;
    for (u64 at = 0; at + size <= given.size(); at += size) {
      bool all = true;
      for (u64 i = 0; i < size && all; ++i) all = !given[at + i];
      if (all) return true;
    }
    return false;
  }

  std::vector<Frame> frames;
  std::vector<bool> given;
  BuddyAllocator buddy;
  u64 free = 0;
};

class BuddyProperty : public testing::TestWithParam<int> {};

TEST_P(BuddyProperty, AgreesWithTheModel) {
  Random random{static_cast<u64>(GetParam())};
  const u64 size = 1 + random.below(3000);  // odd sizes
  Fixture machine{size};
  u64 at = 0;
  while (at < size) {  // ranges with holes
    const u64 count = std::min(size - at, 1 + random.below(700));
    if (!random.one_in(4)) machine.add(at, count);
    at += count;
  }
  const u64 all = machine.free;
  machine.check();
  struct Block {
    Frame* frame;
    u32 order;
  };
  std::vector<Block> blocks;
  for (int step = 0; step < 600; ++step) {
    if (random.below(100) < 55) {
      const u32 order = static_cast<u32>(random.below(random.one_in(8) ? 11 : 4));
      const bool possible = machine.available(order);
      Frame* frame = machine.allocate(order);
      ASSERT_EQ(frame != nullptr, possible) << "order " << order;
      if (frame != nullptr) blocks.push_back({frame, order});
    } else if (random.one_in(4)) {
      FrameList list;
      const u32 wanted = static_cast<u32>(1 + random.below(50));
      const u32 got = machine.buddy.allocate_pages(list, wanted);
      ASSERT_EQ(got, std::min<u64>(wanted, machine.free));
      u32 counted = 0;
      while (Frame* frame = list.pop_front()) {
        machine.take(*frame, 0);
        blocks.push_back({frame, 0});
        ++counted;
      }
      ASSERT_EQ(counted, got);
    } else if (!blocks.empty()) {
      const size_t index = random.below(blocks.size());
      machine.release(*blocks[index].frame, blocks[index].order);
      blocks[index] = blocks.back();
      blocks.pop_back();
    }
    if (step % 10 == 0) machine.check();
  }
  for (const Block& block : blocks) machine.release(*block.frame, block.order);
  machine.check();
  EXPECT_EQ(machine.buddy.free_pages(), all);
}

INSTANTIATE_TEST_SUITE_P(Seeds, BuddyProperty, testing::Range(1, 41));

TEST(BuddyAllocator, JoinsEverythingAgain) {
  Fixture machine{1024};
  machine.add(0, 1024);
  std::vector<Frame*> pages;
  while (Frame* frame = machine.allocate(0)) pages.push_back(frame);
  EXPECT_EQ(pages.size(), 1024u);
  EXPECT_EQ(machine.buddy.allocate(0), nullptr);
  for (Frame* frame : pages) machine.release(*frame, 0);
  EXPECT_NE(machine.allocate(10), nullptr);
}

TEST(BuddyAllocator, PanicsOnMisuse) {
  Fixture machine{64};
  machine.add(0, 64);
  Frame* block = machine.allocate(2);
  ASSERT_NE(block, nullptr);
  EXPECT_THROW(machine.buddy.release(*block, 1), host::Panic);        // wrong order
  EXPECT_THROW(machine.buddy.release(block[1], 0), host::Panic);      // inside a block
  machine.release(*block, 2);
  EXPECT_THROW(machine.buddy.release(*block, 2), host::Panic);        // twice
  EXPECT_THROW(machine.buddy.add(0, 1), host::Panic);                 // free already
  EXPECT_THROW(machine.buddy.add(60, 5), host::Panic);                // outside
  EXPECT_THROW(static_cast<void>(machine.buddy.allocate(11)), host::Panic);
  Frame stranger;
  EXPECT_THROW(machine.buddy.release(stranger, 0), host::Panic);
  machine.check();
}

}  // namespace
}  // namespace corral::memory

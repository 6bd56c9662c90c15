// SlabCache: every object handed out once, pages given back, double releases and late writes found.
#include "memory/slab_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "lib/random.h"
#include "support/host_machine.h"

namespace corral::memory {
namespace {

class TestPages final : public SlabPages {
 public:
  ~TestPages() {
    for (auto& [memory, frame] : pages_) {
      delete frame;
      std::free(memory);
    }
  }
  Frame* take() override {
    if (limit == pages_.size()) return nullptr;
    auto* memory = static_cast<u8*>(std::aligned_alloc(page_size, page_size));
    memset(memory, 0x5a, page_size);
    auto* frame = new Frame;
    frame->references.store(1, Order::relaxed);
    frame->set_state(FrameState::used);
    pages_[memory] = frame;
    return frame;
  }
  void give_back(Frame& frame) override {
    EXPECT_EQ(frame.references.load(Order::relaxed), 1u);
    EXPECT_EQ(frame.slab_index, 0u);
    EXPECT_FALSE(frame.link.linked());
    u8* memory = contents(frame);
    pages_.erase(memory);
    delete &frame;
    std::free(memory);
  }
  u8* contents(const Frame& frame) const override {
    for (auto& [memory, f] : pages_) {
      if (f == &frame) return memory;
    }
    throw host::Panic("a frame of somebody else");
  }
  Frame& frame_of(void* object) const {
    return *pages_.at(reinterpret_cast<u8*>(reinterpret_cast<u64>(object) & ~(page_size - 1)));
  }
  size_t count() const { return pages_.size(); }
  size_t limit = 1000;

 private:
  std::map<u8*, Frame*> pages_;
};

class SlabProperty : public testing::TestWithParam<u32> {};

TEST_P(SlabProperty, HandsOutEveryObjectOnce) {
  const u32 size = GetParam();
  TestPages pages;
  SlabCache cache{size, 7};
  Random random{size};
  std::map<u8*, u8> live;  // object -> its pattern
  for (int step = 0; step < 4000; ++step) {
    if (live.size() < 300 && random.below(100) < (step < 2500 ? 60u : 35u)) {
      FreeObject* object = cache.allocate(pages);
      ASSERT_NE(object, nullptr);
      auto* memory = static_cast<u8*>(FreeObject::open(*object, size));
      ASSERT_EQ(reinterpret_cast<u64>(memory) % (size >= 64 ? 64 : 16), 0u);
      ASSERT_EQ(pages.frame_of(memory).slab_index, 7);
      auto after = live.lower_bound(memory);
      ASSERT_TRUE(after == live.end() || after->first >= memory + size);
      ASSERT_TRUE(after == live.begin() || std::prev(after)->first + size <= memory);
      const u8 pattern = static_cast<u8>(random.next());
      memset(memory, pattern, size);
      live[memory] = pattern;
    } else if (!live.empty()) {
      auto it = live.begin();
      std::advance(it, static_cast<long>(random.below(live.size())));
      for (u32 i = 0; i < size; ++i) ASSERT_EQ(it->first[i], it->second);
      cache.release(FreeObject::make(it->first, size), pages.frame_of(it->first), pages);
      live.erase(it);
    }
    ASSERT_EQ(cache.objects(), live.size());
    ASSERT_EQ(cache.slabs(), pages.count());
    ASSERT_GE(cache.slabs() * cache.objects_in_slab(), live.size());
  }
  while (!live.empty()) {
    cache.release(FreeObject::make(live.begin()->first, size), pages.frame_of(live.begin()->first), pages);
    live.erase(live.begin());
  }
  EXPECT_LE(pages.count(), SlabCache::spare);
}

INSTANTIATE_TEST_SUITE_P(Sizes, SlabProperty, testing::Values(16u, 32u, 48u, 64u, 192u, 640u, 1344u, 2048u, 4096u));

TEST(SlabCache, AnswersNullWhenPagesRunOut) {
  TestPages pages;
  pages.limit = 1;
  SlabCache cache{2048, 1};
  FreeObject* first = cache.allocate(pages);
  FreeObject* second = cache.allocate(pages);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(cache.allocate(pages), nullptr);
  cache.release(*first, pages.frame_of(first), pages);
  EXPECT_EQ(cache.allocate(pages), first);
}

TEST(SlabCache, FindsMisuse) {
  TestPages pages;
  SlabCache cache{128, 1};
  void* object = FreeObject::open(*cache.allocate(pages), 128);
  FreeObject& freed = FreeObject::make(object, 128);
  EXPECT_THROW(FreeObject::make(object, 128), host::Panic);  // released twice
  static_cast<u64*>(object)[1] = 1;                          // written to after its release
  EXPECT_THROW(FreeObject::open(freed, 128), host::Panic);
  static_cast<u64*>(object)[1] = 0;
  FreeObject& again = FreeObject::make(object, 128);
  static_cast<u64*>(object)[9] = 1;  // somewhere in the middle: the poison tells
  EXPECT_THROW(FreeObject::open(again, 128), host::Panic);
  SlabCache other{64, 2};
  EXPECT_THROW(other.release(again, pages.frame_of(object), pages), host::Panic);  // not its slab
}

}  // namespace
}  // namespace corral::memory

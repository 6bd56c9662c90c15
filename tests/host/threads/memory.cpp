// Pages and objects on several cores at once: what one core allocates another releases; nobody gets what is in use, and
// in the end nothing is missing.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/random.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "support/host_machine.h"

namespace corral::memory {
namespace {

constexpr u32 cores = 4;
constexpr u64 mib = 1 << 20;

class ThreadsMemory : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static host::Memory memory{{0}, 16 * mib};
    BootInfo boot;
    boot.ranges[boot.range_count++] = {{0}, 16 * mib, true};
    initialise_pages(boot, {});
    initialise_heap();
  }
  static void on_all_cores(void (*work)(u32 core)) {
    std::vector<std::thread> threads;
    for (u32 core = 0; core < cores; ++core) {
      threads.emplace_back([=] {
        host::become_core(core);
        work(core);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

// Where the cores leave things for each other.
template <class T>
class Exchange {
 public:
  void put(T thing) {
    std::lock_guard guard{mutex_};
    things_.push_back(thing);
  }
  bool take(T& thing) {
    std::lock_guard guard{mutex_};
    if (things_.empty()) return false;
    thing = things_.back();
    things_.pop_back();
    return true;
  }

 private:
  std::mutex mutex_;
  std::vector<T> things_;
};

Exchange<Frame*> frames;
struct Object {
  u8* memory;
  size_t size;
  u8 pattern;
};
Exchange<Object> objects;

TEST_F(ThreadsMemory, PagesWanderBetweenCores) {
  const PageStatistics before = page_statistics();
  on_all_cores([](u32 core) {
    Random random{core};
    for (int i = 0; i < 8'000; ++i) {
      if (random.below(100) < 52) {
        Result<Frame*> frame = allocate_page(Zero::no);
        if (!frame.ok()) continue;
        memset(contents(*frame.value()), static_cast<int>(core), 64);
        frames.put(frame.value());
      } else if (random.one_in(50)) {
        Result<Frame*> block = allocate_block(static_cast<u32>(random.below(4)));
        if (block.ok()) release_block(*block.value(), block.value()->order);
      } else if (Frame * frame; frames.take(frame)) {
        if (random.one_in(3)) {
          share_page(*frame);
          release_page(*frame);
        }
        release_page(*frame);
      }
    }
  });
  for (Frame* frame; frames.take(frame);) release_page(*frame);
  const PageStatistics after = page_statistics();
  EXPECT_EQ(after.free_global + after.free_local, before.free_global + before.free_local);
}

TEST_F(ThreadsMemory, EachCoreDropsItsShareOfAPage) {
  static Frame* shared;
  for (int round = 0; round < 50; ++round) {
    shared = allocate_page(Zero::no).take();
    for (u32 i = 1; i < cores; ++i) share_page(*shared);
    const PageStatistics before = page_statistics();
    on_all_cores([](u32) { release_page(*shared); });
    const PageStatistics after = page_statistics();
    ASSERT_EQ(after.free_global + after.free_local, before.free_global + before.free_local + 1);
  }
}

TEST_F(ThreadsMemory, ObjectsWanderBetweenCores) {
  on_all_cores([](u32 core) {
    Random random{core + 100};
    for (int i = 0; i < 8'000; ++i) {
      if (random.below(100) < 52) {
        const size_t size = random.one_in(30) ? random.below(9000) : 16 + random.below(1000);
        auto* memory = static_cast<u8*>(allocate(size));
        if (memory == nullptr) continue;
        const u8 pattern = static_cast<u8>(random.next());
        memset(memory, pattern, size);
        objects.put({memory, size, pattern});
      } else if (Object object; objects.take(object)) {
        for (size_t k = 0; k < object.size; ++k) ASSERT_EQ(object.memory[k], object.pattern);
        release(object.memory);
      }
    }
    trim_heap();
  });
  for (Object object; objects.take(object);) release(object.memory);
  trim_heap();
  const HeapStatistics statistics = heap_statistics();
  EXPECT_EQ(statistics.objects, 0u);
  EXPECT_EQ(statistics.block_pages, 0u);
  EXPECT_LE(statistics.slab_pages, statistics.sizes);  // one spare for each
}

TEST_F(ThreadsMemory, ExhaustionIsAnAnswer) {
  static Atomic<u64> got{0};
  on_all_cores([](u32) {
    std::vector<Frame*> mine;
    for (;;) {
      Result<Frame*> frame = allocate_page(Zero::no);
      if (!frame.ok()) break;
      mine.push_back(frame.value());
    }
    got.fetch_add(mine.size(), Order::relaxed);
    for (Frame* frame : mine) release_page(*frame);
  });
  EXPECT_GT(got.load(Order::relaxed), 3000u);
  const PageStatistics after = page_statistics();
  EXPECT_EQ(after.free_global + after.free_local + after.reserved + heap_statistics().slab_pages, after.total);
}

}  // namespace
}  // namespace corral::memory

// What a core publishes of its load, read by others while it changes.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "sched/core_statistics.h"

namespace corral::sched {
namespace {

// An entity that travels is in the load from its placement on, once, whatever moment one looks at.
TEST(CoreStatistics, ATravellerIsAlwaysCountedOnce) {
  constexpr u32 rounds = 2000;
  std::vector<CoreStatistics> cores(rounds);
  std::atomic<u32> sent{0};
  std::thread owner{[&] {
    for (u32 i = 0; i < rounds; ++i) {
      while (sent.load(std::memory_order_acquire) <= i) std::this_thread::yield();
      cores[i].publish(1, weight_of_nice_0, 1);
    }
  }};
  u32 wrong = 0;
  for (u32 i = 0; i < rounds; ++i) {
    cores[i].expect_one();
    sent.store(i + 1, std::memory_order_release);
    u32 looks = 0;
    while (++looks < 10 || cores[i].runnable() == 0) {
      if (cores[i].load() != 1 || cores[i].load_weight() != weight_of_nice_0) ++wrong;
      if (looks % 8 == 0) std::this_thread::yield();
    }
  }
  owner.join();
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace corral::sched

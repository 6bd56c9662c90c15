// Cores of the cache model on threads of their own, as QEMU runs them: no access to what another has without a lock, and a shared
// cache that is of one mind at the end.
// sources: lab/plugin/core_cache.cpp lab/plugin/shared_cache.cpp
#include <gtest/gtest.h>

#include <deque>
#include <thread>

#include "lab/plugin/core_cache.h"
#include "lib/random.h"

namespace corral::cache_model {
namespace {

constexpr u32 cores = 4;

void run_at_once(u32 cores_of_one_l2) {
  std::vector<Inbox> inboxes(cores);
  SharedCache shared{{8 << 10, 4, 64}, cores_of_one_l2, inboxes};
  std::deque<CoreCache> own;
  for (u32 i = 0; i < cores; ++i) own.emplace_back(i, CacheShape{1 << 10, 4, 64}, inboxes[i], shared);
  std::vector<std::thread> threads;
  for (u32 core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      Random random{core + 1};
      for (int i = 0; i < 20'000; ++i) {
        own[core].read_inbox();
        (void)own[core].access(random.below(random.one_in(2) ? 8 : 300), random.one_in(3));
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (CoreCache& each : own) each.read_inbox();
  // One after another now: a line that all have read is taken from all of them by the one that writes it.
  for (u32 core = 0; core < cores; ++core) (void)own[core].access(1, false);
  for (CoreCache& each : own) each.read_inbox();
  EXPECT_TRUE(own[0].access(1, true).snooped);
  for (u32 core = 1; core < cores; ++core) {
    own[core].read_inbox();
    EXPECT_TRUE(own[core].access(1, false).refill) << core;
  }
}

TEST(CacheModel, CoresMayRunAtOnce) {
  run_at_once(cores);
}

TEST(CacheModel, CoresMayRunAtOnceWithSeveralSharedCaches) {
  run_at_once(2);
}

}  // namespace
}  // namespace corral::cache_model

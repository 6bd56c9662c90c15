// Who is hungry, while cores become so and others take their requests up.
// sources: kernel/sched/engine/migrator.cpp kernel/sched/engine/safe_policies.cpp
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "sched/engine/migrator.h"

namespace corral::sched {
namespace {

// The quick look must not say that nobody is hungry while somebody is: a core with somebody to spare would not look again.
TEST(Migrator, TheQuickLookOverlooksNobody) {
  constexpr u32 cores = 3, rounds = 300'000;
  const auto migrator = std::make_unique<Migrator>([] { return u64{0}; }, std::span<const CoreStatistics>{});
  std::atomic<bool> over{false};
  std::atomic<u32> overlooked{0};
  std::vector<std::thread> hungry;
  for (u32 i = 0; i < cores; ++i) {
    hungry.emplace_back([&, core = CoreId{i}] {
      for (u32 round = 0; round < rounds; ++round) {
        migrator->begin_hunger(core);
        const bool seen = migrator->somebody_hungry();
        // Only this thread puts the core in: if it is in now, it was when the look was taken.
        if (!seen && migrator->hungry().contains(core)) ++overlooked;
        if (round % 64 == 0) std::this_thread::yield();
      }
    });
  }
  std::thread giver{[&] {
    while (!over.load()) {
      for (u32 i = 0; i < cores; ++i) (void)migrator->claim(CoreId{i});
    }
  }};
  for (std::thread& each : hungry) each.join();
  over.store(true);
  giver.join();
  for (u32 i = 0; i < cores; ++i) migrator->end_hunger(CoreId{i});
  EXPECT_EQ(overlooked.load(), 0u);
  EXPECT_FALSE(migrator->somebody_hungry());
}

}  // namespace
}  // namespace corral::sched

// The placements that go by load, by warmth and by a blend of both; what cores publish of their recent use.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

#include "machine.h"

namespace corral::test {
namespace {

TEST(RecentUse, FollowsTheExponentialAverage) {
  RecentUse use;
  EXPECT_EQ(use.share(Instant{} + seconds(5)), 0u);
  Random random{3};
  double expected = 0;
  Instant now = Instant{} + seconds(1);
  bool busy = false;
  use.change(busy, now);
  for (int i = 0; i < 2000; ++i) {
    const auto passed = microseconds(static_cast<i64>(random.below(1u << random.below(18))));
    now = now + passed;
    const double goal = busy ? RecentUse::whole : 0;
    expected = goal + (expected - goal) * std::exp2(-double(passed.ns) / double(RecentUse::half_life.ns));
    // The line instead of the curve is off by 6 % of the way at most; that fades as all else does.
    ASSERT_NEAR(use.share(now), expected, 0.13 * RecentUse::whole) << i;
    ASSERT_LE(use.share(now), RecentUse::whole);
    busy = !busy;
    use.change(busy, now);
  }
  use.change(true, now);
  EXPECT_EQ(use.share(now + seconds(10)), RecentUse::whole);
  use.change(false, now + seconds(10));
  EXPECT_NEAR(use.share(now + seconds(10) + RecentUse::half_life), RecentUse::whole / 2, 8);
  EXPECT_EQ(use.share(now + seconds(11)), 0u);
  EXPECT_EQ(use.share(now), RecentUse::whole) << "a reader whose clock is a moment behind";
}

class ByLoad : public testing::TestWithParam<const char*> {};

// One thread creates all others, then waits for them; none of them has arrived while it goes on.
TEST_P(ByLoad, ThreadsOfOneCreatorSpreadEvenly) {
  for (u32 cores = 1; cores <= 9; ++cores) {
    for (u32 threads = 1; threads <= 30; ++threads) {
      OwnedPlacer placer{GetParam()};
      const CoreId creator{threads % cores};
      const Instant now = Instant{} + seconds(1);
      std::vector<u32> runnable(cores, 0);
      std::deque<SchedulingEntity> entities(threads);
      CoreStatistics& own = placer->statistics(creator);
      const auto publish = [&](u32 n) { own.publish(n, u64{n} * weight_of_nice_0, 0); };
      runnable[creator.value] = 1;
      for (u32 core = 0; core < cores; ++core) placer->statistics(CoreId{core}).begin_idle(Instant{});
      own.end_idle(Instant{} + milliseconds(500));
      publish(1);
      for (SchedulingEntity& entity : entities) {
        const CoreId to = placer->choose(entity, PlacementReason::created, CoreSet::first(cores), creator, now);
        placer->assign(entity, to, creator);
        ++runnable[to.value];
        if (to == creator) publish(runnable[creator.value]);
      }
      --runnable[creator.value];  // it sleeps now
      for (u32 core = 0; core < cores; ++core) {
        EXPECT_GE(runnable[core], threads / cores) << cores << " cores, " << threads << " threads";
        EXPECT_LE(runnable[core], (threads + cores - 1) / cores) << cores << " cores, " << threads << " threads";
      }
    }
  }
}

// A woken thread finds a core that is idle, if there is one.
TEST_P(ByLoad, AWokenThreadGoesToTheIdleCore) {
  OwnedPlacer placer{GetParam()};
  SchedulingEntity entity;
  entity.last_core = CoreId{3};
  entity.last_ran = Instant{} + seconds(1);
  for (u32 core = 0; core < 4; ++core) {
    CoreStatistics& numbers = placer->statistics(CoreId{core});
    numbers.begin_idle(Instant{});
    if (core == 2) continue;
    numbers.end_idle(Instant{1});
    numbers.publish(1, weight_of_nice_0, 0);
  }
  EXPECT_EQ(placer->choose(entity, PlacementReason::woken, CoreSet::first(4), CoreId{3}, Instant{} + seconds(3)).value, 2u);
}

INSTANTIATE_TEST_SUITE_P(Placements, ByLoad,
                         testing::Values("least-loaded", "least-weight", "least-busy", "affinity", "blend", "cache-aware",
                                         "resource-aware"));

class ByCaches : public testing::TestWithParam<const char*> {};

// A pool: each thread waits for work before the next one is made, so that load never tells of it.
TEST_P(ByCaches, NewThreadsThatSleepAtOnceSpreadEvenly) {
  for (u32 cores = 1; cores <= 9; ++cores) {
    OwnedPlacer placer{GetParam()};
    const CoreId creator{cores / 2};
    placer->statistics(creator).publish(1, weight_of_nice_0, 0);
    std::vector<u32> threads(cores, 0);
    for (u32 i = 0; i < 3 * cores; ++i) {
      const SchedulingEntity entity;
      ++threads[placer->choose(entity, PlacementReason::created, CoreSet::first(cores), creator, Instant{i}).value];
    }
    EXPECT_EQ(threads, std::vector<u32>(cores, 3)) << cores << " cores";
  }
}

// Turns are only between cores that are equal otherwise.
TEST_P(ByCaches, NewThreadsGoWhereTheFewestAre) {
  OwnedPlacer placer{GetParam()};
  for (u32 core = 0; core < 4; ++core) placer->statistics(CoreId{core}).publish(core == 2 ? 1 : 2, weight_of_nice_0, 0);
  const SchedulingEntity entity;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(placer->choose(entity, PlacementReason::created, CoreSet::first(4), CoreId{0}, Instant{i}).value % 2, 0u);
  }
  CoreSet odd;
  odd.add(CoreId{1});
  odd.add(CoreId{3});
  EXPECT_EQ(placer->choose(entity, PlacementReason::created, odd, CoreId{0}, Instant{9}).value % 2, 1u);
}

INSTANTIATE_TEST_SUITE_P(Placements, ByCaches, testing::Values("affinity", "cache-aware"));

struct FourCores : testing::Test {
  // What core `core` says of itself.
  void say(u32 core, u32 runnable, u64 weight) { placer->statistics(CoreId{core}).publish(runnable, weight, 0); }
  u32 woken(const char* policy, u32 here = 0) {
    placer.use(policy);
    return placer->choose(entity, PlacementReason::woken, CoreSet::first(4), CoreId{here}, now).value;
  }
  void SetUp() override {
    entity.last_core = CoreId{3};
    entity.last_ran = now - milliseconds(1);
  }
  OwnedPlacer placer{"random"};
  SchedulingEntity entity;
  Instant now = Instant{} + seconds(100);
};
using LeastWeightOf = FourCores;
using LeastBusyOf = FourCores;
using AffinityOf = FourCores;
using BlendOf = FourCores;

TEST_F(LeastWeightOf, TwoLightThreadsAreLessThanAHeavyOne) {
  say(0, 1, 4000);
  say(1, 3, 600);
  say(2, 1, 4000);
  say(3, 1, 4000);
  EXPECT_EQ(woken("least-weight"), 1u);
  EXPECT_NE(woken("least-loaded"), 1u);
  say(3, 1, 2600);
  EXPECT_EQ(woken("least-weight"), 3u) << "less than two threads of nice 0: not worth moving";
}

TEST_F(LeastBusyOf, TheRecentPastCounts) {
  for (u32 core = 0; core < 4; ++core) {
    CoreStatistics& numbers = placer->statistics(CoreId{core});
    numbers.begin_idle(Instant{});
    numbers.end_idle(now - milliseconds(200));
  }
  say(3, 1, 1024);  // busy still; the others are idle since: 2 ms, 30 ms, 5 ms
  placer->statistics(CoreId{0}).begin_idle(now - milliseconds(2));
  placer->statistics(CoreId{1}).begin_idle(now - milliseconds(30));
  placer->statistics(CoreId{2}).begin_idle(now - milliseconds(5));
  EXPECT_EQ(woken("least-busy"), 1u);
  say(3, 0, 0);
  EXPECT_EQ(woken("least-busy"), 3u) << "its own when that is idle";
  SchedulingEntity travelling;
  placer->assign(travelling, CoreId{1}, CoreId{0});
  say(3, 1, 1024);
  EXPECT_EQ(woken("least-busy"), 2u) << "who is on the way counts";
}

TEST_F(AffinityOf, AWarmCacheIsWorthWaitingFor) {
  for (u32 core = 0; core < 4; ++core) say(core, core == 1 ? 0 : 2, 2048);
  EXPECT_EQ(woken("affinity"), 3u);
  EXPECT_EQ(woken("affinity:warm=900"), 1u) << "it left a millisecond ago";
  EXPECT_EQ(woken("affinity:warm=0"), 1u);
  say(3, 4, 4096);
  EXPECT_EQ(woken("affinity"), 1u) << "a crowd";
  EXPECT_EQ(woken("affinity:crowd=5"), 3u);
  EXPECT_EQ(placer->choose(entity, PlacementReason::woken, CoreSet::first(3), CoreId{0}, now).value, 1u) << "not allowed there";
  say(3, 0, 0);
  EXPECT_EQ(woken("affinity:warm=0"), 3u) << "cold, but idle";
}

TEST_F(BlendOf, EachMetricAlone) {
  say(0, 3, 300);
  say(1, 2, 9000);
  say(2, 1, 2000);
  say(3, 4, 4000);
  placer->statistics(CoreId{1}).begin_idle(now - seconds(1));
  for (u32 core : {0u, 2u, 3u}) {
    placer->statistics(CoreId{core}).begin_idle(Instant{});
    placer->statistics(CoreId{core}).end_idle(now - seconds(1));
  }
  EXPECT_EQ(woken("blend:threads=1,weight=0,use=0,cold=0,away=0"), 2u);
  EXPECT_EQ(woken("blend:threads=0,weight=1,use=0,cold=0,away=0"), 0u);
  EXPECT_EQ(woken("blend:threads=0,weight=0,use=1,cold=0,away=0"), 1u);
  EXPECT_EQ(woken("blend:threads=0,weight=0,use=0,cold=1,away=0"), 3u);
  EXPECT_EQ(woken("blend:threads=0,weight=0,use=0,cold=0,away=1", 2), 2u);
  EXPECT_EQ(woken("blend:threads=0,weight=0,use=0,cold=0,away=0", 2), 3u) << "all equal: the next one";
}

TEST_F(BlendOf, WeightsDecideBetweenMetrics) {
  for (u32 core = 0; core < 4; ++core) say(core, core == 3 ? 2 : 1, 1024);
  // Half warm (1 ms of 2), one thread more.
  EXPECT_EQ(woken("blend:threads=10,use=0,cold=19,away=0"), 0u + 1u);
  EXPECT_EQ(woken("blend:threads=10,use=0,cold=21,away=0"), 3u);
}

TEST_F(BlendOf, AChangeOfWeightsIsFeltAtOnce) {
  say(0, 0, 0);
  say(1, 1, 10);
  say(2, 1, 1);
  say(3, 1, 5);
  EXPECT_EQ(woken("blend"), 0u);
  EXPECT_EQ(woken("blend:threads=0,use=0,cold=0,away=0,weight=100"), 0u);
  say(0, 0, 99);
  EXPECT_EQ(woken("blend:threads=0,use=0,cold=0,away=0,weight=100"), 2u);
  EXPECT_EQ(placer->policies().in_force().values.number(1), 100);
}

}  // namespace
}  // namespace corral::test

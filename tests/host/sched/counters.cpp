// What is counted of threads, how it is kept, and the placements that go by it.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
#include "sched/counters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "machine.h"
#include "sched/cache_users.h"

namespace corral::test {
namespace {

Counts counts_of(std::initializer_list<std::pair<Figure, u64>> some) {
  Counts counts;
  for (const auto& [figure, value] : some) counts.set(figure, value);
  return counts;
}

TEST(Counts, SayWhatWasCounted) {
  const Counts counts = counts_of({{Figure::cycles, 7}, {Figure::pages, 0}});
  EXPECT_EQ(counts.known, FigureSet::of(Figure::pages, Figure::cycles));
  EXPECT_EQ(counts.of(Figure::cycles), 7u);
  EXPECT_FALSE(counts.known.has(Figure::instructions));
  EXPECT_EQ(counts.of(Figure::instructions), 0u);
  EXPECT_TRUE(Counts{}.known.empty());
}

TEST(ResourceUse, KeepsBothNumbersInAWord) {
  EXPECT_FALSE(ResourceUse{}.known());
  EXPECT_EQ(ResourceUse{}.pages(), 0u);
  for (const u32 pages : {0u, 1u, 4095u, ResourceUse::most_pages}) {
    for (const u32 bound : {0u, 1u, 511u, 512u, 513u, ResourceUse::whole}) {
      const ResourceUse use{pages, bound};
      EXPECT_TRUE(use.known());
      EXPECT_EQ(use.pages(), pages);
      EXPECT_EQ(use.memory_bound(), bound);
      EXPECT_EQ(use.is_memory_bound(), bound >= ResourceUse::whole / 2);
      EXPECT_EQ(ResourceUse::from_word(use.word()).word(), use.word());
    }
  }
  EXPECT_EQ((ResourceUse{u64{1} << 40, 3}.pages()), ResourceUse::most_pages);
  EXPECT_EQ((ResourceUse{u64{1} << 40, 3}.memory_bound()), 3u);
}

TEST(ResourceUse, ComesFromWhatThereIs) {
  EXPECT_FALSE(ResourceUse::of({}).known());
  EXPECT_FALSE(ResourceUse::of(counts_of({{Figure::instructions, 1000}, {Figure::cycles, 9}})).known());
  const ResourceUse by_pages = ResourceUse::of(counts_of({{Figure::pages, 192}}));
  EXPECT_EQ(by_pages.pages(), 192u);
  EXPECT_EQ(by_pages.memory_bound(), 768u) << "three caches full of four";
  EXPECT_EQ(ResourceUse::of(counts_of({{Figure::pages, 0}})).memory_bound(), 0u);
  const ResourceUse by_refills = ResourceUse::of(counts_of({{Figure::instructions, 64'000}, {Figure::refills, 1'000}}));
  EXPECT_EQ(by_refills.pages(), 16u) << "1000 lines of 64 bytes";
  EXPECT_EQ(by_refills.memory_bound(), 256u) << "a refill in 64 instructions, of one in 16";
  const ResourceUse by_both =
      ResourceUse::of(counts_of({{Figure::instructions, 100}, {Figure::refills, ~u64{0}}, {Figure::pages, 5}}));
  EXPECT_EQ(by_both.pages(), 5u);
  EXPECT_EQ(by_both.memory_bound(), ResourceUse::whole);
  EXPECT_EQ(ResourceUse::of(counts_of({{Figure::instructions, 5}, {Figure::refills, 0}})).memory_bound(), 0u);
}

TEST(ResourceUse, IsAnExponentialAverage) {
  Random random{5};
  ResourceUse use;
  double pages = 0, bound = 0;
  for (int i = 0; i < 3000; ++i) {
    const ResourceUse next{random.below(1u << random.below(21)), static_cast<u32>(random.below(ResourceUse::whole + 1))};
    const double weight = i == 0 ? 1 : 0.25;
    pages += (next.pages() - pages) * weight;
    bound += (next.memory_bound() - bound) * weight;
    use = use.with(next, ResourceUse::of_a_stretch);
    ASSERT_NEAR(use.pages(), pages, 4) << i;
    ASSERT_NEAR(use.memory_bound(), bound, 4) << i;
    use = use.with({}, ResourceUse::of_a_stretch);
    ASSERT_NEAR(use.pages(), pages, 4) << "one of which nothing is known changes nothing";
  }
}

TEST(ResourceUse, GetsWhereItGoesExactly) {
  for (const ResourceUse goal : {ResourceUse{0, 0}, ResourceUse{1000, 1024}, ResourceUse{3, 1}}) {
    ResourceUse use{500, 700};
    for (int i = 0; i < 200; ++i) use = use.with(goal, ResourceUse::of_a_stretch);
    EXPECT_EQ(use.word(), goal.word());
  }
}

TEST(ResourceUse, OfACoreCountsTime) {
  EXPECT_EQ(ResourceUse::weight_of({}), 0u);
  EXPECT_EQ(ResourceUse::weight_of(Duration{-5}), 0u);
  EXPECT_EQ(ResourceUse::weight_of(RecentUse::half_life), ResourceUse::whole / 2);
  EXPECT_EQ(ResourceUse::weight_of(seconds(100'000)), ResourceUse::whole);
  CoreStatistics statistics;
  EXPECT_FALSE(statistics.resources().known());
  statistics.add_resources({100, 0}, microseconds(1), 250);
  EXPECT_EQ(statistics.resources().pages(), 250u);
  EXPECT_EQ(statistics.used_pages(), 250u);
  for (int i = 0; i < 1000; ++i) {  // one runs three times as long as the other
    statistics.add_resources({400, 1000}, milliseconds(3), 400);
    statistics.add_resources({0, 0}, milliseconds(1), 400);
  }
  EXPECT_NEAR(statistics.memory_bound(), 750, 60);
  EXPECT_EQ(statistics.memory_bound() + statistics.computing(), ResourceUse::whole);
}

TEST(CacheUsers, AreThoseWhoRanLately) {
  CacheUsers users;
  SchedulingEntity entities[CacheUsers::most + 1];
  Instant now = Instant{} + seconds(1);
  EXPECT_EQ(users.note(entities[0], 100, now), 100u);
  EXPECT_EQ(users.note(entities[0], 70, now), 70u) << "the same one";
  EXPECT_EQ(users.note(entities[1], 5, now + milliseconds(15)), 75u);
  EXPECT_EQ(users.note(entities[2], 6, now + milliseconds(20)), 11u) << "the first one is forgotten";
  now = now + seconds(1);
  for (u32 i = 0; i < CacheUsers::most; ++i) EXPECT_EQ(users.note(entities[i], 1, now + Duration{i}), i + 1);
  EXPECT_EQ(users.note(entities[CacheUsers::most], 10, now + Duration{99}), 10u + CacheUsers::most - 1) << "for the oldest";
}

struct OnFourCores : testing::Test {
  void say(u32 core, u32 runnable, ResourceUse use = {}) {
    CoreStatistics& numbers = placer->statistics(CoreId{core});
    CoreStatistics::Words words{};
    words.present = runnable;
    words.resources = use.word();
    numbers.show(words);
  }
  void uses(ResourceUse use) { entity.resources.store(use, Order::relaxed); }
  u32 placed(const char* policy, PlacementReason reason, u32 here) {
    placer.use(policy);
    return placer->choose(entity, reason, CoreSet::first(4), CoreId{here}, now).value;
  }
  u32 woken(const char* policy, u32 here = 0) { return placed(policy, PlacementReason::woken, here); }
  void SetUp() override {
    entity.last_core = CoreId{3};
    entity.last_ran = now;
  }
  OwnedPlacer placer{"random"};
  SchedulingEntity entity;
  Instant now = Instant{} + seconds(100);
};
using CacheAwareOf = OnFourCores;
using ResourceAwareOf = OnFourCores;

constexpr ResourceUse large{1024, 900}, small{4, 50};

TEST_F(CacheAwareOf, WaitsWhereTheRefillWouldCostMore) {
  for (u32 core = 0; core < 4; ++core) say(core, core == 1 ? 0 : 1, small);
  uses(large);
  EXPECT_EQ(woken("cache-aware:turn=1000"), 3u) << "4 MiB are more than a turn";
  EXPECT_EQ(woken("cache-aware:turn=1100"), 1u) << "... unless the turn is longer";
  EXPECT_EQ(woken("cache-aware:warm=0"), 1u) << "... or the cache has forgotten them";
  entity.last_ran = now - milliseconds(10);
  EXPECT_EQ(woken("cache-aware:turn=1000"), 1u);
  EXPECT_EQ(woken("cache-aware:warm=10001"), 3u);
  entity.last_ran = now;
  uses(small);
  EXPECT_EQ(woken("cache-aware:turn=60"), 1u) << "16 KiB are not";
  say(3, 0, large);
  EXPECT_EQ(woken("cache-aware:turn=1000"), 3u) << "its own core is idle";
}

TEST_F(CacheAwareOf, LargeWorkingSetsKeepApart) {
  for (u32 core = 0; core < 4; ++core) say(core, 1, core == 2 ? small : large);
  uses(large);
  EXPECT_EQ(woken("cache-aware:turn=1000"), 3u) << "what is used there is its own";
  say(3, 1, {2 * 1024, 900});
  EXPECT_EQ(woken("cache-aware:turn=900"), 3u);
  say(3, 1, {2 * 1024 + 10, 900});
  EXPECT_EQ(woken("cache-aware:turn=900"), 2u) << "another one would drive it out";
  entity.last_ran = now - seconds(1);
  say(3, 1, large);
  EXPECT_EQ(woken("cache-aware:turn=1000"), 2u) << "nothing is there any more";
  say(2, 3, small);
  EXPECT_EQ(woken("cache-aware:turn=1000"), 3u) << "not at any price";
  for (u32 core = 0; core < 4; ++core) say(core, core == 1 ? 0 : 1, core == 1 ? large : small);
  EXPECT_EQ(woken("cache-aware:turn=1000"), 1u) << "who sleeps needs nothing";
}

TEST_F(CacheAwareOf, WhoUsesLittleGoesBackWhileItsCacheIsWarm) {
  for (u32 core = 0; core < 4; ++core) say(core, core == 1 ? 0 : 3, core == 2 ? small : large);
  uses(small);
  EXPECT_EQ(woken("cache-aware:turn=1000"), 3u);
  EXPECT_EQ(woken("cache-aware:turn=1000,warm=0"), 1u);
  EXPECT_EQ(woken("cache-aware:turn=1000,crowd=3"), 1u) << "too many are there";
  uses({});
  EXPECT_EQ(woken("cache-aware:turn=1000"), 1u) << "nothing is known of it";
}

TEST_F(CacheAwareOf, WhoUsesLittleGoesByLoadWhereThereIsACrowd) {
  for (u32 core = 0; core < 4; ++core) say(core, 1, core == 2 ? small : large);
  uses(small);
  say(3, 4, large);
  EXPECT_NE(woken("cache-aware:turn=1000"), 3u);
  EXPECT_EQ(woken("cache-aware:turn=1000"), woken("least-loaded"));
}

TEST_F(CacheAwareOf, WaitsForNoCrowd) {
  for (u32 core = 0; core < 4; ++core) say(core, core == 3 ? 3 : 1, small);
  uses(large);
  EXPECT_NE(woken("cache-aware:turn=1000"), 3u);
}

TEST_F(CacheAwareOf, ItsCreatorDoesNotCount) {
  for (u32 core = 0; core < 4; ++core) say(core, 1, core == 2 ? small : large);
  say(1, 1, large);
  uses(large);
  EXPECT_EQ(placed("cache-aware:turn=1000", PlacementReason::created, 1), 1u);
}

TEST_F(ResourceAwareOf, MixesWhatIsDifferent) {
  const ResourceUse memory{500, 1000}, computing{500, 10};
  say(0, 1, memory);
  say(1, 1, computing);
  say(2, 1, memory);
  say(3, 1, memory);
  uses(memory);
  entity.last_core = CoreId{0};
  EXPECT_EQ(woken("resource-aware"), 0u) << "not worth a move";
  EXPECT_EQ(woken("resource-aware:thread=1900"), 1u);
  uses(computing);
  entity.last_core = CoreId{1};
  EXPECT_EQ(woken("resource-aware"), 1u) << "not worth a move";
  EXPECT_EQ(woken("resource-aware:thread=1900"), 2u);
  say(3, 0);
  EXPECT_EQ(woken("resource-aware"), 3u) << "an idle core is worth it";
}

TEST_F(ResourceAwareOf, LoadComesFirst) {
  const ResourceUse memory{500, 1024}, computing{500, 0};
  for (u32 core = 0; core < 4; ++core) say(core, core == 1 ? 2 : 1, core == 1 ? computing : memory);
  uses(memory);
  EXPECT_EQ(placed("resource-aware", PlacementReason::created, 3), 3u) << "its creator does not count";
  say(3, 3, memory);
  EXPECT_EQ(placed("resource-aware", PlacementReason::created, 3), 0u) << "two unlike ones are more than an alike one";
  EXPECT_EQ(placed("resource-aware:thread=1024", PlacementReason::created, 2), 2u);
  EXPECT_EQ(placed("resource-aware:thread=1024", PlacementReason::created, 3), 0u) << "twice as much is just as much";
}

// Without figures both decide as least-loaded does, whatever the cores say; but cache-aware lets new threads take turns.
TEST(WithoutFigures, LoadAloneCounts) {
  OwnedPlacer placer{"least-loaded"};
  Random random{17};
  for (int i = 0; i < 5'000; ++i) {
    for (u32 core = 0; core < 8; ++core) {
      CoreStatistics::Words words{};
      words.present = random.below(4);
      words.resources = ResourceUse{random.below(5000), static_cast<u32>(random.below(1025))}.word();
      placer->statistics(CoreId{core}).show(words);
    }
    SchedulingEntity entity;
    entity.last_core = CoreId{static_cast<u32>(random.below(8))};
    entity.last_ran = Instant{static_cast<i64>(random.below(2))};
    const auto reason = random.one_in(2) ? PlacementReason::created : PlacementReason::woken;
    const CoreId here{static_cast<u32>(random.below(8))};
    const auto ask = [&](const char* policy) {
      placer.use(policy);
      return placer->choose(entity, reason, CoreSet::first(8), here, Instant{i});
    };
    const CoreId expected = ask("least-loaded");
    if (reason == PlacementReason::woken) { ASSERT_EQ(ask("cache-aware"), expected) << i; }
    ASSERT_EQ(ask("resource-aware"), expected) << i;
  }
}

TEST(Placements, SayWhetherTheyGoByWhatIsCounted) {
  EXPECT_TRUE(find_placement("cache-aware")->goes_by_resources);
  EXPECT_TRUE(find_placement("resource-aware")->goes_by_resources);
  EXPECT_FALSE(find_placement("least-loaded")->goes_by_resources);
}

}  // namespace
}  // namespace corral::test

// What placements say of the cores that they choose from: the core that is chosen has the least score, whatever the state of the
// machine, and who asks for scores changes nothing.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
// optimised: tens of thousands of decisions of each
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "machine.h"

namespace corral::test {
namespace {

constexpr u32 cores = 70;  // more than a word of a set has
constexpr Instant now{5'000'000'000};

// A core as it may be: empty, or with threads that are there or on the way.
void arrange(CoreStatistics& statistics, Random& random) {
  u64 weight = 0;
  const auto threads = static_cast<u32>(random.below(random.one_in(3) ? 1 : 5));
  for (u32 i = 0; i < threads; ++i) weight += weight_of(static_cast<i32>(random.below(40)) + nice_lowest);
  statistics.publish(threads, weight, 0);
  const Instant changed{now.ns - static_cast<i64>(random.below(200'000'000))};
  statistics.begin_idle(changed - milliseconds(static_cast<i64>(random.below(200))));
  if (threads != 0) statistics.end_idle(changed);
  if (random.one_in(4)) statistics.expect_one();
  if (threads != 0 && random.one_in(3)) statistics.publish_urgency(1 + random.below(99));
  const u64 pages = random.below(3'000);
  if (random.one_in(2)) statistics.add_resources({pages, static_cast<u32>(random.below(1025))}, milliseconds(9), pages);
}

struct Question {
  SchedulingEntity entity;
  PlacementReason reason;
  CoreSet candidates;
  CoreId here;

  explicit Question(Random& random) : reason{random.one_in(2) ? PlacementReason::created : PlacementReason::woken} {
    for (u64 i = random.below(PlacementScores::most) + 1; i != 0; --i) candidates.add(any_core(random));
    here = any_core(random);
    entity.last_core = random.one_in(3) ? any_core(random) : candidates.lowest();
    if (!random.one_in(5)) entity.last_ran = Instant{now.ns - static_cast<i64>(random.below(20'000'000))};
    entity.weight = weight_of(static_cast<i32>(random.below(40)) + nice_lowest);
    const u32 bound = static_cast<u32>(random.below(1025));
    if (random.one_in(2)) entity.resources.store({random.below(random.one_in(2) ? 40 : 2'000), bound}, Order::relaxed);
    if (random.one_in(5)) entity.real_time = static_cast<u8>(1 + random.below(99));
  }
  static CoreId any_core(Random& random) { return CoreId{static_cast<u32>(random.below(cores))}; }
  CoreId ask(Placer& placer, PlacementScores* scores) const {
    return placer.choose(entity, reason, candidates, here, now, scores);
  }
};

const std::vector<std::string> all_of_them = [] {
  std::vector<std::string> texts;
  for (const PlacementDescriptor* descriptor : placements()) texts.emplace_back(descriptor->name);
  texts.insert(texts.end(), {"blend:threads=0,use=3,weight=2", "cache-aware:turn=1", "resource-aware:thread=1024"});
  return texts;
}();

TEST(PlacementScores, TheChosenCoreHasTheLeast) {
  std::set<std::string> without;
  for (const std::string& text : all_of_them) {
    Random random{11};
    std::set<u64> seen;
    for (int i = 0; i < 100; ++i) {
      OwnedPlacer placer{text};
      for (u32 core = 0; core < cores; ++core) arrange(placer->statistics(CoreId{core}), random);
      for (int question = 0; question < 60; ++question) {
        const Question asked{random};
        PlacementScores scores;
        const CoreId chosen = asked.ask(*placer, &scores);
        ASSERT_EQ(scores.candidates, asked.candidates.count()) << text;
        ASSERT_EQ(scores.listed, scores.candidates) << text;
        std::map<u32, u64> by_core;
        for (u32 at = 0; at < scores.listed; ++at) by_core[scores.candidate[at].core.value] = scores.candidate[at].score;
        ASSERT_EQ(by_core.size(), scores.listed) << text;
        ASSERT_TRUE(by_core.contains(chosen.value)) << text;
        const bool of_policy = asked.entity.real_time == 0;
        ASSERT_FALSE(of_policy && scores.unit == ScoreUnit::priority) << text;
        if (scores.listed > 1 && scores.unit == ScoreUnit::none && of_policy) without.insert(text);
        if (scores.unit == ScoreUnit::none) continue;
        for (const auto& [core, score] : by_core) {
          ASSERT_LE(by_core[chosen.value], score) << text << ": core " << core << " is no better than " << chosen.value;
          if (of_policy) seen.insert(score);
        }
      }
      EXPECT_EQ(placer->policies().violations(), 0u) << text;
    }
    EXPECT_TRUE(without.contains(text) || seen.size() > 4) << text << " tells cores apart";
  }
  EXPECT_EQ(without, (std::set<std::string>{"random", "round-robin"}));
}

TEST(PlacementScores, ToAskForThemChangesNothing) {
  for (const std::string& text : all_of_them) {
    std::vector<u32> chosen[2];
    for (const bool scored : {false, true}) {
      Random random{12};
      machine_random = Random{3};
      OwnedPlacer placer{text};
      for (int i = 0; i < 2'000; ++i) {
        if (i % 50 == 0) {
          for (u32 core = 0; core < cores; ++core) arrange(placer->statistics(CoreId{core}), random);
        }
        const Question asked{random};
        PlacementScores scores;
        chosen[scored ? 1 : 0].push_back(asked.ask(*placer, scored ? &scores : nullptr).value);
      }
    }
    EXPECT_EQ(chosen[0], chosen[1]) << text;
  }
}

u64 score_of(const PlacementScores& scores, CoreId core) {
  for (u32 i = 0; i < scores.listed; ++i) {
    if (scores.candidate[i].core == core) return scores.candidate[i].score;
  }
  ADD_FAILURE() << "core " << core.value << " is not listed";
  return 0;
}

TEST(PlacementScores, ThoseOnTheWayCountAndTheThreadItselfDoesNot) {
  OwnedPlacer placer{"least-loaded"};
  SchedulingEntity first, second;
  const CoreSet candidates = CoreSet::first(2);
  PlacementScores scores;
  placer->statistics(CoreId{0}).publish(3, 3 * weight_of_nice_0, 0);
  for (SchedulingEntity* entity : {&first, &second}) {
    const CoreId chosen = placer->choose(*entity, PlacementReason::created, candidates, CoreId{0}, now, &scores);
    ASSERT_EQ(chosen, CoreId{1});
    EXPECT_EQ(scores.unit, ScoreUnit::threads);
    EXPECT_EQ(score_of(scores, CoreId{0}), 2u) << "without the creator";
    EXPECT_EQ(score_of(scores, CoreId{1}), entity == &first ? 0u : 1u);
    placer->assign(*entity, chosen, CoreId{0});
  }
}

TEST(PlacementScores, OfManyCandidatesTheChosenOneIsListed) {
  OwnedPlacer placer{"least-loaded"};
  const SchedulingEntity entity;
  for (u32 core = 0; core < cores; ++core) placer->statistics(CoreId{core}).publish(core == 66 ? 1 : 2, 2'048, 0);
  PlacementScores scores;
  EXPECT_EQ(placer->choose(entity, PlacementReason::woken, CoreSet::first(cores), CoreId{0}, now, &scores), CoreId{66});
  EXPECT_EQ(scores.candidates, cores);
  EXPECT_EQ(scores.listed, PlacementScores::most);
  EXPECT_EQ(score_of(scores, CoreId{0}), 2u);
  EXPECT_EQ(score_of(scores, CoreId{66}), 1u);
}

TEST(PlacementScores, WithoutAScoreThreadsAreTold) {
  OwnedPlacer placer{"round-robin"};
  const SchedulingEntity entity;
  placer->statistics(CoreId{1}).publish(4, 4'096, 0);
  placer->statistics(CoreId{1}).expect_one();
  PlacementScores scores;
  (void)placer->choose(entity, PlacementReason::woken, CoreSet::first(3), CoreId{0}, now, &scores);
  EXPECT_EQ(scores.unit, ScoreUnit::none);
  EXPECT_EQ(score_of(scores, CoreId{1}), 5u);
  EXPECT_EQ(score_of(scores, CoreId{2}), 0u);
}

TEST(PlacementScores, OneOfTheRealTimeClassGoesByPriorities) {
  OwnedPlacer placer{"least-weight"};
  SchedulingEntity entity;
  entity.real_time = 5;
  entity.last_core = CoreId{1};
  entity.last_ran = now;
  placer->statistics(CoreId{0}).publish(2, 2'048, 0);
  placer->statistics(CoreId{0}).publish_urgency(4);
  placer->statistics(CoreId{1}).publish_urgency(~u64{1'000'000});  // due soon
  placer->statistics(CoreId{2}).publish_urgency(3);
  PlacementScores scores;
  const auto place = [&] { return placer->choose(entity, PlacementReason::woken, CoreSet::first(3), CoreId{0}, now, &scores); };
  EXPECT_EQ(place(), CoreId{2});
  EXPECT_EQ(scores.unit, ScoreUnit::priority);
  EXPECT_EQ(score_of(scores, CoreId{0}), 4u);
  EXPECT_EQ(score_of(scores, CoreId{1}), u64{deadline_priority});
  EXPECT_EQ(score_of(scores, CoreId{2}), 3u);

  entity.real_time = 3;
  EXPECT_EQ(place(), CoreId{1}) << "where it was last, for it runs nowhere at once";
  EXPECT_EQ(scores.unit, ScoreUnit::none);
  EXPECT_EQ(score_of(scores, CoreId{0}), 2u) << "its threads";
}

// A policy whose score is wrong is replaced, and what it chose before is right all the same.
class Mismeasures final : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest&, const SystemView&) override { return CoreId{2}; }
  CoreScore score(const PlacementRequest&, const SystemView&, CoreId core) const override {
    if (core == CoreId{1}) throw failure;
    return {7, unit};
  }
  static inline arch::CallFailure failure;
  static inline ScoreUnit unit;
};

TEST(PlacementScores, ACallThatDoesNotComeBackCostsThePolicyItsPlace) {
  static const PlacementDescriptor descriptor{
      {"mismeasures", ""}, sizeof(Mismeasures), [](void* storage) -> PlacementPolicy* { return ::new (storage) Mismeasures; }};
  auto placer = std::make_unique<Placer>(next_random);
  alignas(64) u8 storage[sizeof(Mismeasures)];
  ASSERT_TRUE(placer->policies().add(descriptor, storage));
  ASSERT_TRUE(placer->policies().use(descriptor, {}));
  static PolicyFailure told;
  placer->policies().set_listener([](const auto&, const auto&, const PolicyFailure& failure) { told = failure; });
  Mismeasures::failure = arch::CallFailure::endless;
  Mismeasures::unit = ScoreUnit::points;
  const SchedulingEntity entity;
  PlacementScores scores;
  placer->statistics(CoreId{0}).publish(3, 3'072, 0);
  const auto place = [&](const CoreSet& candidates) {
    return placer->choose(entity, PlacementReason::created, candidates, CoreId{0}, now, &scores);
  };
  CoreSet others = CoreSet::of(CoreId{2});
  others.add(CoreId{3});
  EXPECT_EQ(place(others), CoreId{2});
  EXPECT_EQ(scores.unit, ScoreUnit::points);
  Mismeasures::unit = static_cast<ScoreUnit>(99);
  EXPECT_EQ(place(others), CoreId{2});
  EXPECT_EQ(scores.unit, ScoreUnit::none) << "there is no such unit";
  EXPECT_EQ(placer->policies().violations(), 0u);

  Mismeasures::unit = ScoreUnit::points;
  EXPECT_EQ(place(CoreSet::first(3)), CoreId{2}) << "nothing was wrong with that";
  EXPECT_EQ(placer->policies().violations(), 1u);
  EXPECT_EQ(told.misdeed, Misdeed::endless);
  EXPECT_EQ(told.call, PolicyCall::score);
  EXPECT_EQ(scores.unit, ScoreUnit::none);
  EXPECT_EQ(score_of(scores, CoreId{0}), 3u);
  EXPECT_EQ(place(CoreSet::first(2)), CoreId{1}) << "the engine's own goes on, and has scores";
  EXPECT_EQ(scores.unit, ScoreUnit::threads);
}

}  // namespace
}  // namespace corral::test

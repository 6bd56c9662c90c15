// The policies that the whole machine shares: what becomes of one that is wrong, and of one that is chosen again.
// sources: kernel/sched/*.cpp kernel/sched/engine/placer.cpp kernel/sched/engine/safe_policies.cpp
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sched/engine/placer.h"

namespace corral::sched {
namespace {

constexpr Instant now{1};
constexpr Duration tick = milliseconds(4);

u64 no_random() {
  return 0;
}

class Nowhere final : public PlacementPolicy {
 public:
  CoreId select(const PlacementRequest&, const SystemView&) override { return CoreId{max_cores}; }
};
PlacementPolicy* make_nowhere(void* storage) {
  return ::new (storage) Nowhere;
}
constexpr PlacementDescriptor nowhere{{"nowhere", "answers what is no core"}, sizeof(Nowhere), make_nowhere};

TEST(Placer, AWrongPlacementIsReplacedOnce) {
  static u32 told;
  told = 0;
  const auto placer = std::make_unique<Placer>(no_random);
  alignas(64) u8 storage[Placer::Policies::room_for(sizeof(Nowhere))];
  ASSERT_TRUE(placer->policies().add(nowhere, storage));
  ASSERT_TRUE(placer->policies().use(nowhere, {nowhere, tick}));
  placer->policies().set_listener([](const PlacementDescriptor& failed, const TunableValues&, const PolicyFailure& failure) {
    ++told;
    EXPECT_EQ(&failed, &nowhere);
    EXPECT_EQ(failure.misdeed, Misdeed::outside);
    EXPECT_EQ(failure.call, PolicyCall::select);
  });
  placer->statistics(CoreId{0}).publish(2, 0, 0);
  const SchedulingEntity entity;
  for (u32 i = 0; i < 3; ++i) {
    EXPECT_EQ(placer->choose(entity, PlacementReason::created, CoreSet::first(2), CoreId{0}, Instant{1}), CoreId{1});
  }
  EXPECT_EQ(told, 1u) << "the safe one, in use from then on, answers well";
  EXPECT_EQ(placer->policies().violations(), 1u);
  EXPECT_STREQ(placer->policies().in_force().descriptor->name, "safe");
}

// Is right once, and wrong from then on.
struct Tiring final : PlacementPolicy {
  CoreId select(const PlacementRequest& request, const SystemView&) override {
    asked.push_back(this);
    return calls++ == 0 ? request.candidates.lowest() : CoreId{max_cores};
  }
  static inline std::vector<const Tiring*> asked;
  static inline bool can_be_made = true;
  u32 calls = 0;
};
const PlacementDescriptor tiring{{"tiring", ""}, sizeof(Tiring), [](void* to) -> PlacementPolicy* {
                                   if (!Tiring::can_be_made) throw arch::CallFailure::fault;
                                   return ::new (to) Tiring;
                                 }};

TEST(PolicySlots, WhoHasFailedBeginsAnewWhenChosenAgain) {
  const auto placer = std::make_unique<Placer>(no_random);
  placer->statistics(CoreId{0}).publish(1, 0, 0);  // the safe placement answers core 1
  auto& policies = placer->policies();
  alignas(64) u8 storage[Placer::Policies::room_for(sizeof(Tiring))];
  ASSERT_TRUE(policies.add(tiring, storage));
  const SchedulingEntity entity;
  const auto place = [&] { return placer->choose(entity, PlacementReason::created, CoreSet::first(2), CoreId{0}, now).value; };
  ASSERT_TRUE(policies.use(tiring, {}));
  for (u32 round = 0; round < 5; ++round) {
    EXPECT_EQ(place(), 0u) << "in round " << round;
    ASSERT_TRUE(policies.use(tiring, {})) << "which changes nothing: it has not failed";
    const PlacementSlot& slot = policies.in_force();
    EXPECT_EQ(place(), 1u);
    EXPECT_STREQ(policies.in_force().descriptor->name, "safe");
    ASSERT_TRUE(policies.use(tiring, {}));
    // A core that was in a call of the old object notices late: the new one is not replaced for that.
    EXPECT_NE(&policies.in_force(), &slot);
    (void)policies.replace(slot, {});
    EXPECT_STREQ(policies.in_force().descriptor->name, "tiring");
  }
  for (size_t i = 2; i < Tiring::asked.size(); i += 2) EXPECT_NE(Tiring::asked[i], Tiring::asked[i - 1]);
  EXPECT_EQ(place(), 0u);
  EXPECT_EQ(place(), 1u);
  Tiring::can_be_made = false;
  EXPECT_FALSE(policies.use(tiring, {}));
  EXPECT_STREQ(policies.in_force().descriptor->name, "safe");
  Tiring::can_be_made = true;
  EXPECT_TRUE(policies.use(tiring, {}));
}

}  // namespace
}  // namespace corral::sched

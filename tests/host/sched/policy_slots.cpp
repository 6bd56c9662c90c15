// The policies that the whole machine shares: what becomes of one that is wrong, and of one that is chosen again.
// sources: kernel/sched/*.cpp kernel/sched/engine/placer.cpp kernel/sched/engine/safe_policies.cpp
#include <gtest/gtest.h>

#include <memory>

#include "sched/engine/placer.h"

namespace corral::sched {
namespace {

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
  alignas(64) u8 storage[64];
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

}  // namespace
}  // namespace corral::sched

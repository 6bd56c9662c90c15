// How long a core is left idle, by looks alone.
#include "sched/engine/idle_spell.h"

#include <gtest/gtest.h>

namespace corral::sched {
namespace {

constexpr CoreId idler{2};
constexpr Duration between = milliseconds(100);

class Spell : public testing::Test {
 protected:
  // A look after `passed`, in which `idler` has slept but for `awake`. True: it was left idle for too long.
  bool look(const CoreSet& promised = CoreSet::of(idler), bool counts = true, Duration passed = between, Duration awake = {}) {
    now_ = now_ + passed;
    idle_ = idle_ + passed - awake;
    return spell_.begin_look(now_) &&
           spell_.found(promised, counts, now_, [&](CoreId core) { return core == idler ? idle_ : Duration{}; });
  }
  // How many looks it takes until it is told; 0: it is not.
  template <class Look>
  static u32 told_after(Look&& look) {
    for (u32 looks = 1; looks <= 100; ++looks) {
      if (look()) return looks;
    }
    return 0;
  }

  IdleSpell spell_;
  Instant now_{1};
  Duration idle_{};
};

TEST_F(Spell, ACoreThatIsLeftIdleIsToldOf) {
  EXPECT_EQ(told_after([&] { return look(); }), 12u) << "one to begin with, and more than a second";
  EXPECT_EQ(spell_.core(), idler);
  EXPECT_EQ(told_after([&] { return look(); }), 11u) << "and again after as long";
}

TEST_F(Spell, OneThatWakesNowAndThenIsNot) {
  u32 looks = 0;
  EXPECT_EQ(told_after([&] {
              const Duration awake = ++looks % 8 == 0 ? nanoseconds(1) : Duration{};
              return look(CoreSet::of(idler), true, between, awake);
            }),
            0u);
}

TEST_F(Spell, NorOneBesideWhomSometimesNobodyWaits) {
  u32 looks = 0;
  EXPECT_EQ(told_after([&] { return look(++looks % 8 == 0 ? CoreSet{} : CoreSet::of(idler)); }), 0u);
}

TEST_F(Spell, LooksInARowAreOne) {
  EXPECT_FALSE(look());
  EXPECT_EQ(told_after([&] { return look(CoreSet::of(idler), true, milliseconds(1)); }), 0u) << "a tenth of a second";
}

TEST_F(Spell, ALongTimeBetweenTwoLooksTellsLittle) {
  EXPECT_EQ(told_after([&] { return look(CoreSet::of(idler), true, milliseconds(700)); }), 6u)
      << "a quarter of a second for each";
}

TEST_F(Spell, AfterAVeryLongOneItBeginsAnew) {
  EXPECT_EQ(told_after([&] { return look(CoreSet::of(idler), true, milliseconds(800)); }), 0u);
}

TEST_F(Spell, WhatDoesNotCountIsCountedWithTheNextThatDoes) {
  u32 looks = 0;
  EXPECT_EQ(told_after([&] { return look(CoreSet::of(idler), looks++ % 2 == 0); }), 13u);
}

TEST_F(Spell, ButNotForMoreThanOneLookTellsAtMost) {
  u32 looks = 0;
  EXPECT_EQ(told_after([&] { return look(CoreSet::of(idler), looks++ % 10 == 0); }), 51u)
      << "a quarter of a second for each ten";
}

TEST_F(Spell, NeverWhenNoneCounts) {
  EXPECT_EQ(told_after([&] { return look(CoreSet::of(idler), false); }), 0u);
}

}  // namespace
}  // namespace corral::sched

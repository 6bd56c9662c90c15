// What a seed decides about the interleaving of cores: always the same, and something else for another seed or core.
#include "sync/interleave.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

namespace corral::interleave {
namespace {

std::vector<u64> decisions(u64 seed, u32 core) {
  Plan plan{seed, core};
  std::vector<u64> made;
  for (u32 i = 0; i < 1000; ++i) {
    made.push_back(plan.pauses());
    made.push_back(static_cast<u64>(plan.distance().ns));
    made.push_back(plan.ends_slice() ? 1 : 0);
  }
  return made;
}

TEST(Interleave, TheSameSeedAndCoreDecideTheSame) {
  for (u64 seed : {u64{1}, u64{2}, ~u64{0}}) {
    for (u32 core : {0u, 1u, 254u}) EXPECT_EQ(decisions(seed, core), decisions(seed, core));
  }
}

TEST(Interleave, SeedsAndCoresDiffer) {
  std::set<std::vector<u64>> seen;
  for (u64 seed = 1; seed <= 50; ++seed) {
    for (u32 core = 0; core < 8; ++core) EXPECT_TRUE(seen.insert(decisions(seed, core)).second) << seed << ", " << core;
  }
}

TEST(Interleave, DecisionsAreWithinTheirBounds) {
  u32 most_pauses = 0;
  for (u64 seed = 1; seed <= 100; ++seed) {
    Plan plan{seed, 0};
    u32 paused = 0;
    for (u32 i = 0; i < 2000; ++i) {
      const u32 pauses = plan.pauses();
      EXPECT_LE(pauses, 64u);
      most_pauses = std::max(most_pauses, pauses);
      if (pauses != 0) ++paused;
      const Duration distance = plan.distance();
      EXPECT_GE(distance, microseconds(4));
      EXPECT_LT(distance, microseconds(1024));
    }
    EXPECT_GT(paused, 0u) << seed;    // every seed gives way somewhere,
    EXPECT_LT(paused, 1500u) << seed;  // and none all the time
  }
  EXPECT_GT(most_pauses, 32u);  // long stalls do occur
}

TEST(Interleave, OffUntilItBegins) {
  EXPECT_FALSE(active());
  point();  // nothing happens
  begin(0);
  EXPECT_FALSE(active());
  begin(1);
  EXPECT_TRUE(active());
  for (u32 i = 0; i < 1000; ++i) point();
}

}  // namespace
}  // namespace corral::interleave

// The arithmetic of load averages.
#include "fs/proc/load_average.h"

#include <gtest/gtest.h>

#include <cmath>

namespace corral::fs {
namespace {

double value(u64 fixed) {
  return static_cast<double>(fixed) / static_cast<double>(LoadAverages::one);
}

TEST(LoadAverages, FollowTheExponential) {
  LoadAverages load;
  for (int i = 0; i < 12; ++i) load.add(4);  // one minute
  EXPECT_NEAR(value(load.minutes_1), 4 * (1 - std::exp(-1.0)), 0.05);
  EXPECT_NEAR(value(load.minutes_5), 4 * (1 - std::exp(-1.0 / 5)), 0.05);
  EXPECT_NEAR(value(load.minutes_15), 4 * (1 - std::exp(-1.0 / 15)), 0.05);
}

TEST(LoadAverages, ReachWhatTheyTendToAndFallToNothing) {
  LoadAverages load;
  for (int i = 0; i < 5000; ++i) load.add(3);
  EXPECT_EQ(load.minutes_1, 3 * LoadAverages::one);
  EXPECT_EQ(load.minutes_5, 3 * LoadAverages::one);
  EXPECT_EQ(load.minutes_15, 3 * LoadAverages::one);
  for (int i = 0; i < 5000; ++i) load.add(0);
  EXPECT_EQ(load.minutes_1 + load.minutes_5 + load.minutes_15, 0u);
}

}  // namespace
}  // namespace corral::fs

// A token bucket: how many at once, and how many on the long run.
#include "lib/token_bucket.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(TokenBucket, SomeAtOnceAndThenOneInEachInterval) {
  TokenBucket bucket{milliseconds(2), 3};
  const Instant begin = Instant{} + seconds(1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(begin)) << i;
  EXPECT_FALSE(bucket.take(begin));
  EXPECT_FALSE(bucket.take(begin + milliseconds(2) - Duration{1}));
  EXPECT_TRUE(bucket.take(begin + milliseconds(2)));
  EXPECT_FALSE(bucket.take(begin + milliseconds(2)));
  EXPECT_TRUE(bucket.take(begin + milliseconds(4)));
}

TEST(TokenBucket, ItIsFullAgainAfterAWhileAndNotMoreThanFull) {
  TokenBucket bucket{milliseconds(2), 3};
  Instant now = Instant{} + seconds(1);
  for (int round = 0; round < 5; ++round) {
    int taken = 0;
    while (bucket.take(now)) ++taken;
    EXPECT_EQ(taken, 3);
    now = now + seconds(1);
  }
}

TEST(TokenBucket, OneIsTheLeast) {
  TokenBucket bucket{milliseconds(2), 1};
  EXPECT_TRUE(bucket.take(Instant{}));
  EXPECT_FALSE(bucket.take(Instant{} + milliseconds(1)));
  EXPECT_TRUE(bucket.take(Instant{} + milliseconds(2)));
}

TEST(TokenBucket, WithoutAnIntervalThereIsNoEnd) {
  TokenBucket bucket{Duration{}, 1};
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(bucket.take(Instant{}));
}

}  // namespace
}  // namespace corral

// The kernel's own 128-bit division by what defines it, on numbers of all widths.
#define __udivti3 corral_udivti3
#include "../../../lib/wide_division.cpp"
#undef __udivti3

#include <gtest/gtest.h>

#include <random>

TEST(WideDivision, LeavesARestBelowTheDivisor) {
  std::mt19937_64 random{5};
  auto number = [&] {
    Wide wide = static_cast<Wide>(random()) << 64 | random();
    return wide >> random() % 128;
  };
  for (int i = 0; i < 300'000; ++i) {
    Wide a = number();
    Wide b = number();
    if (b == 0) b = 1;
    Wide quotient = corral_udivti3(a, b);
    ASSERT_TRUE(quotient <= a && quotient * b <= a && a - quotient * b < b);
  }
  EXPECT_TRUE(corral_udivti3(~Wide{0}, 1) == ~Wide{0});
  EXPECT_TRUE(corral_udivti3(~Wide{0}, ~Wide{0}) == 1);
}

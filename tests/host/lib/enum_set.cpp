#include "lib/enum_set.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

enum class Value : u8 { first = 0, second = 1, last = 31 };
using Values = EnumSet<Value>;

TEST(EnumSet, HasWhatWasAdded) {
  Values set;
  EXPECT_TRUE(set.empty());
  EXPECT_FALSE(set.has(Value::first));
  set.add(Value::last);
  EXPECT_TRUE(set.has(Value::last));
  EXPECT_FALSE(set.has(Value::first) || set.has(Value::second) || set.empty());
}

TEST(EnumSet, AreEqualWithTheSameValues) {
  Values set;
  EXPECT_EQ(set, Values::of());
  set.add(Value::second);
  set.add(Value::first);
  set.add(Value::first);
  EXPECT_EQ(set, Values::of(Value::first, Value::second));
  EXPECT_NE(set, Values::of(Value::first));
}

}  // namespace
}  // namespace corral

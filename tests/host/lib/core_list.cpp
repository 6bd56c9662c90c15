// Lists of cores as people write them.
// sources: lib/format.cpp
#include "lib/core_list.h"

#include <gtest/gtest.h>

#include <string>

#include "lib/random.h"

namespace corral {
namespace {

std::string written(const CoreSet& set) {
  std::string text;
  write_core_list(set, [&](std::string_view format, const auto&... arguments) {
    char piece[64];
    text += format_to(piece, format, arguments...);
  });
  return text;
}

TEST(CoreList, ReadsNumbersAndRanges) {
  CoreSet set;
  ASSERT_TRUE(parse_core_list("0-2,5", set));
  EXPECT_EQ(set, CoreSet::first(3) | CoreSet::of(CoreId{5}));
  ASSERT_TRUE(parse_core_list("7", set));
  EXPECT_EQ(set, CoreSet::of(CoreId{7}));
  ASSERT_TRUE(parse_core_list(("0-" + std::to_string(max_cores - 1)).c_str(), set));
  EXPECT_EQ(set, CoreSet::all());
}

TEST(CoreList, RefusesWhatIsNone) {
  const CoreSet before = CoreSet::of(CoreId{1});
  CoreSet set = before;
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "a", "1-", "-1", "3-1", "1-2-3", "1 2", "0-4294967296", "999999"}) {
    EXPECT_FALSE(parse_core_list(text, set)) << text;
    EXPECT_EQ(set, before) << text;
  }
  EXPECT_FALSE(parse_core_list(std::to_string(max_cores).c_str(), set));
}

TEST(CoreList, ReadsWhatItWrites) {
  Random random{7};
  for (int round = 0; round < 300; ++round) {
    CoreSet set = CoreSet::of(CoreId{static_cast<u32>(random.below(max_cores))});
    for (u64 i = random.below(40); i > 0; --i) set.add(CoreId{static_cast<u32>(random.below(max_cores))});
    CoreSet again;
    ASSERT_TRUE(parse_core_list(written(set), again)) << written(set);
    ASSERT_EQ(again, set);
  }
  EXPECT_EQ(written(CoreSet::first(4) | CoreSet::of(CoreId{9})), "0-3,9");
}

}  // namespace
}  // namespace corral

// Formatting and number parsing, against the C library where it can do the same.
#include "lib/format.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <string>

#include "lib/random.h"

namespace corral {
namespace {

template <class... Arguments>
std::string format(std::string_view text, const Arguments&... arguments) {
  char buffer[256];
  return std::string{format_to(buffer, text, arguments...)};
}

enum class Colour : u8 { red = 3 };

TEST(Format, Kinds) {
  EXPECT_EQ(format("plain"), "plain");
  EXPECT_EQ(format("{} cores at {x}", 4, u64{0xfee00000}), "4 cores at 0xfee00000");
  EXPECT_EQ(format("{} {} {}", -5, true, 'c'), "-5 true c");
  EXPECT_EQ(format("{}", i64{INT64_MIN}), "-9223372036854775808");
  EXPECT_EQ(format("{}", ~u64{0}), "18446744073709551615");
  EXPECT_EQ(format("{x}", -1), "0xffffffffffffffff");
  EXPECT_EQ(format("{X16}", 0xabcu), "0000000000000abc");
  EXPECT_EQ(format("{X 16}|{X 2}", 0xabcu, 0x123u), "             abc|123");
  EXPECT_EQ(format("{X}", 0xabcu), "abc");
  EXPECT_EQ(format("{}/{}", CoreId{3}, milliseconds(2)), "3/2000000");
  EXPECT_EQ(format("{x}", PhysicalAddress{0x1000}), "0x1000");
  EXPECT_EQ(format("{}", Colour::red), "3");
  EXPECT_EQ(format("{}", std::string_view{"view"}), "view");
  const char* missing = nullptr;
  EXPECT_EQ(format("{}", missing), "(null)");
  EXPECT_EQ(format("{x}", reinterpret_cast<void*>(0x10)), "0x10");
}

TEST(Format, Columns) {
  EXPECT_EQ(format("[{5}]", 42), "[   42]");
  EXPECT_EQ(format("[{-5}]", 42), "[42   ]");
  EXPECT_EQ(format("[{05}]", -42), "[-0042]");
  EXPECT_EQ(format("[{6}]", "abc"), "[   abc]");
  EXPECT_EQ(format("[{-6}]", "abc"), "[abc   ]");
  EXPECT_EQ(format("[{06}]", "abc"), "[   abc]");
  EXPECT_EQ(format("[{2}]", 12345), "[12345]");
  EXPECT_EQ(format("[{x8}]", 255), "[    0xff]");
}

TEST(Format, Oddities) {
  EXPECT_EQ(format("{}"), "{missing}");
  EXPECT_EQ(format("{} {}", 1), "1 {missing}");
  EXPECT_EQ(format("no place", 1), "no place");
  EXPECT_EQ(format("{{}} {{{}}}", 7), "{} {7}");
  EXPECT_EQ(format("{what} {}", 1), "{what} 1");
  EXPECT_EQ(format("{"), "{");
  EXPECT_EQ(format("{999999999999}", 1), "{999999999999}");
  char small[4];
  EXPECT_EQ(format_to(small, "{}", 123456), "1234");
  EXPECT_EQ(format_to({small, 0}, "{}", 1), "");
}

TEST(Format, AgreesWithPrintf) {
  Random random{11};
  for (int i = 0; i < 20'000; ++i) {
    const u64 value = random.next() >> random.below(64);
    char expected[160];
    snprintf(expected, sizeof expected, "%" PRIu64 " %" PRId64 " 0x%" PRIx64 " %016" PRIx64 " %7" PRId64, value,
             static_cast<i64>(value), value, value, static_cast<i64>(value));
    ASSERT_EQ(format("{} {} {x} {X16} {7}", value, static_cast<i64>(value), value, value, static_cast<i64>(value)), expected);
  }
}

TEST(Format, NeverOverrunsWhateverTheFormat) {
  Random random{12};
  const std::string alphabet = "{}x0X-5a9";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (u64 n = random.below(20); n > 0; --n) text.push_back(alphabet[random.below(alphabet.size())]);
    char buffer[16];
    const size_t size = random.below(sizeof buffer);
    ASSERT_LE(format_to({buffer, size}, text, 1, "two", 'c').size(), size);
  }
}

TEST(ParseNumber, AcceptsWholeNumbersOnly) {
  u64 value = 0;
  EXPECT_TRUE(parse_number("123", value));
  EXPECT_EQ(value, 123u);
  EXPECT_TRUE(parse_number("0x1fF", value));
  EXPECT_EQ(value, 0x1ffu);
  EXPECT_TRUE(parse_number("18446744073709551615", value));
  EXPECT_EQ(value, ~u64{0});
  EXPECT_TRUE(parse_number("007", value));
  EXPECT_EQ(value, 7u);
  value = 99;
  for (const char* bad :
       {"", "0x", "-1", "+1", "12a", "1 ", " 1", "18446744073709551616", "0x10000000000000000", "x1", "0xg"}) {
    EXPECT_FALSE(parse_number(bad, value)) << bad;
  }
  EXPECT_EQ(value, 99u);
}

}  // namespace
}  // namespace corral

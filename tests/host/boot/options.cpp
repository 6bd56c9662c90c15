// The kernel's command line: what is taken, what is refused with which words, and init's arguments.
// sources: kernel/boot/options.cpp
#include "boot/options.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace corral::boot {
namespace {

struct Parsed {
  Options options;
  std::vector<std::string> warnings;
};

Parsed parse(std::string_view line) {
  Parsed parsed;
  parsed.options = parse_options(
      line, [](void* context, std::string_view text) { static_cast<std::vector<std::string>*>(context)->emplace_back(text); },
      &parsed.warnings);
  return parsed;
}

std::vector<std::string> split(std::string_view text, bool* complete = nullptr, size_t room = 256, size_t most = 16) {
  std::vector<char> storage(room);
  std::vector<const char*> words(most);
  SplitResult result = split_arguments(text, storage, words);
  if (complete != nullptr) *complete = result.complete;
  return {words.begin(), words.begin() + static_cast<long>(result.count)};
}

TEST(Options, EmptyLineGivesTheDefaults) {
  for (std::string_view line : {"", "   ", "\t \n"}) {
    Parsed parsed = parse(line);
    EXPECT_TRUE(parsed.warnings.empty());
    EXPECT_EQ(parsed.options.timer_hz, 250u);
    EXPECT_EQ(parsed.options.init, "/init");
    EXPECT_TRUE(parsed.options.arguments.empty());
  }
}

TEST(Options, TakesEveryKind) {
  Parsed parsed = parse("quiet timer.hz=1000 clock=hpet init=/bin/sh interleave.seed=0x1f \"test=a b\"");
  EXPECT_TRUE(parsed.warnings.empty());
  EXPECT_TRUE(parsed.options.quiet);
  EXPECT_EQ(parsed.options.timer_hz, 1000u);
  EXPECT_EQ(parsed.options.clock, "hpet");
  EXPECT_EQ(parsed.options.init, "/bin/sh");
  EXPECT_EQ(parsed.options.interleave_seed, 31u);
  EXPECT_EQ(parsed.options.test, "a b");
}

TEST(Options, TheLastOneCounts) {
  EXPECT_EQ(parse("timer.hz=100 timer.hz=200").options.timer_hz, 200u);
}

TEST(Options, UnknownNamesTheNearest) {
  Parsed parsed = parse("sched.algoritm=fifo");
  ASSERT_EQ(parsed.warnings.size(), 1u);
  EXPECT_NE(parsed.warnings[0].find("sched.algorithm"), std::string::npos);
  EXPECT_EQ(parsed.options.algorithm, Options{}.algorithm);
}

TEST(Options, BadValuesKeepTheDefault) {
  for (std::string_view word : {"timer.hz=9", "timer.hz=10001", "timer.hz=", "timer.hz", "timer.hz=1e3", "timer.hz=-5",
                                "timer.hz=99999999999999999999999"}) {
    Parsed parsed = parse(word);
    ASSERT_EQ(parsed.warnings.size(), 1u) << word;
    EXPECT_NE(parsed.warnings[0].find("10 to 10000"), std::string::npos) << parsed.warnings[0];
    EXPECT_EQ(parsed.options.timer_hz, 250u);
  }
  Parsed choice = parse("clock=tsx");
  ASSERT_EQ(choice.warnings.size(), 1u);
  EXPECT_NE(choice.warnings[0].find("auto|tsc|hpet|pm|pit"), std::string::npos);
  EXPECT_EQ(choice.options.clock, "auto");
  EXPECT_EQ(parse("quiet=yes").warnings.size(), 1u);
  EXPECT_EQ(parse("clock=a").warnings.size(), 1u);
  EXPECT_EQ(parse("clock=auto|tsc").warnings.size(), 1u);
  EXPECT_EQ(parse("init=").warnings.size(), 1u);
}

TEST(Options, RangesAreInclusive) {
  EXPECT_TRUE(parse("timer.hz=10 timer.hz=10000 cores.max=1 cores.max=256").warnings.empty());
}

TEST(Options, ArgumentsBegin) {
  EXPECT_EQ(parse("quiet -- prog  quiet=1 x").options.arguments, "prog  quiet=1 x");
  EXPECT_EQ(parse("-- prog").options.arguments, "prog");
  EXPECT_EQ(parse("quiet --").options.arguments, "");
  EXPECT_EQ(parse("\"--\" prog").options.arguments, "prog");  // a boot loader may quote every word
  EXPECT_EQ(parse("quiet --x").warnings.size(), 1u);
}

TEST(Options, ArgumentsSplitAndGroup) {
  EXPECT_EQ(split("a bc  d"), (std::vector<std::string>{"a", "bc", "d"}));
  EXPECT_EQ(split(R"(sh -c "echo \"a b\" \\ c" "")"), (std::vector<std::string>{"sh", "-c", R"(echo "a b" \ c)", ""}));
  EXPECT_EQ(split(R"(a"b c"d e\f)"), (std::vector<std::string>{"ab cd", R"(e\f)"}));
  EXPECT_EQ(split(R"(it\'s say\ \"x\" a\\b)"), (std::vector<std::string>{"it's", R"(say\)", R"("x")", R"(a\b)"}));
  EXPECT_EQ(split("  ").size(), 0u);
}

TEST(Options, ArgumentsThatDoNotFitAreSaid) {
  bool complete = true;
  EXPECT_EQ(split("a \"b", &complete), std::vector<std::string>{"a"});
  EXPECT_FALSE(complete);
  EXPECT_EQ(split("aa bb cc", &complete, 6), (std::vector<std::string>{"aa", "bb"}));
  EXPECT_FALSE(complete);
  EXPECT_EQ(split("a b c", &complete, 64, 2).size(), 2u);
  EXPECT_FALSE(complete);
  EXPECT_EQ(split("a b", &complete, 4, 2).size(), 2u);
  EXPECT_TRUE(complete);
}

TEST(Options, DocumentationHasARowForEach) {
  for (const OptionDescription& option : option_table()) {
    char line[512];
    std::string row{describe_option(option, line)};
    EXPECT_NE(row.find(option.name), std::string::npos);
    EXPECT_NE(row.find(option.description), std::string::npos);
    EXPECT_EQ(row.back(), '|');
  }
}

TEST(Options, AnyTextIsSurvived) {
  std::mt19937 random{1};
  const std::string alphabet = "abq\"\\ =-.|timer.hz=clock init\t19\n\xff";
  for (int round = 0; round < 20'000; ++round) {
    std::string line;
    for (size_t n = random() % 60; n > 0; --n) line += alphabet[random() % alphabet.size()];
    Parsed parsed = parse(line);
    EXPECT_GE(parsed.options.timer_hz, 10u);
    split(parsed.options.arguments, nullptr, random() % 40, random() % 5);
  }
}

}  // namespace
}  // namespace corral::boot

// The names of core files.
// sources: kernel/fs/core_pattern.cpp
#include "fs/core_pattern.h"

#include <gtest/gtest.h>

#include <string>

namespace corral::fs::core_pattern {
namespace {

constexpr Circumstances told{.process = 12,
                             .thread = 13,
                             .user = 4,
                             .group = 5,
                             .signal = 11,
                             .limit = 4096,
                             .seconds = 99,
                             .core = 2,
                             .host = "a.b",
                             .command = "x/y",
                             .program = "/bin/prog"};

std::string name(std::string_view pattern, bool numbered = false) {
  char room[64];
  const Result<std::string_view> made = expand(pattern, numbered, told, room);
  return made.ok() ? std::string{made.value()} : "too long";
}

TEST(CorePattern, TellsWhatIsAskedFor) {
  EXPECT_EQ(name("core"), "core");
  EXPECT_EQ(name("/var/core"), "/var/core");
  EXPECT_EQ(name("%p %P %i %I %u %g %d %s %c %t %C"), "12 12 13 13 4 5 1 11 4096 99 2");
  EXPECT_EQ(name("%h,%f,%%"), "a.b,prog,%");
}

TEST(CorePattern, WhatIsToldIsNoPath) {
  EXPECT_EQ(name("/d/%e.%E"), "/d/x!y.!bin!prog");
}

TEST(CorePattern, UnknownAndCutFieldsTellNothing) {
  EXPECT_EQ(name("a%zb%"), "ab");
}

TEST(CorePattern, IsNumberedUnlessItIsAlready) {
  EXPECT_EQ(name("core", true), "core.12");
  EXPECT_EQ(name("core%p", true), "core12");
  EXPECT_EQ(name("core%%p", true), "core%p.12");
}

TEST(CorePattern, FitsOrIsRefused) {
  EXPECT_EQ(name(std::string(64, 'a')), std::string(64, 'a'));
  EXPECT_EQ(name(std::string(65, 'a')), "too long");
}

TEST(CorePattern, IsKeptAndNeverAProgram) {
  EXPECT_STREQ(get().bytes, "core");
  EXPECT_TRUE(set("other\n").ok());
  EXPECT_STREQ(get().bytes, "other");
  EXPECT_FALSE(set("|/bin/reader").ok());
  EXPECT_TRUE(set(std::string(300, 'b')).ok());
  EXPECT_EQ(std::string{get().bytes}, std::string(longest, 'b'));
  EXPECT_STREQ(get().bytes + longest, "");
}

}  // namespace
}  // namespace corral::fs::core_pattern

// The account of messages that came without their interrupt: late ones are forgiven, missing ones are found.
#include "core/announcements.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(Announcements, MessagesWithoutAnyInterruptAreFound) {
  Announcements account;
  for (u32 i = 1; i < Announcements::most_owed; ++i) EXPECT_FALSE(account.lacking(0, 0, true));
  EXPECT_TRUE(account.lacking(0, 0, true));
  for (u32 i = 1; i < Announcements::most_owed; ++i) EXPECT_FALSE(account.lacking(0, 0, true));
  EXPECT_TRUE(account.lacking(0, 0, true));
}

TEST(Announcements, AnInterruptWithItsMessageOwesNothing) {
  Announcements account;
  for (u64 taken = 1; taken < 100; ++taken) EXPECT_FALSE(account.lacking(taken, taken - 1, true));
}

TEST(Announcements, AnInterruptAfterItsMessagePaysForIt) {
  Announcements account;
  for (u64 taken = 0; taken < 100; ++taken) EXPECT_FALSE(account.lacking(taken, taken, true));
}

TEST(Announcements, InterruptsPayForEarlierMessagesOnly) {
  Announcements account;
  for (u32 i = 1; i < Announcements::most_owed; ++i) EXPECT_FALSE(account.lacking(0, 0, true));
  EXPECT_FALSE(account.lacking(50, 49, false));
  for (u32 i = 1; i < Announcements::most_owed; ++i) EXPECT_FALSE(account.lacking(50, 50, true));
  EXPECT_TRUE(account.lacking(50, 50, true));
}

TEST(Announcements, SleepsThatNoMessageEndedCountForNothing) {
  Announcements account;
  for (u32 i = 0; i < 100; ++i) EXPECT_FALSE(account.lacking(0, 0, false));
}

}  // namespace
}  // namespace corral

// The account of messages that came without their interrupt: late ones are forgiven, missing ones are found.
#include "core/announcements.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

// As many messages without an interrupt as are no defect yet, after so many interrupts.
void owe_all_but_one(Announcements& account, u64 interrupts) {
  for (u32 i = 1; i < Announcements::most_owed; ++i) EXPECT_FALSE(account.lacking(interrupts, interrupts, true));
}

TEST(Announcements, MessagesWithoutAnyInterruptAreFound) {
  Announcements account;
  owe_all_but_one(account, 0);
  EXPECT_TRUE(account.lacking(0, 0, true));
  owe_all_but_one(account, 0);
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
  owe_all_but_one(account, 0);
  EXPECT_FALSE(account.lacking(50, 49, false));
  owe_all_but_one(account, 50);
  EXPECT_TRUE(account.lacking(50, 50, true));
}

TEST(Announcements, SleepsThatNoMessageEndedCountForNothing) {
  Announcements account;
  for (u32 i = 0; i < 100; ++i) EXPECT_FALSE(account.lacking(0, 0, false));
}

}  // namespace
}  // namespace corral

// The clock's page under a writer that never stops: a reader gets either what was there before or what came after.
#include "device/clock_page.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace corral {
namespace {

ClockFacts facts_of(u64 number) {
  ClockFacts facts;
  facts.by_counter = 1;
  facts.start_ticks = number;
  facts.start_ns = static_cast<i64>(number * 3);
  facts.scale = ClockScale{1'000'000 + number};
  facts.wall_time_at_boot = static_cast<i64>(number * 7);
  return facts;
}

TEST(ClockPage, IsReadAsItWasWritten) {
  ClockPage page;
  ClockFacts facts;
  ASSERT_TRUE(page.read(facts));
  EXPECT_EQ(facts.by_counter, 0u);
  page.write(facts_of(5));
  ASSERT_TRUE(page.read(facts));
  EXPECT_EQ(facts.start_ticks, 5u);
  EXPECT_EQ(facts.wall_time_at_boot, 35);
  EXPECT_EQ(facts.scale.to_ns(1'000'005), ClockScale{1'000'005}.to_ns(1'000'005));
}

TEST(ClockPage, NobodyReadsHalfAChange) {
  ClockPage page;
  page.write(facts_of(0));
  std::atomic<bool> stop{false};
  std::atomic<u64> read{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      u64 last = 0;
      while (!stop) {
        ClockFacts facts;
        if (!page.read(facts)) {
          std::this_thread::yield();
          continue;
        }
        ASSERT_GE(facts.start_ticks, last);
        last = facts.start_ticks;
        ASSERT_EQ(facts.start_ns, static_cast<i64>(last * 3));
        ASSERT_EQ(facts.wall_time_at_boot, static_cast<i64>(last * 7));
        ASSERT_EQ(facts.scale.to_ns(1'000'000'000), ClockScale{1'000'000 + last}.to_ns(1'000'000'000));
        ++read;
      }
    });
  }
  for (u64 number = 1; number < 20'000 || read < 1000; ++number) page.write(facts_of(number));
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace corral

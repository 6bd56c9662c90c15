// TimerQueue against a sorted list, with actions that add and cancel.
#include "core/timer_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "lib/random.h"

namespace corral {
namespace {

struct Event : TimerEvent {
  Event() : TimerEvent{[](TimerEvent& event) { static_cast<Event&>(event).run(); }} {}
  void run() {
    EXPECT_FALSE(pending());
    ran->push_back(number);
    if (then) then();
  }
  int number = 0;
  std::vector<int>* ran = nullptr;
  std::function<void()> then;
};

struct Events {
  explicit Events(size_t count) : list(count) {
    for (size_t i = 0; i < count; ++i) {
      list[i].number = static_cast<int>(i);
      list[i].ran = &ran;
    }
  }
  std::vector<int> ran;
  std::vector<Event> list;
};

TEST(TimerQueue, RunsWhatIsDueInOrder) {
  Random random{4};
  for (int round = 0; round < 50; ++round) {
    Events events{40};
    TimerQueue queue;
    std::vector<std::pair<i64, int>> model;
    i64 now = 0;
    for (int step = 0; step < 200; ++step) {
      const int number = static_cast<int>(random.below(40));
      Event& event = events.list[static_cast<size_t>(number)];
      std::erase_if(model, [&](auto& entry) { return entry.second == number; });
      if (random.below(3) != 0) {
        const i64 when = now + static_cast<i64>(random.below(100));
        queue.add(event, Instant{when});  // moves it when pending
        model.emplace_back(when, number);
      } else {
        queue.cancel(event);
      }
      if (random.one_in(5)) {
        now += static_cast<i64>(random.below(60));
        std::vector<int> due;
        for (;;) {  // the earliest; among equals the one that was added first
          auto earliest = std::min_element(model.begin(), model.end(), [](auto& a, auto& b) { return a.first < b.first; });
          if (earliest == model.end() || earliest->first > now) break;
          due.push_back(earliest->second);
          model.erase(earliest);
        }
        events.ran.clear();
        queue.run_until(Instant{now});
        ASSERT_EQ(events.ran, due);
      }
      i64 first = never.ns;
      for (auto& entry : model) first = std::min(first, entry.first);
      ASSERT_EQ(queue.first().ns, first);
    }
  }
}

TEST(TimerQueue, ActionsMayAddAndCancel) {
  Events events{3};
  TimerQueue queue;
  for (int i = 0; i < 3; ++i) queue.add(events.list[static_cast<size_t>(i)], Instant{i});
  int again = 3;
  events.list[0].then = [&] {
    queue.cancel(events.list[1]);
    if (--again > 0) queue.add(events.list[0], Instant{10 * (4 - again)});
  };
  queue.run_until(Instant{35});
  EXPECT_EQ(events.ran, (std::vector<int>{0, 2, 0, 0}));
  EXPECT_EQ(queue.first(), never);
}

TEST(TimerQueue, EventsThatGoByWallTimeAreDueWhenTheClockIsSet) {
  Events events{6};
  TimerQueue queue;
  for (int i = 0; i < 6; ++i) queue.add(events.list[static_cast<size_t>(i)], Instant{10 * i}, i % 2 == 0);
  queue.make_wall_events_due(Instant{25});
  EXPECT_EQ(queue.first(), Instant{10});
  queue.run_until(Instant{25});
  EXPECT_EQ(events.ran, (std::vector<int>{1, 0, 2, 4}));
  events.ran.clear();
  queue.make_wall_events_due(Instant{26});
  EXPECT_FALSE(queue.run_until(Instant{26}));
  EXPECT_EQ(events.ran, std::vector<int>{});
  EXPECT_TRUE(queue.run_until(Instant{50}));
  EXPECT_EQ(events.ran, (std::vector<int>{3, 5}));
}

}  // namespace
}  // namespace corral

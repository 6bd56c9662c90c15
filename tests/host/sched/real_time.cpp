// The real-time class in the engine: POSIX's order against a model of it, quanta, the budget, and where threads go.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
// optimised: random operations against a model
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "one_queue.h"
#include "sched/real_time/placement.h"

namespace corral::test {
namespace {

using Policy = SchedulingPolicy;
using Place = SchedulingEntity::Place;

class RealTime : public OneQueue {
 protected:
  void SetUp() override {
    real_time_limits().runtime_ns.store(950'000'000, Order::relaxed);
    real_time_limits().period_ns.store(1'000'000'000, Order::relaxed);
    use("fifo");
  }
  void set(SchedulingEntity& entity, Policy policy, u32 priority) { queue.change(entity, {0, policy, priority}, now); }
  // From the begin of a period on `loop`, of the highest priority, runs.
  void begin(SchedulingEntity& loop) {
    now = Instant{seconds(7).ns};
    set(loop, Policy::fifo, 99);
    wake(loop);
    EXPECT_EQ(settle(), &loop);
  }
};

// ---- the model: a list for each priority, as POSIX 2.8.4 says; 0 is a timeline that is first in, first out ------------

struct Model {
  std::array<std::deque<int>, real_time_highest + 1> lists;
  std::array<u32, 16> priority{};
  int running = -1;
  bool behind = false;  // the running one was raised

  void remove(int who) {
    for (auto& list : lists) std::erase(list, who);
  }
  void put(int who, bool first) {
    auto& list = lists[priority[static_cast<size_t>(who)]];
    first ? list.push_front(who) : list.push_back(who);
  }
  [[nodiscard]] int best() const {
    for (size_t p = real_time_highest + 1; p-- > 0;) {
      if (!lists[p].empty()) return lists[p].front();
    }
    return -1;
  }
  void settle() {
    const int first = best();
    if (first < 0) return;
    if (running >= 0) {
      if (priority[static_cast<size_t>(first)] <= priority[static_cast<size_t>(running)]) return;
      put(running, !behind);
    }
    remove(first);
    running = first;
    behind = false;
  }
  void change(int who, u32 to) {
    const u32 from = std::exchange(priority[static_cast<size_t>(who)], to);
    if (running == who) {
      if (from != to) behind = to > from;
      return;
    }
    if (from == to && to != 0) return;
    for (auto& list : lists) {
      if (std::erase(list, who) != 0) {
        put(who, to < from && to != 0);
        return;
      }
    }
  }
};

TEST_F(RealTime, EveryOrderIsThatOfTheModel) {
  real_time_limits().runtime_ns.store(-1, Order::relaxed);
  for (u64 seed = 1; seed <= 40; ++seed) {
    Random random{seed};
    std::deque<SchedulingEntity> entities(16);
    CoreStatistics numbers;
    RunQueue own{core_id, numbers, tick};
    OwnedAlgorithm timeline{"fifo", {core_id, tick}};
    own.install(*timeline, now);
    Model model;
    for (int step = 0; step < 3000; ++step) {
      now = now + microseconds(static_cast<i64>(random.below(500)));
      const int who = static_cast<int>(random.below(16));
      SchedulingEntity& entity = entities[static_cast<size_t>(who)];
      switch (random.below(8)) {
        case 0:
        case 1:
          if (entity.place == Place::nowhere) {
            own.enqueue(entity, random.below(2) == 0 ? EnqueueReason::woken : EnqueueReason::migrated, now);
            model.put(who, false);
          }
          break;
        case 2:
          if (entity.place == Place::queued) {
            ASSERT_TRUE(own.remove(entity, now));
            model.remove(who);
          }
          break;
        case 3:
        case 4: {
          const u32 priority = random.below(3) == 0 ? 0 : static_cast<u32>(random.below(4)) * 31 + 6;
          own.change(entity, {0, priority != 0 ? Policy::fifo : Policy::other, priority}, now);
          model.change(who, priority);
          break;
        }
        case 5:
          if (model.running >= 0) {
            own.leave(*own.running(), LeaveReason::blocked, now);
            entities[static_cast<size_t>(model.running)].behind_equals = false;
            model.running = -1;
          }
          break;
        case 6:
          if (model.running >= 0) {
            own.leave(*own.running(), LeaveReason::yielded, now);
            model.put(model.running, false);
            model.running = -1;
          }
          break;
        default: break;
      }
      if (own.running() != nullptr && own.review(now) <= now) own.leave(*own.running(), LeaveReason::preempted, now);
      if (own.running() == nullptr) (void)own.pick(now);
      model.settle();
      const SchedulingEntity* expected = model.running < 0 ? nullptr : &entities[static_cast<size_t>(model.running)];
      ASSERT_EQ(own.running(), expected) << "seed " << seed << " step " << step;
      u32 level = expected == nullptr ? 0 : expected->real_time;
      if (const int best = model.best(); best >= 0) level = std::max(level, model.priority[static_cast<size_t>(best)]);
      ASSERT_EQ(numbers.urgency(), level);
    }
    EXPECT_EQ(own.violations().total(), 0U);
  }
}

TEST_F(RealTime, StandsAboveEveryTimeline) {
  for (const char* name : {"fifo", "rr", "cfs"}) {
    use(name);
    SchedulingEntity common;
    SchedulingEntity urgent;
    set(urgent, Policy::fifo, 1);
    wake(common);
    EXPECT_EQ(settle(), &common);
    wake(urgent);
    EXPECT_EQ(until, now);
    EXPECT_EQ(settle(), &urgent);
    use(name);  // a change of the timeline leaves the class alone
    EXPECT_EQ(queue.running(), &urgent);
    EXPECT_EQ(queue.waiting(), 1U);
    queue.leave(urgent, LeaveReason::blocked, now);
    EXPECT_EQ(settle(), &common);
    queue.leave(common, LeaveReason::ended, now);
  }
  EXPECT_EQ(queue.violations().total(), 0U);
}

TEST_F(RealTime, WaitingOnesSurviveAChangeOfTheTimeline) {
  SchedulingEntity entities[3];
  set(entities[0], Policy::fifo, 9);
  set(entities[1], Policy::fifo, 8);
  for (SchedulingEntity& entity : entities) wake(entity);
  EXPECT_EQ(settle(), &entities[0]);
  use("cfs");
  for (SchedulingEntity& entity : entities) {
    EXPECT_EQ(settle(), &entity);
    queue.leave(entity, LeaveReason::ended, now);
  }
  EXPECT_EQ(queue.violations().total(), 0U);
}

TEST_F(RealTime, QuantaAreForEqualsOnly) {
  SchedulingEntity a;
  SchedulingEntity b;
  SchedulingEntity lower;
  set(a, Policy::round_robin, 5);
  set(b, Policy::round_robin, 5);
  set(lower, Policy::round_robin, 4);
  wake(a);
  wake(lower);
  EXPECT_EQ(settle(), &a);
  EXPECT_EQ(until, never);  // nobody of its priority waits
  pass(milliseconds(30));
  wake(b);
  EXPECT_EQ(until, now + milliseconds(70));
  pass(milliseconds(70));
  EXPECT_EQ(settle(), &b);
  EXPECT_EQ(until, now + real_time_quantum);
  pass(milliseconds(40));

  SchedulingEntity higher;  // within its quantum: it goes on first, with the rest
  set(higher, Policy::fifo, 50);
  wake(higher);
  EXPECT_EQ(settle(), &higher);
  pass(milliseconds(500));
  queue.leave(higher, LeaveReason::blocked, now);
  EXPECT_EQ(settle(), &b);
  EXPECT_EQ(until, now + milliseconds(60));
  set(b, Policy::fifo, 5);  // no quanta any more
  EXPECT_EQ(queue.review(now), never);
}

TEST_F(RealTime, OthersGetTheirPartOfEachPeriod) {
  SchedulingEntity loop;
  SchedulingEntity common;
  begin(loop);
  EXPECT_EQ(until, never);  // alone it may have everything
  pass(milliseconds(3500));
  wake(common);  // half a second of this period is used
  EXPECT_EQ(until, now + milliseconds(450));
  i64 common_ran = 0;
  for (int i = 0; i < 20; ++i) {
    settle();
    ASSERT_NE(until, never);
    const bool is_common = queue.running() == &common;
    if (is_common) common_ran += (until - now).ns;
    pass(until - now);
  }
  EXPECT_EQ(common_ran, milliseconds(50).ns * 10);
  real_time_limits().runtime_ns.store(-1, Order::relaxed);
  settle();
  EXPECT_EQ(queue.running(), &loop);
  EXPECT_EQ(until, never);
}

// A loop that is interrupted again and again, where each new turn of it takes as long to begin as it lasts.
TEST_F(RealTime, WhatItTakesToBeginItsTurnsIsUsedUpToo) {
  SchedulingEntity loop;
  SchedulingEntity common;
  begin(loop);
  wake(common);
  Duration common_ran{};
  while (now < Instant{seconds(9).ns}) {
    SchedulingEntity* const running = queue.running();
    now = now + milliseconds(1);
    if (running == &common) common_ran = common_ran + milliseconds(1);
    queue.leave(*running, LeaveReason::preempted, now);
    now = now + milliseconds(1);
    ASSERT_NE(queue.pick(now).entity, nullptr);
  }
  EXPECT_GE(common_ran.ns, milliseconds(40).ns);  // half of what is left in two periods
}

TEST_F(RealTime, WhoRunsWhereHeWokeIsNoNews) {
  SchedulingEntity first, second, common;
  set(first, Policy::fifo, 10);
  set(second, Policy::fifo, 9);
  wake(common);
  settle();
  wake(first);
  EXPECT_TRUE(queue.real_time_changed()) << "it waits";
  settle();
  EXPECT_EQ(queue.running(), &first);
  EXPECT_FALSE(queue.real_time_changed());
  wake(second);
  settle();
  EXPECT_TRUE(queue.real_time_changed()) << "the lower one goes on waiting";
  queue.real_time_looked_at();
  sleep();
  settle();
  EXPECT_EQ(queue.running(), &second);
  EXPECT_TRUE(queue.real_time_changed()) << "others heard that somebody waits, and this core stands lower";
}

TEST_F(RealTime, ACoreThatStandsLowerSaysSoOnce) {
  SchedulingEntity first, second, common;
  set(first, Policy::fifo, 10);
  set(second, Policy::fifo, 10);
  wake(common);
  wake(first);
  settle();
  EXPECT_FALSE(queue.real_time_fell()) << "it rose";
  wake(second);
  sleep();
  settle();
  EXPECT_EQ(queue.running(), &second);
  EXPECT_FALSE(queue.real_time_fell()) << "an equal follows";
  queue.leave(second, LeaveReason::yielded, now);
  settle();
  EXPECT_FALSE(queue.real_time_fell());
  sleep();
  settle();
  EXPECT_TRUE(queue.real_time_fell()) << "the timeline's turn";
  EXPECT_FALSE(queue.real_time_fell());
  wake(first);
  settle();
  sleep();
  settle();
  EXPECT_TRUE(queue.real_time_fell()) << "it was higher in between";
}

// ---- where they go ---------------------------------------------------------------------------------------------------

struct Cores {
  CoreStatistics numbers[4];
  [[nodiscard]] std::span<const CoreStatistics> view() const { return numbers; }
};

TEST(RealTimePlacement, StaysWhereNoneOfItsClassRuns) {
  Cores cores;
  SchedulingEntity entity;
  entity.real_time = 10;
  entity.last_ran = Instant{5};
  entity.last_core = CoreId{2};
  cores.numbers[2].publish(3, 0, 0);
  EXPECT_EQ(real_time_core(entity, CoreSet::first(4), CoreId{0}, cores.view()), CoreId{2});
  cores.numbers[2].publish_urgency(9);
  EXPECT_NE(real_time_core(entity, CoreSet::first(4), CoreId{0}, cores.view()), CoreId{2});
}

TEST(RealTimePlacement, GoesToTheLowestWithinItsMask) {
  Cores cores;
  const u32 levels[] = {50, 20, 10, 30};
  for (u32 i = 0; i < 4; ++i) cores.numbers[i].publish_urgency(levels[i]);
  SchedulingEntity entity;
  entity.last_ran = Instant{5};
  entity.last_core = CoreId{0};
  entity.real_time = 40;
  EXPECT_EQ(real_time_core(entity, CoreSet::first(4), CoreId{0}, cores.view()), CoreId{2});
  CoreSet mask = CoreSet::of(CoreId{0}) | CoreSet::of(CoreId{3});
  EXPECT_EQ(real_time_core(entity, mask, CoreId{0}, cores.view()), CoreId{3});
  entity.real_time = 30;  // an equal does not give way
  EXPECT_EQ(real_time_core(entity, mask, CoreId{0}, cores.view()), CoreId{0});
  EXPECT_EQ(lowest_below(entity, mask, CoreId{0}, cores.view()), CoreId{max_cores});
  EXPECT_EQ(real_time_core(entity, CoreSet::of(CoreId{3}), CoreId{0}, cores.view()), CoreId{3});
}

TEST(RealTimePlacement, PrefersAnIdleCore) {
  Cores cores;
  cores.numbers[0].publish_urgency(50);
  cores.numbers[1].publish(1, 0, 0);
  cores.numbers[3].publish(2, 0, 0);
  SchedulingEntity entity;
  entity.real_time = 40;
  EXPECT_EQ(real_time_core(entity, CoreSet::first(4), CoreId{0}, cores.view()), CoreId{2});
}

}  // namespace
}  // namespace corral::test

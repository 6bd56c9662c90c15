// Reservations in the engine: nobody misses a deadline while all keep to their share, nobody gets more than its share,
// and who has none left rests.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "one_queue.h"
#include "sched/real_time/placement.h"

namespace corral::test {
namespace {

using Policy = SchedulingPolicy;
using Place = SchedulingEntity::Place;

constexpr Reservation every(Duration period, Duration runtime) {
  return {runtime, period, period};
}

class Deadline : public OneQueue {
 protected:
  void SetUp() override {
    real_time_limits().runtime_ns.store(-1, Order::relaxed);
    use("cfs");
  }
  void TearDown() override {
    real_time_limits().runtime_ns.store(950'000'000, Order::relaxed);
    EXPECT_EQ(queue.violations().total(), 0U);
  }
  void reserve(SchedulingEntity& entity, const Reservation& reservation) {
    queue.change(entity, {0, Policy::deadline, deadline_priority, reservation}, now);
  }
  // Lets time pass as the scheduler does: it looks again when a slice ends and when somebody's period does.
  void pass_until(Instant end) {
    while (now < end) {
      settle();
      const Instant next = std::min({end, until, queue.next_renewal()});
      now = next;
      queue.charge(now);
      if (queue.next_renewal() <= now) queue.renew_resting(now);
    }
    settle();
  }
};

TEST_F(Deadline, WhoIsDueFirstRunsFirst) {
  SchedulingEntity late;
  SchedulingEntity soon;
  SchedulingEntity real_time;
  SchedulingEntity common;
  reserve(late, every(milliseconds(100), milliseconds(10)));
  reserve(soon, every(milliseconds(50), milliseconds(10)));
  queue.change(real_time, {0, Policy::fifo, 99}, now);
  for (SchedulingEntity* entity : {&common, &real_time, &late}) wake(*entity);
  EXPECT_EQ(settle(), &late);
  wake(soon);
  EXPECT_EQ(until, now);
  EXPECT_EQ(settle(), &soon);
  EXPECT_EQ(until, now + milliseconds(10));
  EXPECT_EQ(statistics.urgency(), soon.urgency());
  sleep();
  EXPECT_EQ(settle(), &late);
  sleep();
  EXPECT_EQ(settle(), &real_time);
  sleep();
  EXPECT_EQ(settle(), &common);
}

TEST_F(Deadline, ALoopGetsItsShareAndNoMore) {
  SchedulingEntity loop;
  SchedulingEntity common;
  reserve(loop, every(milliseconds(100), milliseconds(30)));
  wake(loop);
  wake(common);
  const Instant begin = now;
  for (int period = 1; period <= 50; ++period) {
    pass_until(begin + milliseconds(100 * period));
    EXPECT_EQ(loop.run_time, milliseconds(30 * period));
    EXPECT_EQ(common.run_time, milliseconds(70 * period));
  }
}

TEST_F(Deadline, RestsAlsoWhereNobodyElseRuns) {
  SchedulingEntity loop;
  reserve(loop, every(milliseconds(100), milliseconds(30)));
  wake(loop);
  pass_until(now + milliseconds(30));
  EXPECT_EQ(queue.running(), nullptr);
  EXPECT_EQ(loop.place, Place::resting);
  EXPECT_EQ(statistics.runnable(), 0U);
  EXPECT_EQ(statistics.urgency(), 0U);
  EXPECT_EQ(queue.next_renewal(), now + milliseconds(70));
  pass_until(now + milliseconds(70));
  EXPECT_EQ(queue.running(), &loop);
}

TEST_F(Deadline, YieldingMeansTheNextPeriod) {
  SchedulingEntity entity;
  reserve(entity, every(milliseconds(100), milliseconds(30)));
  wake(entity);
  const Instant begin = now;
  for (int period = 1; period <= 5; ++period) {
    settle();
    ASSERT_EQ(queue.running(), &entity);
    now = now + milliseconds(7);
    queue.leave(entity, LeaveReason::yielded, now);
    EXPECT_EQ(settle(), nullptr);
    pass_until(begin + milliseconds(100 * period));
    EXPECT_EQ(entity.run_time, milliseconds(7 * period));
  }
}

TEST_F(Deadline, WhoSleepsKeepsItsAccountWhereThatIsFair) {
  SchedulingEntity entity;
  reserve(entity, every(milliseconds(100), milliseconds(30)));
  wake(entity);
  const Instant due = entity.server.due();
  pass_until(now + milliseconds(10));
  sleep();
  now = now + milliseconds(20);
  wake(entity);  // 20 ms of runtime in 70 ms: less than 30 in 100
  EXPECT_EQ(entity.server.due(), due);
  EXPECT_EQ(entity.server.left(), milliseconds(20));
  settle();
  sleep();
  now = now + milliseconds(5);
  wake(entity);  // 20 in 65: more
  EXPECT_EQ(entity.server.due(), now + milliseconds(100));
  EXPECT_EQ(entity.server.left(), milliseconds(30));
}

TEST_F(Deadline, AShorterDeadlineGivesNoMoreThanTheShare) {
  SchedulingEntity entity;
  reserve(entity, {milliseconds(10), milliseconds(20), milliseconds(100)});
  wake(entity);
  const Instant begin = now;
  // It sleeps a little again and again, which is how to get a new account.
  while (now < begin + seconds(5)) {
    settle();
    if (queue.running() == &entity) {
      now = now + milliseconds(1);
      sleep();
      now = now + microseconds(1500);
      wake(entity);
    } else {
      now = std::min(queue.next_renewal(), begin + seconds(5));
      queue.renew_resting(now);
    }
    const i64 periods = (now - begin).ns / milliseconds(100).ns + 1;
    ASSERT_LE(entity.run_time.ns, (milliseconds(10 * periods)).ns + milliseconds(1).ns);
  }
}

TEST_F(Deadline, WhoRestsMayBecomeAnotherClass) {
  SchedulingEntity entity;
  reserve(entity, every(milliseconds(100), milliseconds(10)));
  wake(entity);
  pass_until(now + milliseconds(10));
  ASSERT_EQ(entity.place, Place::resting);
  queue.set_nice(entity, 5, now);
  EXPECT_EQ(entity.place, Place::resting);
  queue.change(entity, {0, Policy::other, 0}, now);
  EXPECT_EQ(settle(), &entity);
  EXPECT_EQ(queue.next_renewal(), never);
  reserve(entity, every(milliseconds(50), milliseconds(10)));  // while it runs
  pass_until(now + milliseconds(10));
  EXPECT_EQ(entity.place, Place::resting);
  queue.change(entity, {0, Policy::fifo, 3}, now);
  EXPECT_EQ(settle(), &entity);
}

TEST_F(Deadline, WhatRanTooLongIsMissingLater) {
  SchedulingEntity entity;
  reserve(entity, every(milliseconds(100), milliseconds(10)));
  wake(entity);
  const Instant begin = now;
  settle();
  now = now + milliseconds(35);  // a step that nothing cut off
  queue.charge(now);
  pass_until(begin + milliseconds(1000));
  EXPECT_EQ(entity.run_time, milliseconds(100));
}

// ---- many, at random ---------------------------------------------------------------------------------------------------

struct Task {
  SchedulingEntity entity;
  Reservation reservation;
  Instant released{};  // the job that it works on; the next one comes a period later, or more
  Instant next{};
  Duration done_before{};
  Duration work{};
};

// Sporadic tasks that together ask for less than the core, each job for at most its runtime: no job is late.
TEST_F(Deadline, NobodyIsLateWhileAllKeepToTheirShare) {
  for (u64 seed = 1; seed <= 60; ++seed) {
    Random random{seed};
    CoreStatistics numbers;
    RunQueue own{core_id, numbers, tick};
    OwnedAlgorithm cfs{"cfs", {core_id, tick}};
    own.install(*cfs, now);
    std::deque<Task> tasks(2 + random.below(7));
    u64 shares = 0;
    for (Task& task : tasks) {
      const auto period = milliseconds(static_cast<i64>(1 + random.below(60)));
      const u64 left = (Reservation::whole_core * 95 / 100 - shares) / 2;
      const auto runtime = Duration{static_cast<i64>(static_cast<u64>(period.ns) * left / Reservation::whole_core) - 1000};
      task.reservation = every(period, runtime);
      shares += task.reservation.share();
      own.change(task.entity, {0, Policy::deadline, deadline_priority, task.reservation}, now);
      task.next = now + microseconds(static_cast<i64>(random.below(20'000)));
    }
    SchedulingEntity common;
    own.enqueue(common, EnqueueReason::created, now);
    Instant until = now;
    for (int event = 0; event < 4000; ++event) {
      for (Task& task : tasks) {
        const bool done = task.work == Duration{} || task.entity.run_time - task.done_before >= task.work;
        if (!done) {
          ASSERT_LE(now, task.released + task.reservation.deadline) << "seed " << seed << " event " << event;
        } else if (own.running() == &task.entity) {
          own.leave(task.entity, LeaveReason::blocked, now);
        }
        if (done && task.entity.place == Place::nowhere && task.next <= now) {
          task.released = task.next;
          task.next =
              task.next + task.reservation.period + microseconds(static_cast<i64>(random.below(3) * random.below(30'000)));
          task.done_before = task.entity.run_time;
          task.work = Duration{1 + static_cast<i64>(random.below(static_cast<u64>(task.reservation.runtime.ns)))};
          own.enqueue(task.entity, EnqueueReason::woken, now);
        }
      }
      if (own.next_renewal() <= now) own.renew_resting(now);
      if (own.running() != nullptr && (until = own.review(now)) <= now) own.leave(*own.running(), LeaveReason::preempted, now);
      if (own.running() == nullptr) until = own.pick(now).until;
      Instant next = std::min(until, own.next_renewal());
      for (const Task& task : tasks) {
        if (task.next > now) next = std::min(next, task.next);
        if (own.running() == &task.entity) next = std::min(next, now + (task.work - (task.entity.run_time - task.done_before)));
      }
      ASSERT_GT(next, now);
      now = next;
      own.charge(now);
    }
    EXPECT_EQ(own.violations().total(), 0U);
    EXPECT_GT(common.run_time, Duration{});
  }
}

// Tasks that want as much as they can get, by loops, sleeps and yields: none gets more than its share of any long time.
TEST_F(Deadline, NobodyGetsMoreThanItsShare) {
  for (u64 seed = 1; seed <= 60; ++seed) {
    Random random{seed};
    CoreStatistics numbers;
    RunQueue own{core_id, numbers, tick};
    OwnedAlgorithm cfs{"cfs", {core_id, tick}};
    own.install(*cfs, now);
    std::deque<Task> tasks(1 + random.below(5));
    const Instant begin = now;
    for (Task& task : tasks) {
      const auto period = milliseconds(static_cast<i64>(5 + random.below(60)));
      const auto deadline = Duration{period.ns * static_cast<i64>(20 + random.below(81)) / 100};
      task.reservation = {Duration{deadline.ns * static_cast<i64>(1 + random.below(40)) / 100}, deadline, period};
      own.change(task.entity, {0, Policy::deadline, deadline_priority, task.reservation}, now);
      own.enqueue(task.entity, EnqueueReason::woken, now);
    }
    for (int event = 0; event < 4000; ++event) {
      if (own.next_renewal() <= now) own.renew_resting(now);
      for (Task& task : tasks) {
        if (task.entity.place == Place::nowhere && random.below(3) == 0) own.enqueue(task.entity, EnqueueReason::woken, now);
      }
      if (own.running() != nullptr && own.review(now) <= now) own.leave(*own.running(), LeaveReason::preempted, now);
      if (own.running() == nullptr) (void)own.pick(now);
      if (own.running() != nullptr) {
        const u64 what = random.below(8);
        if (what == 0) own.leave(*own.running(), LeaveReason::blocked, now);
        if (what == 1) own.leave(*own.running(), LeaveReason::yielded, now);
      }
      // Nobody is cut off in time to the nanosecond; what is too much is to be missing later.
      now = now + microseconds(static_cast<i64>(10 + random.below(2'000)));
      own.charge(now);
      for (const Task& task : tasks) {
        const i64 periods = (now - begin).ns / task.reservation.period.ns + 2;
        ASSERT_LE(task.entity.run_time.ns, task.reservation.runtime.ns * periods + microseconds(2'010).ns)
            << "seed " << seed << " runtime " << task.reservation.runtime.ns << " deadline " << task.reservation.deadline.ns
            << " period " << task.reservation.period.ns << " after " << (now - begin).ns << " event " << event;
      }
    }
    EXPECT_EQ(own.violations().total(), 0U);
  }
}

TEST(DeadlinePlacement, GoesWhereWhoIsThereIsDueLater) {
  CoreStatistics cores[3];
  SchedulingEntity other;
  other.real_time = deadline_priority;
  for (u32 i = 0; i < 3; ++i) {
    other.server.begin(every(milliseconds(10 * (i + 1)), milliseconds(1)), Instant{5});
    cores[i].publish_urgency(other.urgency());
  }
  SchedulingEntity entity;
  entity.real_time = deadline_priority;
  entity.server.begin(every(milliseconds(25), milliseconds(1)), Instant{5});
  EXPECT_EQ(lowest_below(entity, CoreSet::first(3), CoreId{0}, cores), CoreId{2});
  cores[1].publish_urgency(99);
  EXPECT_EQ(lowest_below(entity, CoreSet::first(3), CoreId{0}, cores), CoreId{1});
}

}  // namespace
}  // namespace corral::test

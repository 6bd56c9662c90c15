// Multilevel feedback: the examples of Operating Systems: Three Easy Pieces, chapter 8, and its rules.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
// optimised: thousands of threads, all looked at in each step
#include <gtest/gtest.h>

#include "one_queue.h"

namespace corral::test {
namespace {

constexpr const char* any_placement = "least-loaded";

class MlfqByHand : public OneQueue {
 protected:
  // What is left of the running one's quantum.
  Duration left() {
    settle();
    return until - now;
  }
  SchedulingEntity a, b, c;
};

// Example 1: a job that computes for long goes down a level with each quantum, which doubles.
TEST_F(MlfqByHand, ALongJobSinksLevelByLevel) {
  use("mlfq:boost=0");
  queue.enqueue(a, EnqueueReason::created, now);
  queue.enqueue(b, EnqueueReason::created, now);
  for (i64 quantum : {4, 8, 16, 32, 32, 32}) {  // four levels
    for (SchedulingEntity* job : {&a, &b}) {
      ASSERT_EQ(settle(), job);
      ASSERT_EQ(left(), milliseconds(quantum));
      pass(milliseconds(quantum));
    }
  }
}

// Example 2: along came a short job.
TEST_F(MlfqByHand, AShortJobRunsAtOnceAndTheLongOneGoesOnWhereItWas) {
  use("mlfq:boost=0");
  queue.enqueue(a, EnqueueReason::created, now);
  ASSERT_EQ(settle(), &a);
  pass(milliseconds(4 + 8 + 16 + 10));  // 10 ms of its quantum at the bottom
  queue.enqueue(b, EnqueueReason::created, now);
  queue.enqueue(c, EnqueueReason::created, now);
  ASSERT_EQ(settle(), &b);
  pass(milliseconds(3));
  queue.leave(b, LeaveReason::ended, now);
  ASSERT_EQ(settle(), &c);
  queue.leave(c, LeaveReason::ended, now);
  ASSERT_EQ(settle(), &a);
  pass(milliseconds(1));
  wake(b);
  pass(milliseconds(1));
  ASSERT_EQ(settle(), &b) << "a woken one of a higher level takes the core";
}

// Example 3 and rule 4: who sleeps just before its quantum ends sinks all the same.
TEST_F(MlfqByHand, GamingDoesNotHelp) {
  use("mlfq:boost=0");
  queue.enqueue(a, EnqueueReason::created, now);
  queue.enqueue(b, EnqueueReason::created, now);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(settle(), &a);
    pass(milliseconds(3));
    if (i == 0) {
      sleep();
      ASSERT_EQ(settle(), &b);
      wake(a);
      pass(milliseconds(4));  // B goes down
    }
  }
  ASSERT_NE(settle(), &b) << "A has 8 ms there, and 2 ms are used";
  EXPECT_EQ(queue.running(), &a);
}

TEST_F(MlfqByHand, ABoostTakesEveryoneToTheTop) {
  use("mlfq:boost=100000");  // at multiples of 100 ms
  queue.enqueue(a, EnqueueReason::created, now);
  ASSERT_EQ(settle(), &a);
  pass(milliseconds(90));
  queue.enqueue(b, EnqueueReason::created, now);
  ASSERT_EQ(settle(), &b);
  pass(milliseconds(4));
  EXPECT_EQ(left(), milliseconds(8)) << "B alone at the second level, A far below";
  pass(milliseconds(6));  // with the boost B begins a quantum at the top
  EXPECT_EQ(left(), milliseconds(4));
  pass(milliseconds(4));
  EXPECT_EQ(settle(), &a) << "at the top as well, and B has had its quantum there";
  EXPECT_EQ(left(), milliseconds(4));
}

TEST(Mlfq, WithoutBoostsBusySleepersStarveALongJobAndWithBoostsNot) {
  for (const bool boosted : {false, true}) {
    Machine machine{1, boosted ? "mlfq" : "mlfq:boost=0", any_placement};
    Machine::Thread& hog = machine.spawn_hog(0);
    machine.run_for(milliseconds(500));
    const i64 before = hog.entity.run_time.ns;
    // Newcomers without end, each at the top: more than the core can do.
    for (int i = 0; i < 5000; ++i) {
      machine.spawn_job(0, milliseconds(2));
      machine.run_for(milliseconds(2));
    }
    if (boosted) {
      EXPECT_GE(hog.entity.run_time.ns - before, milliseconds(9 * 4).ns) << "a quantum after each boost";
    } else {
      EXPECT_EQ(hog.entity.run_time.ns, before);
    }
  }
}

TEST(Mlfq, AnInteractiveThreadRunsAtOnceBesideHogs) {
  Machine machine{1, "mlfq", any_placement};
  for (int i = 0; i < 8; ++i) machine.spawn_hog(0);
  machine.run_for(milliseconds(900));
  Machine::Thread& editor =
      machine.spawn(0, 0, [](Machine::Thread&) { return Machine::Behaviour{microseconds(20), milliseconds(50)}; });
  machine.run_for(seconds(20));
  EXPECT_LE(editor.worst_delay, milliseconds(9 * 4)) << "after a boost it waits for a quantum of everyone";
  EXPECT_EQ(machine.violations(), 0u);
}

TEST(Mlfq, EqualJobsGetTheSame) {
  Machine machine{1, "mlfq:levels=8", any_placement};
  std::vector<Machine::Thread*> hogs;
  for (i32 i = 0; i < 5; ++i) hogs.push_back(&machine.spawn_hog(0, i));
  machine.run_for(seconds(100));
  for (Machine::Thread* hog : hogs) EXPECT_NEAR(double(hog->entity.run_time.ns), 20e9, 0.6e9);
}

}  // namespace
}  // namespace corral::test

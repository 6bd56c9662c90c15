// The algorithms that promise time in proportion to weight, held to their bounds; EEVDF and stride step by step as their
// papers have them.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
// optimised: long simulations
#include <gtest/gtest.h>

#include "one_queue.h"

namespace corral::test {
namespace {

constexpr const char* any_placement = "least-loaded";

// ---- shares ---------------------------------------------------------------------------------------------------------

struct Mix {
  const char* algorithm;
  std::vector<i32> nice;
};
void PrintTo(const Mix& mix, std::ostream* to) {
  *to << mix.algorithm;
  for (const i32 nice : mix.nice) *to << ' ' << nice;
}

class Shares : public testing::TestWithParam<Mix> {};

// Nobody is ever further from its share than by two turns for each competitor; measured all the time for ten seconds.
TEST_P(Shares, EveryoneIsAlwaysNearItsShare) {
  Machine machine{1, GetParam().algorithm, any_placement};
  std::vector<Machine::Thread*> hogs;
  double total = 0;
  for (i32 nice : GetParam().nice) {
    hogs.push_back(&machine.spawn_hog(0, nice));
    total += weight_of(nice);
  }
  const double bound = 2 * double(Machine::tick.ns) * double(hogs.size());
  for (i64 passed = 0; passed < seconds(10).ns; passed += milliseconds(1).ns) {
    machine.run_for(milliseconds(1));
    const auto elapsed = double((machine.now - Instant{1}).ns);
    for (Machine::Thread* hog : hogs) {
      const double expected = elapsed * weight_of(hog->entity.nice) / total;
      ASSERT_NEAR(double(hog->entity.run_time.ns), expected, bound) << "nice " << hog->entity.nice << " at " << elapsed;
    }
  }
  EXPECT_EQ(machine.violations(), 0u);
}

std::vector<Mix> mixes() {
  std::vector<Mix> all;
  for (const char* algorithm : {"eevdf", "stride", "eevdf:slice=25", "eevdf:parity=0", "stride:quantum=50"}) {
    for (const std::vector<i32>& nice : {std::vector<i32>{0, 0},
                                         {0, 5},
                                         {-5, 0, 5},
                                         {0, 0, 0, 0, 0, 0, 0, 0},
                                         {-20, 0},
                                         {19, 19, 0, 0},
                                         {-3, -2, -1, 0, 1, 2, 3},
                                         {-20, 19}}) {
      all.push_back({algorithm, nice});
    }
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Mixes, Shares, testing::ValuesIn(mixes()));

// Threads that sleep and wake beside hogs: those that always want the core get the same among each other, and at least
// their share of what there is.
class Sleepers : public testing::TestWithParam<const char*> {};

TEST_P(Sleepers, NeitherGainNorCostTheOthersTheirShare) {
  for (u64 seed = 1; seed <= 5; ++seed) {
    Machine machine{1, GetParam(), any_placement};
    Random random{seed};
    Machine::Thread& first = machine.spawn_hog(0);
    Machine::Thread& second = machine.spawn_hog(0);
    std::vector<Machine::Thread*> sleepers;
    for (int i = 0; i < 4; ++i) {
      sleepers.push_back(&machine.spawn(0, 0, [&](Machine::Thread&) {
        return Machine::Behaviour{microseconds(1 + i64(random.below(9000))), microseconds(1 + i64(random.below(3000)))};
      }));
    }
    machine.run_for(seconds(60));
    EXPECT_NEAR(double(first.entity.run_time.ns), double(second.entity.run_time.ns), 30e6) << GetParam() << seed;
    EXPECT_GE(first.entity.run_time.ns, seconds(9).ns) << "less than its sixth";
    for (Machine::Thread* sleeper : sleepers) EXPECT_LE(sleeper->entity.run_time.ns, first.entity.run_time.ns + 500'000'000);
    EXPECT_EQ(machine.violations(), 0u);
  }
}
INSTANTIATE_TEST_SUITE_P(Algorithms, Sleepers, testing::Values("eevdf", "stride"));

// ---- step by step ---------------------------------------------------------------------------------------------------

// Lets whoever is to run do so for a whole turn, `turns` times; the names, one after the other.
class StepByStep : public OneQueue {
 protected:
  std::string turns(int count, Duration turn) {
    std::string order;
    for (int i = 0; i < count; ++i) {
      const SchedulingEntity* running = settle();
      order += running == &a ? 'A' : running == &b ? 'B' : running == &c ? 'C' : '-';
      EXPECT_EQ(until, now + turn) << order;
      pass(turn);
    }
    return order;
  }
  void add(SchedulingEntity& entity, u32 weight) {
    entity.weight = weight;
    queue.enqueue(entity, EnqueueReason::created, now);
  }
  SchedulingEntity a, b, c;
};
using EevdfByHand = StepByStep;
using StrideByHand = StepByStep;

// Waldspurger and Weihl, figure 3: tickets 3 : 2 : 1, so strides 2, 3 and 6 (here ms of virtual time); each begins at its
// stride. Among equals, who has waited longest goes first.
TEST_F(StrideByHand, TheExampleOfThePaper) {
  use("stride:quantum=150");  // 6 ms
  add(a, 3 * 1024);
  add(b, 2 * 1024);
  add(c, 1 * 1024);
  // passes before each turn: 2 3 6 · 4 3 6 · 4 6 6 · 6 6 6 (C first) · 6 6 12 · 6 9 12 · 8 9 12, as at the beginning
  EXPECT_EQ(turns(12, milliseconds(6)), "ABACBAABACBA");
}

TEST_F(StrideByHand, WhoUsesHalfOfItsQuantumHasHalfAStride) {
  use("stride");
  add(a, 1024);
  add(b, 1024);
  ASSERT_EQ(settle(), &a);
  pass(milliseconds(2));
  sleep();
  ASSERT_EQ(settle(), &b);  // passes: A 6, B 4, all together 5
  pass(milliseconds(4));    // B 8; B alone holds all tickets: all together 9
  wake(a);                  // as far from it as it was: 9 + (6 - 5) = 10
  EXPECT_EQ(settle(), &b) << "8 is less than 10";
  pass(milliseconds(4));
  EXPECT_EQ(settle(), &a) << "12 is not";
}

TEST_F(StrideByHand, YieldGivesTheRestOfTheQuantumAway) {
  use("stride");
  add(a, 1024);
  add(b, 1024);
  ASSERT_EQ(settle(), &a);
  pass(microseconds(1));
  queue.leave(a, LeaveReason::yielded, now);
  ASSERT_EQ(settle(), &b);
  EXPECT_EQ(until, now + milliseconds(4));
  pass(milliseconds(4));
  EXPECT_EQ(settle(), &a);
}

// With slices of 3 ms and weights 2 : 1. In ms of virtual time, "had → due" of each, and the average V of both:
//   A 0 → 1.5   B 0 → 3     V 0   A is due first
//   A 1.5 → 3   B 0 → 3     V 1   A has had more than V: only B is eligible
//   A 1.5 → 3   B 3 → 6     V 2   only A
//   A 3 → 4.5   B 3 → 6     V 3   both, A is due first; and so on, shifted by 3
TEST_F(EevdfByHand, EligibilityAndDeadlines) {
  use("eevdf");
  a.weight = 2 * 1024;
  b.weight = 1024;
  queue.enqueue(a, EnqueueReason::migrated, now);  // unlike a new one it asks for a whole slice at first
  queue.enqueue(b, EnqueueReason::migrated, now);
  EXPECT_EQ(turns(9, milliseconds(3)), "ABAABAABA");
}

TEST_F(EevdfByHand, ANewThreadAsksForHalfASliceFirst) {
  use("eevdf");
  add(a, 1024);
  ASSERT_EQ(settle(), &a);
  pass(milliseconds(100));
  add(b, 1024);
  EXPECT_EQ(settle(), &b) << "A has had what it asked for";
  EXPECT_EQ(until, now + microseconds(1500));
}

TEST_F(EevdfByHand, LagIsKeptAcrossSleep) {
  use("eevdf");
  for (SchedulingEntity* entity : {&a, &b}) queue.enqueue(*entity, EnqueueReason::migrated, now);
  ASSERT_EQ(settle(), &a);
  pass(milliseconds(3));  // A has had 1.5 ms more than its half
  ASSERT_EQ(settle(), &b);
  queue.remove(a, now);
  pass(milliseconds(3));
  ASSERT_EQ(settle(), &b);
  pass(seconds(1));
  ASSERT_EQ(settle(), &b);
  queue.enqueue(a, EnqueueReason::woken, now);  // B: V, A: V + 3, so that A is 1.5 ahead of the average again
  EXPECT_EQ(settle(), &b);
  pass(until - now);
  EXPECT_EQ(settle(), &b) << "equal, and A is not due sooner";
  pass(milliseconds(3));
  EXPECT_EQ(settle(), &a);
}

TEST_F(EevdfByHand, ARequestIsServedToItsEndUnlessParityIsOff) {
  for (const bool to_parity : {true, false}) {
    use(to_parity ? "eevdf" : "eevdf:parity=0");
    SchedulingEntity hog, heavy;
    heavy.weight = 8 * 1024;
    queue.enqueue(hog, EnqueueReason::migrated, now);
    ASSERT_EQ(settle(), &hog);
    pass(milliseconds(1));
    wake(heavy);
    EXPECT_EQ(settle(), to_parity ? &hog : &heavy);
    for (SchedulingEntity* entity : {&hog, &heavy}) {
      if (queue.running() != entity) queue.remove(*entity, now);
    }
    queue.leave(*queue.running(), LeaveReason::ended, now);
  }
}

// It comes back as far ahead as it went, 0.2 ms, which its share of a ninth takes 1.8 ms to make good; then it asks for 3 ms,
// due 27 ms later, and is served by then or a slice later.
TEST(Eevdf, AnInteractiveThreadIsServedWhenItIsDue) {
  Machine machine{1, "eevdf", any_placement};
  for (int i = 0; i < 8; ++i) machine.spawn_hog(0);
  Machine::Thread& editor =
      machine.spawn(0, 0, [](Machine::Thread&) { return Machine::Behaviour{microseconds(200), milliseconds(50)}; });
  machine.run_for(seconds(20));
  EXPECT_LE(editor.worst_delay, microseconds(1800 + 27000 + 3000));
}

}  // namespace
}  // namespace corral::test

// When somebody starves: by shares, and never under a policy that gives everyone its turn.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
// optimised: hours of virtual time
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "machine.h"

namespace corral::test {
namespace {

constexpr CoreId core_id{0};

TEST(Starvation, PatienceGrowsWithTheOthersWeights) {
  StarvationWatch watch;
  watch.begin({});
  const Duration patience{patience_ns.load(Order::relaxed)};
  watch.charge(Duration{patience.ns * 2});
  EXPECT_FALSE(watch.starves({}, 1024, 1024, 1)) << "a share of two";
  watch.charge(Duration{1000});
  EXPECT_TRUE(watch.starves({}, 1024, 1024, 1));
  EXPECT_FALSE(watch.starves(Duration{1000}, 1024, 1024, 1)) << "it began to wait later";
  EXPECT_FALSE(watch.starves({}, 512, 1024, 1));
  EXPECT_FALSE(watch.starves({}, 1024, 1024, 2)) << "a light one beside it has its turns as well";
  watch.begin(holds_back_forever);
  EXPECT_FALSE(watch.starves({}, 1024, 1024, 1));
}

TEST(Starvation, TimeElsewhereIsMeasuredInShares) {
  StarvationWatch watch;
  EXPECT_FALSE(watch.exceeds(seconds(1000), 1)) << "nobody looks";
  watch.begin({});
  EXPECT_FALSE(watch.exceeds(Duration{patience_ns.load(Order::relaxed)}, 1));
  EXPECT_TRUE(watch.exceeds(Duration{patience_ns.load(Order::relaxed) + 1}, 1));
  EXPECT_FALSE(watch.exceeds(Duration{patience_ns.load(Order::relaxed) + 1}, 2));
  EXPECT_EQ(StarvationWatch::shares_of(1024, 4096, 2), 5u);
  EXPECT_EQ(StarvationWatch::shares_of(1024, 4096, 9), 10u) << "more than their weights are worth";
  EXPECT_EQ(StarvationWatch::shares_of(0, 7, 1), 8u);
}

// Turns as long as the tunables allow, on the slowest tick, beside others of all weights, all of whom never sleep.
class FairTurns : public testing::TestWithParam<const char*> {};

TEST_P(FairTurns, AreNoStarvation) {
  constexpr Duration longest_tick = milliseconds(100);  // timer.hz=10
  AlgorithmParameters parameters{core_id, longest_tick};
  const std::string_view text{GetParam()};
  Refusal why;
  const AlgorithmDescriptor* descriptor = choose_algorithm(text, longest_tick, parameters.tunables, why);
  ASSERT_NE(descriptor, nullptr) << why.view();
  ASSERT_NE(descriptor->holds_back, nullptr);
  for (const auto& [one, others] : {std::pair{0, 19}, {-20, 19}, {0, 0}, {19, -20}}) {
    CoreStatistics statistics;
    RunQueue queue{core_id, statistics, longest_tick};
    OwnedAlgorithm algorithm{text, {core_id, longest_tick}};
    queue.install(*algorithm, Instant{1}, descriptor->holds_back(parameters));
    std::deque<SchedulingEntity> entities(30);
    Instant now{1};
    for (SchedulingEntity& entity : entities) {  // the first one waits for all the others
      entity.nice = &entity == &entities.back() ? one : others;
      entity.weight = weight_of(entity.nice);
      queue.enqueue(entity, EnqueueReason::created, now);
    }
    const Instant end = now + seconds(5000);
    while (now < end) {
      const Decision decision = queue.pick(now);
      ASSERT_NE(decision.entity, nullptr);
      Instant until = decision.until;
      do {
        now = std::max(until, now + RunQueue::shortest_turn(longest_tick));
        queue.charge(now);
        queue.look_for_starving(now);
        ASSERT_EQ(queue.violations().total(), 0u) << text << ": nice " << one << " among " << others << ", " << now.ns;
        until = queue.review(now);
      } while (until > now);
      queue.leave(*decision.entity, LeaveReason::preempted, now);
    }
    while (SchedulingEntity* entity = queue.pick(now).entity) queue.leave(*entity, LeaveReason::ended, now);
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, FairTurns,
                         testing::Values("rr", "rr:quantum=100000", "stride", "stride:quantum=10000", "eevdf",
                                         "eevdf:slice=10000", "cfs", "cfs:latency=10000,turn=10000", "mlfq", "mlfq:quantum=900",
                                         "mlfq:quantum=10000,boost=60000000"));

}  // namespace
}  // namespace corral::test

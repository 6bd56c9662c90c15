// The run queue's checks of its own state: nothing is said while all is well, and what is wrong is named.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "one_queue.h"

namespace corral::test {
namespace {

using invariants::During;
using invariants::Invariant;
using Place = SchedulingEntity::Place;

struct Listener final : FallbackListener {
  void fell_back(RunQueue&, SchedulingAlgorithm&, Misdeed, PolicyCall, Instant) override { ADD_FAILURE(); }
  void violated(const invariants::Violation& violation) override { told.push_back(violation.invariant); }
  std::vector<Invariant> told;
};

class Checks : public OneQueue {
 protected:
  void SetUp() override {
    queue.set_listener(listener);
    use("cfs");
  }
  void TearDown() override { limit(950, 1000); }
  static void limit(i64 runtime_ms, i64 period_ms) {
    real_time_limits().runtime_ns.store(milliseconds(runtime_ms).ns, Order::relaxed);
    real_time_limits().period_ns.store(milliseconds(period_ms).ns, Order::relaxed);
  }
  void check(During during = During::tick) { queue.check(during, now); }
  void set(SchedulingEntity& entity, SchedulingPolicy policy, u32 priority) {
    queue.change(entity, {0, policy, priority}, now);
  }
  // What was said since the last call.
  std::vector<Invariant> told() { return std::exchange(listener.told, {}); }
  // Two wait and one runs.
  void fill() {
    for (SchedulingEntity& entity : three) wake(entity);
    ASSERT_NE(settle(), nullptr);
    check();
    ASSERT_EQ(told(), Said{});
  }
  [[nodiscard]] SchedulingEntity& a_waiting_one() { return three[0].place == Place::queued ? three[0] : three[1]; }

  using Said = std::vector<Invariant>;
  Listener listener;
  SchedulingEntity three[3];
};

// Wake-ups, sleeps, turns, migrations, changes of class and of the real-time budget, at times at which a host that stops the
// core for seconds lets it go on.
class SoundQueue : public Checks, public testing::WithParamInterface<u64> {};

TEST_P(SoundQueue, NothingIsSaid) {
  Random random{GetParam()};
  std::deque<SchedulingEntity> entities(12);  // links must not move
  for (int step = 0; step < 20'000 && listener.told.empty(); ++step) {
    pass(random.one_in(200) ? seconds(static_cast<i64>(random.below(5))) : microseconds(static_cast<i64>(random.below(8000))));
    SchedulingEntity& entity = entities[random.below(entities.size())];
    switch (random.below(6)) {
      case 0:
        if (entity.place == Place::nowhere) wake(entity);
        break;
      case 1:
        if (entity.place == Place::queued || entity.place == Place::resting) ASSERT_TRUE(queue.remove(entity, now));
        break;
      case 2:
        if (queue.running() != nullptr) sleep();
        break;
      case 3:
        if (random.one_in(4)) set(entity, SchedulingPolicy::other, 0);
        if (random.one_in(4)) set(entity, SchedulingPolicy::round_robin, 1 + static_cast<u32>(random.below(3)));
        if (random.one_in(8)) {
          const Reservation reservation{milliseconds(2), milliseconds(10),
                                        milliseconds(20 + static_cast<i64>(random.below(2)))};
          queue.change(entity, {0, SchedulingPolicy::deadline, deadline_priority, reservation}, now);
        }
        break;
      case 4:
        if (random.one_in(50)) limit(static_cast<i64>(random.below(100)), 1 + static_cast<i64>(random.below(100)));
        break;
      default: break;
    }
    if (queue.next_renewal() <= now) queue.renew_resting(now);
    settle();
    check();
  }
  EXPECT_EQ(told(), Said{});
}

INSTANTIATE_TEST_SUITE_P(Seeds, SoundQueue, testing::Range(u64{1}, u64{9}));

TEST_F(Checks, CallsForWhoIsElsewhere) {
  fill();
  SchedulingEntity& waiting = a_waiting_one();
  queue.enqueue(waiting, EnqueueReason::woken, now);
  EXPECT_EQ(told(), Said{Invariant::one_place});
  queue.leave(waiting, LeaveReason::blocked, now);
  EXPECT_EQ(told(), Said{Invariant::one_place});
  queue.remove(*queue.running(), now);
  EXPECT_EQ(told(), Said{Invariant::one_place});
  static_cast<void>(queue.pick(now));  // though somebody runs
  EXPECT_EQ(told(), Said{Invariant::one_place});
}

TEST_F(Checks, SomebodyInTheListWhoDoesNotWait) {
  fill();
  a_waiting_one().place = Place::nowhere;
  check();
  EXPECT_EQ(told(), Said{Invariant::one_place});
}

TEST_F(Checks, WhoIsInAListAlreadyIsPutInOnce) {
  fill();
  SchedulingEntity& waiting = a_waiting_one();
  (**algorithm).dequeue(waiting, now);
  waiting.place = Place::nowhere;
  queue.enqueue(waiting, EnqueueReason::woken, now);
  EXPECT_EQ(told(), Said{Invariant::one_queue});
  check();
  EXPECT_EQ(told(), Said{Invariant::one_queue}) << "it was counted twice";
}

TEST_F(Checks, NumbersThatArePublishedWrong) {
  fill();
  statistics.publish(2, 3 * weight_of_nice_0, 0);
  check();
  EXPECT_EQ(told(), Said{Invariant::numbers});
  statistics.publish(3, 3 * weight_of_nice_0, 0);
  statistics.publish_urgency(5);
  check();
  EXPECT_EQ(told(), Said{Invariant::numbers});
}

TEST_F(Checks, AWeightThatIsNotThatOfThoseHere) {
  fill();
  ++a_waiting_one().weight;
  check();
  EXPECT_EQ(told(), Said{Invariant::numbers});
}

TEST_F(Checks, ANanosecondOfIdleTimeThatIsMissing) {
  check();
  settle();
  now = now + seconds(1);
  check();
  EXPECT_EQ(told(), Said{});
  statistics.end_idle(now - nanoseconds(1));
  statistics.begin_idle(now);
  check();
  EXPECT_EQ(told(), Said{Invariant::time});
  now = now + seconds(1);
  check();
  EXPECT_EQ(told(), Said{}) << "told once";
}

TEST_F(Checks, ACoreThatSleepsThoughSomebodyMayRun) {
  wake(three[0]);
  check(During::sleep);
  EXPECT_EQ(told(), Said{Invariant::idle_with_work});
  three[0].allowed = three[0].asked = CoreSet::of(CoreId{3});
  check(During::sleep);
  EXPECT_EQ(told(), Said{});
}

TEST_F(Checks, WhoRunsOutsideTheMaskThatItAskedFor) {
  three[0].asked = CoreSet::of(CoreId{3});
  wake(three[0]);
  settle();
  EXPECT_EQ(told(), Said{Invariant::affinity});
}

TEST_F(Checks, AGroupWithoutAnyOfTheMaskIsNoViolation) {
  three[0].asked = CoreSet::of(CoreId{3});
  three[0].allowed = CoreSet::of(core_id);
  wake(three[0]);
  settle();
  EXPECT_EQ(queue.running(), &three[0]);
  EXPECT_EQ(told(), Said{});
}

TEST_F(Checks, WhoMayNotRunHereIsNotRun) {
  three[0].allowed = CoreSet::of(CoreId{3});
  wake(three[0]);
  wake(three[1]);
  EXPECT_EQ(settle(), &three[1]);
  EXPECT_EQ(told(), Said{Invariant::affinity});
}

}  // namespace
}  // namespace corral::test

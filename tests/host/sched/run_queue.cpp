// The engine's run queue: every entity in exactly one place whatever happens, wrong algorithms contained.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
// optimised: random operations, all invariants checked after each
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

#include "machine.h"

namespace corral::test {
namespace {

constexpr CoreId core_id{0};
constexpr Duration tick = milliseconds(4);

// ---- long random sequences, all algorithms, changes between them included ---------------------------------------------

SchedulingEntity* last_of(RunQueue& queue) {
  return queue.find_from_tail(1, [](const SchedulingEntity&) { return true; });
}

class Sequences : public testing::TestWithParam<u64> {};

TEST_P(Sequences, EveryEntityStaysInExactlyOnePlace) {
  using Place = SchedulingEntity::Place;
  Random random{GetParam()};
  for (const AlgorithmDescriptor* descriptor : algorithms()) {
    CoreStatistics statistics;
    RunQueue queue{core_id, statistics, tick};
    auto algorithm = std::make_unique<OwnedAlgorithm>(descriptor, AlgorithmParameters{core_id, tick});
    const AlgorithmDescriptor* in_use = descriptor;
    queue.install(**algorithm, Instant{1});
    std::deque<SchedulingEntity> entities(24);  // links must not move
    std::vector<bool> waiting(entities.size(), false);
    int running = -1;
    Instant now{1};
    const auto index_of = [&](const SchedulingEntity* entity) {
      for (size_t i = 0; i < entities.size(); ++i) {
        if (&entities[i] == entity) return static_cast<int>(i);
      }
      return -1;
    };
    i64 ran = 0;
    i64 busy = 0;
    for (int step = 0; step < 4000; ++step) {
      const Duration passed = microseconds(static_cast<i64>(random.below(5000)));
      now = now + passed;
      if (running >= 0) busy += passed.ns;
      const size_t i = random.below(entities.size());
      switch (random.below(9)) {
        case 0:
        case 1:
        case 2:  // something arrives
          if (entities[i].place == Place::nowhere) {
            const auto reason =
                std::array{EnqueueReason::created, EnqueueReason::woken, EnqueueReason::migrated}[random.below(3)];
            queue.enqueue(entities[i], reason, now);
            waiting[i] = true;
          }
          break;
        case 3:  // something goes elsewhere
          if (waiting[i]) {
            ASSERT_TRUE(queue.remove(entities[i], now));
            waiting[i] = false;
          }
          break;
        case 4:
        case 5:
        case 6: {  // the running one leaves, the next is picked
          if (running >= 0) {
            const auto reason = static_cast<LeaveReason>(random.below(5));
            ASSERT_TRUE(queue.leave(entities[static_cast<size_t>(running)], reason, now));
            if (reason == LeaveReason::preempted || reason == LeaveReason::yielded)
              waiting[static_cast<size_t>(running)] = true;
            running = -1;
          }
          const Decision decision = queue.pick(now);
          running = index_of(decision.entity);
          const bool any = std::count(waiting.begin(), waiting.end(), true) != 0;
          ASSERT_EQ(decision.entity != nullptr, any) << in_use->name;
          if (running >= 0) {
            ASSERT_TRUE(waiting[static_cast<size_t>(running)]) << in_use->name;
            ASSERT_GT(decision.until, now) << in_use->name << ": a turn of no length";
            waiting[static_cast<size_t>(running)] = false;
          }
          break;
        }
        case 7: queue.set_nice(entities[i], static_cast<i32>(random.below(40)) - 20, now); break;
        case 8:
          if (random.one_in(8)) {
            in_use = algorithms()[random.below(algorithms().size())];
            auto fresh = std::make_unique<OwnedAlgorithm>(in_use, AlgorithmParameters{core_id, tick});
            ASSERT_EQ(queue.install(**fresh, now), &**algorithm);
            ASSERT_EQ((**algorithm).waiting(), 0u);
            algorithm = std::move(fresh);
          } else {
            ASSERT_GE(queue.review(now), now);
          }
          break;
      }
      u32 n = 0;
      u64 weight = 0;
      for (size_t k = 0; k < entities.size(); ++k) {
        const Place expected = waiting[k] ? Place::queued : static_cast<int>(k) == running ? Place::running : Place::nowhere;
        ASSERT_EQ(entities[k].place, expected) << k << " in " << in_use->name;
        if (waiting[k]) ++n;
        if (expected != Place::nowhere) weight += entities[k].weight;
      }
      ASSERT_EQ((**algorithm).waiting(), n) << in_use->name;
      ASSERT_EQ(queue.waiting(), n);
      ASSERT_EQ(statistics.runnable(), n + (running >= 0 ? 1 : 0));
      ASSERT_EQ(statistics.load_weight(), weight);
      ASSERT_EQ((**algorithm).last_waiting() == nullptr, n == 0);
    }
    queue.charge(now);
    for (const SchedulingEntity& entity : entities) ran += entity.run_time.ns;
    EXPECT_EQ(ran, busy) << "all time is charged to someone, once";
    EXPECT_EQ(queue.violations().total(), 0u);
    while (queue.waiting() > 0 || queue.running() != nullptr) {  // nobody is lost
      if (queue.running() != nullptr) queue.leave(*queue.running(), LeaveReason::ended, now);
      static_cast<void>(queue.pick(now));
    }
    for (const SchedulingEntity& entity : entities) EXPECT_EQ(entity.place, Place::nowhere);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Sequences, testing::Range(u64{1}, u64{13}));

TEST(RunQueue, ChangingTheAlgorithmKeepsTheOrder) {
  for (const AlgorithmDescriptor* from : algorithms()) {
    for (const AlgorithmDescriptor* to : algorithms()) {
      CoreStatistics statistics;
      RunQueue queue{core_id, statistics, tick};
      OwnedAlgorithm old{from, {core_id, tick}};
      OwnedAlgorithm fresh{to, {core_id, tick}};
      queue.install(*old, Instant{1});
      std::deque<SchedulingEntity> entities(10);
      for (SchedulingEntity& entity : entities) queue.enqueue(entity, EnqueueReason::created, Instant{1});
      queue.install(*fresh, Instant{2});
      for (SchedulingEntity& entity : entities) {
        EXPECT_EQ(queue.pick(Instant{2}).entity, &entity) << from->name << " → " << to->name;
        queue.leave(entity, LeaveReason::ended, Instant{2});
      }
    }
  }
}

// ---- algorithms that are wrong ----------------------------------------------------------------------------------------

class Wrong final : public SchedulingAlgorithm {
 public:
  void enqueue(SchedulingEntity& entity, EnqueueReason, Instant) override { list.push_back(&entity); }
  void dequeue(SchedulingEntity& entity, Instant) override { std::erase(list, &entity); }
  Decision pick(Instant) override {
    if (answer_nothing || list.empty()) return {};
    if (foreign != nullptr) return {foreign, never};
    SchedulingEntity* first = list.front();
    list.pop_front();
    return {first, never};
  }
  void charge(SchedulingEntity&, Duration, Instant) override {}
  Instant review(const SchedulingEntity&, Instant) override { return never; }
  u32 waiting() const override { return static_cast<u32>(list.size()); }
  SchedulingEntity* last_waiting() override {
    if (foreign != nullptr) return foreign;
    return list.empty() || answer_nothing ? nullptr : list.back();
  }
  std::deque<SchedulingEntity*> list;
  SchedulingEntity* foreign = nullptr;
  bool answer_nothing = false;
};

struct Fixture : testing::Test {
  CoreStatistics statistics;
  RunQueue queue{core_id, statistics, tick};
  Wrong algorithm;
  SchedulingEntity a, b;
  void SetUp() override {
    queue.install(algorithm, Instant{1});
    queue.enqueue(a, EnqueueReason::created, Instant{1});
    queue.enqueue(b, EnqueueReason::created, Instant{1});
  }
};
using RunQueueViolations = Fixture;

TEST_F(RunQueueViolations, AForeignEntityIsNotRun) {
  SchedulingEntity elsewhere;
  elsewhere.place = SchedulingEntity::Place::queued;
  elsewhere.home = CoreId{5};
  algorithm.foreign = &elsewhere;
  EXPECT_EQ(queue.pick(Instant{1}).entity, &a);
  EXPECT_EQ(queue.violations().not_waiting.load(Order::relaxed), 1u);
  EXPECT_EQ(elsewhere.place, SchedulingEntity::Place::queued);
  EXPECT_EQ(queue.waiting(), 1u);
}

TEST_F(RunQueueViolations, AForeignEntityIsNotGivenAway) {
  SchedulingEntity elsewhere;
  elsewhere.place = SchedulingEntity::Place::queued;
  elsewhere.home = CoreId{5};
  algorithm.foreign = &elsewhere;
  EXPECT_EQ(last_of(queue), &b);
  EXPECT_EQ(queue.violations().not_waiting.load(Order::relaxed), 1u);
  EXPECT_EQ(last_of(queue), &b) << "the safe timeline's, which is right";
  EXPECT_EQ(queue.violations().total(), 1u);
}

TEST_F(RunQueueViolations, WithheldEntitiesAreGivenAwayAllTheSame) {
  algorithm.answer_nothing = true;
  EXPECT_EQ(last_of(queue), &b);
  EXPECT_EQ(queue.violations().withheld.load(Order::relaxed), 1u);
}

TEST_F(RunQueueViolations, TheRunningEntityIsNotRunTwice) {
  ASSERT_EQ(queue.pick(Instant{1}).entity, &a);
  algorithm.foreign = &a;
  queue.leave(a, LeaveReason::blocked, Instant{2});
  EXPECT_EQ(queue.pick(Instant{2}).entity, &b);
  EXPECT_EQ(queue.violations().not_waiting.load(Order::relaxed), 1u);
}

TEST_F(RunQueueViolations, AnEntityThatMayNotRunHereIsPassedOver) {
  a.allowed = CoreSet::of(CoreId{3});
  EXPECT_EQ(queue.pick(Instant{1}).entity, &b);
  EXPECT_EQ(queue.violations().not_allowed.load(Order::relaxed), 1u);
  EXPECT_EQ(queue.waiting(), 1u);
  EXPECT_TRUE(queue.remove(a, Instant{1})) << "it still waits here, to be moved";
  EXPECT_EQ(a.place, SchedulingEntity::Place::nowhere);
}

TEST_F(RunQueueViolations, IdleWhenNobodyMayRun) {
  a.allowed = b.allowed = CoreSet::of(CoreId{3});
  EXPECT_EQ(queue.pick(Instant{1}).entity, nullptr);
  EXPECT_EQ(queue.waiting(), 2u);
  EXPECT_EQ(algorithm.waiting(), 2u);
  EXPECT_EQ(last_of(queue), &a);
}

TEST_F(RunQueueViolations, WithheldEntitiesRunAllTheSame) {
  algorithm.answer_nothing = true;
  const Decision decision = queue.pick(Instant{1});
  EXPECT_EQ(decision.entity, &a);
  EXPECT_EQ(decision.until, Instant{1} + tick);
  EXPECT_EQ(queue.violations().withheld.load(Order::relaxed), 1u);
}

TEST_F(RunQueueViolations, WithheldEntitiesMoveToTheNextAlgorithm) {
  algorithm.answer_nothing = true;
  OwnedAlgorithm next{"cfs", {core_id, tick}};
  queue.install(*next, Instant{1});
  EXPECT_EQ(next->waiting(), 2u);
  EXPECT_EQ(queue.violations().withheld.load(Order::relaxed), 1u);
  EXPECT_EQ(queue.pick(Instant{1}).entity, &a);
}

// Who fails in a call, whichever: everybody who waits goes on with the safe timeline.
class Failing final : public SchedulingAlgorithm {
 public:
  explicit Failing(PolicyCall where) : where_{where} {}
  void enqueue(SchedulingEntity& entity, EnqueueReason, Instant) override {
    list_.push_back(entity);
    fail(PolicyCall::enqueue);
  }
  void dequeue(SchedulingEntity& entity, Instant) override {
    fail(PolicyCall::dequeue);
    list_.remove(entity);
  }
  Decision pick(Instant) override {
    SchedulingEntity* first = list_.pop_front();
    fail(PolicyCall::pick);
    return {first, never};
  }
  void charge(SchedulingEntity&, Duration, Instant) override { fail(PolicyCall::charge); }
  void depart(SchedulingEntity&, Instant) override { fail(PolicyCall::depart); }
  Instant review(const SchedulingEntity&, Instant) override {
    fail(PolicyCall::review);
    return never;
  }
  u32 waiting() const override { return 0; }
  SchedulingEntity* last_waiting() override {
    fail(PolicyCall::last_waiting);
    return list_.back();
  }
  bool fails = false;

 private:
  void fail(PolicyCall here) const {
    if (fails && here == where_) throw arch::CallFailure::fault;
  }
  IntrusiveList<SchedulingEntity, &SchedulingEntity::queue_link> list_;
  const PolicyCall where_;
};

struct Listener final : FallbackListener {
  void fell_back(RunQueue&, SchedulingAlgorithm&, Misdeed misdeed, PolicyCall call, Instant) override {
    ++told;
    EXPECT_EQ(misdeed, Misdeed::fault);
    last = call;
  }
  void violated(const invariants::Violation&) override { ADD_FAILURE(); }
  u32 told = 0;
  PolicyCall last{};
};

class Failures : public testing::TestWithParam<PolicyCall> {};

TEST_P(Failures, NobodyIsLost) {
  CoreStatistics statistics;
  RunQueue queue{core_id, statistics, tick};
  Listener listener;
  queue.set_listener(listener);
  Failing algorithm{GetParam()};
  queue.install(algorithm, Instant{1});
  SchedulingEntity entities[4];
  for (SchedulingEntity& entity : entities) queue.enqueue(entity, EnqueueReason::created, Instant{1});
  Instant now{2};
  SchedulingEntity* first = queue.pick(now).entity;
  ASSERT_NE(first, nullptr);
  algorithm.fails = true;
  // Each call once, the one that fails among them.
  queue.leave(*first, LeaveReason::blocked, now = now + tick);
  queue.enqueue(*first, EnqueueReason::woken, now);
  SchedulingEntity* second = queue.pick(now).entity;
  ASSERT_NE(second, nullptr);
  queue.review(now = now + tick);
  ASSERT_NE(last_of(queue), nullptr);
  SchedulingEntity* gone = last_of(queue);
  ASSERT_TRUE(queue.remove(*gone, now));
  queue.leave(*second, LeaveReason::preempted, now);
  EXPECT_EQ(listener.told, 1u);
  EXPECT_EQ(listener.last, GetParam());
  EXPECT_EQ(queue.violations().total(), 1u);
  // Everybody else runs, each once.
  EXPECT_EQ(queue.waiting(), 3u);
  for (u32 left = 3; left > 0; --left) {
    SchedulingEntity* entity = queue.pick(now).entity;
    ASSERT_NE(entity, nullptr);
    EXPECT_NE(entity, gone);
    queue.leave(*entity, LeaveReason::ended, now = now + tick);
  }
  EXPECT_EQ(queue.pick(now).entity, nullptr);
  EXPECT_EQ(listener.told, 1u);
}

INSTANTIATE_TEST_SUITE_P(Calls, Failures,
                         testing::Values(PolicyCall::enqueue, PolicyCall::dequeue, PolicyCall::pick, PolicyCall::charge,
                                         PolicyCall::depart, PolicyCall::review, PolicyCall::last_waiting));

TEST(Starvation, WhoIsPassedOverForTooLongGetsOn) {
  CoreStatistics statistics;
  RunQueue queue{core_id, statistics, tick};
  Failing algorithm{PolicyCall::make};  // right; first in, first out, without end
  queue.install(algorithm, Instant{1});
  SchedulingEntity a, b;
  queue.enqueue(a, EnqueueReason::created, Instant{1});
  queue.enqueue(b, EnqueueReason::created, Instant{1});
  Instant now{2};
  Decision decision = queue.pick(now);
  ASSERT_EQ(decision.entity, &a);
  for (u32 looks = 0; queue.violations().total() == 0; ++looks) {
    ASSERT_LT(looks, 100u);
    ASSERT_LT(decision.until, never) << "somebody else waits: it is looked at";
    now = decision.until;
    queue.charge(now);
    queue.look_for_starving(now);
    decision.until = queue.review(now);
  }
  EXPECT_EQ(queue.violations().misbehaved.load(Order::relaxed), 1u);
  queue.leave(a, LeaveReason::preempted, now);
  EXPECT_EQ(queue.pick(now).entity, &b);
  queue.charge(now = now + seconds(1000));  // the host had stopped the core
  queue.look_for_starving(now);
  EXPECT_EQ(queue.violations().total(), 1u) << "the engine's own is not suspected";
  queue.leave(b, LeaveReason::ended, now);
}

TEST_F(RunQueueViolations, WrongCallsChangeNothing) {
  queue.enqueue(a, EnqueueReason::woken, Instant{1});
  EXPECT_EQ(queue.waiting(), 2u);
  SchedulingEntity stranger;
  EXPECT_FALSE(queue.remove(stranger, Instant{1}));
  EXPECT_FALSE(queue.leave(a, LeaveReason::blocked, Instant{1}));
  EXPECT_EQ(queue.violations().misplaced.load(Order::relaxed), 3u);
  EXPECT_EQ(a.place, SchedulingEntity::Place::queued);
}

// ---- who runs, and who travels ------------------------------------------------------------------------------------------

TEST(RunQueue, TravellersAreCountedOutOfTheWay) {
  OwnedPlacer placer{"least-loaded"};
  RunQueue queue{CoreId{1}, placer->statistics(CoreId{1}), tick};
  OwnedAlgorithm algorithm{"cfs", {CoreId{1}, tick}};
  queue.install(*algorithm, Instant{1});
  SchedulingEntity entity;
  placer->assign(entity, CoreId{1}, CoreId{0});
  EXPECT_EQ(placer->statistics(CoreId{1}).on_the_way(), 1u);
  EXPECT_EQ(placer->statistics(CoreId{1}).load(), 1u);
  queue.enqueue(entity, EnqueueReason::created, Instant{1});
  EXPECT_EQ(placer->statistics(CoreId{1}).on_the_way(), 0u);
  EXPECT_EQ(placer->statistics(CoreId{1}).load(), 1u);
  EXPECT_EQ(queue.violations().total(), 0u);
}

TEST(RunQueue, WhoRunsInTheMemoryOfTheLastOneIsAnotherOne) {
  CoreStatistics statistics;
  RunQueue queue{core_id, statistics, tick};
  OwnedAlgorithm algorithm{"cfs", {core_id, tick}};
  queue.install(*algorithm, Instant{1});
  const auto run = [&](SchedulingEntity& entity, Instant now) {
    queue.enqueue(entity, EnqueueReason::migrated, now);
    ASSERT_EQ(queue.pick(now).entity, &entity);
    queue.leave(entity, LeaveReason::migrating, now + milliseconds(1));
  };
  SchedulingEntity entity;
  run(entity, Instant{1});
  run(entity, Instant{} + seconds(1));
  EXPECT_EQ(statistics.switches.load(Order::relaxed), 1u);
  entity.~SchedulingEntity();  // elsewhere; and what is made there has run on that core
  ::new (&entity) SchedulingEntity;
  run(entity, Instant{} + seconds(2));
  EXPECT_EQ(statistics.switches.load(Order::relaxed), 2u);
  entity.~SchedulingEntity();
  ::new (&entity) SchedulingEntity;
  entity.last_core = CoreId{1};
  entity.last_ran = Instant{} + seconds(2);
  run(entity, Instant{} + seconds(3));
  EXPECT_EQ(statistics.switches.load(Order::relaxed), 3u);
}

TEST(RunQueue, AWakeUpPreemptsOnlyTheLessEntitled) {
  CoreStatistics statistics;
  RunQueue queue{core_id, statistics, tick};
  OwnedAlgorithm algorithm{"cfs", {core_id, tick}};
  queue.install(*algorithm, Instant{1});
  SchedulingEntity hog, sleeper;
  Instant now{1};
  queue.enqueue(sleeper, EnqueueReason::created, now);
  ASSERT_EQ(queue.pick(now).entity, &sleeper);
  now = now + microseconds(100);
  queue.leave(sleeper, LeaveReason::blocked, now);
  queue.enqueue(hog, EnqueueReason::created, now);
  ASSERT_EQ(queue.pick(now).entity, &hog);
  now = now + microseconds(500);
  EXPECT_GT(queue.enqueue(sleeper, EnqueueReason::woken, now), now) << "asleep too shortly";
  queue.remove(sleeper, now);
  sleeper.last_ran = now;
  now = now + milliseconds(10);
  EXPECT_EQ(queue.enqueue(sleeper, EnqueueReason::woken, now), now);
}

}  // namespace
}  // namespace corral::test

// The scheduling algorithms: order, quanta, fairness, latency; on one simulated core.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "machine.h"
#include "sched/virtual_time.h"

namespace corral::test {
namespace {

constexpr AlgorithmParameters parameters{CoreId{0}, milliseconds(4)};
constexpr const char* any_placement = "least-loaded";

TEST(Weights, EachStepIsAFactorOfFiveFourths) {
  EXPECT_EQ(weight_of(0), 1024u);
  for (i32 nice = nice_lowest; nice < nice_highest; ++nice) {
    const double ratio = double(weight_of(nice)) / weight_of(nice + 1);
    EXPECT_NEAR(ratio, 1.25, 0.06) << nice;  // small weights are rounded
  }
  EXPECT_EQ(weight_of(-100), weight_of(-20));
  EXPECT_EQ(weight_of(100), weight_of(19));
  EXPECT_GT(weight_of(19), 0u);
}

TEST(Registry, FindsPoliciesByNameOnly) {
  std::set<std::string> names;
  for (const AlgorithmDescriptor* descriptor : algorithms()) {
    EXPECT_TRUE(names.insert(descriptor->name).second) << descriptor->name;
    EXPECT_EQ(find_algorithm(descriptor->name), descriptor);
  }
  for (const char* name : {"fifo", "rr", "cfs"}) EXPECT_NE(find_algorithm(name), nullptr) << name;
  for (const char* name : {"random", "round-robin", "least-loaded"}) EXPECT_NE(find_placement(name), nullptr) << name;
  EXPECT_NE(find_algorithm(default_algorithm), nullptr);
  EXPECT_NE(find_placement(default_placement), nullptr);
  EXPECT_EQ(find_algorithm("cf"), nullptr);
  EXPECT_EQ(find_algorithm("cfs2"), nullptr);
  EXPECT_EQ(find_placement(""), nullptr);
}

TEST(AllAlgorithms, ALoneThreadNeedsNoTick) {
  for (const AlgorithmDescriptor* descriptor : algorithms()) {
    CoreStatistics statistics;
    RunQueue queue{CoreId{0}, statistics, milliseconds(4)};
    OwnedAlgorithm algorithm{descriptor, parameters};
    queue.install(*algorithm, Instant{1});
    SchedulingEntity alone;
    EXPECT_EQ(queue.enqueue(alone, EnqueueReason::created, Instant{1}), Instant{1}) << "idle: pick at once";
    EXPECT_EQ(queue.pick(Instant{1}).until, never) << descriptor->name;
    EXPECT_EQ(queue.review(Instant{} + seconds(100)), never) << descriptor->name;
  }
}

TEST(Fifo, RunsInOrderOfArrivalToTheEnd) {
  Machine machine{1, "fifo", any_placement};
  std::vector<Machine::Thread*> jobs;
  for (i64 i = 0; i < 5; ++i) jobs.push_back(&machine.spawn_job(0, milliseconds(100 - i * 10)));
  ASSERT_TRUE(machine.run_to_end(seconds(1)));
  for (size_t i = 1; i < jobs.size(); ++i) {
    EXPECT_EQ((jobs[i]->ended_at - jobs[i - 1]->ended_at), milliseconds(100 - i64(i) * 10));
  }
  EXPECT_EQ(machine.statistics(0).preemptions.load(Order::relaxed), 0u);
}

TEST(Fifo, YieldGoesToTheBackAndPreemptionToTheFront) {
  OwnedAlgorithm fifo{"fifo", parameters};
  SchedulingEntity a, b, c;
  fifo->enqueue(a, EnqueueReason::created, Instant{});
  fifo->enqueue(b, EnqueueReason::created, Instant{});
  EXPECT_EQ(fifo->pick(Instant{}).entity, &a);
  fifo->enqueue(a, EnqueueReason::yielded, Instant{});
  EXPECT_EQ(fifo->pick(Instant{}).entity, &b);
  fifo->enqueue(c, EnqueueReason::woken, Instant{});
  fifo->enqueue(b, EnqueueReason::preempted, Instant{});
  EXPECT_EQ(fifo->last_waiting(), &c);
  EXPECT_EQ(fifo->pick(Instant{}).entity, &b);
  EXPECT_EQ(fifo->pick(Instant{}).entity, &a);
  EXPECT_EQ(fifo->pick(Instant{}).entity, &c);
  EXPECT_EQ(fifo->pick(Instant{}).entity, nullptr);
}

TEST(RoundRobin, EveryTurnIsExactlyOneTick) {
  Machine machine{1, "rr", any_placement};
  std::vector<Machine::Thread*> hogs;
  for (int i = 0; i < 3; ++i) hogs.push_back(&machine.spawn_hog(0));
  for (int round = 0; round < 100; ++round) {
    for (Machine::Thread* hog : hogs) {
      const Duration before = hog->entity.run_time;
      machine.run_for(Machine::tick);
      EXPECT_EQ((hog->entity.run_time - before), Machine::tick) << round;
    }
  }
  EXPECT_EQ(machine.statistics(0).preemptions.load(Order::relaxed), 299u);
}

TEST(RoundRobin, APreemptedThreadKeepsItsRemainderAndItsPlace) {
  CoreStatistics statistics;
  RunQueue queue{CoreId{0}, statistics, milliseconds(4)};
  OwnedAlgorithm algorithm{"rr", parameters};
  queue.install(*algorithm, Instant{1});
  SchedulingEntity a, b;
  Instant now{1};
  queue.enqueue(a, EnqueueReason::created, now);
  queue.enqueue(b, EnqueueReason::created, now);
  ASSERT_EQ(queue.pick(now).entity, &a);
  now = now + milliseconds(1);
  ASSERT_TRUE(queue.leave(a, LeaveReason::preempted, now));
  Decision decision = queue.pick(now);
  EXPECT_EQ(decision.entity, &a);
  EXPECT_EQ((decision.until - now), milliseconds(3));
  now = decision.until;
  EXPECT_EQ(queue.review(now), now) << "the quantum is over";
  queue.leave(a, LeaveReason::preempted, now);
  decision = queue.pick(now);
  EXPECT_EQ(decision.entity, &b);
  EXPECT_EQ((decision.until - now), milliseconds(4));
}

TEST(RoundRobin, QuantaGoOnWhileAloneWithoutATick) {
  CoreStatistics statistics;
  RunQueue queue{CoreId{0}, statistics, milliseconds(4)};
  OwnedAlgorithm algorithm{"rr", parameters};
  queue.install(*algorithm, Instant{1});
  SchedulingEntity a, b;
  const Instant start{1};
  queue.enqueue(a, EnqueueReason::created, start);
  ASSERT_EQ(queue.pick(start).until, never);
  const Instant later = start + milliseconds(4 * 1000 + 1);  // 1 ms into the 1001st quantum
  EXPECT_EQ(queue.enqueue(b, EnqueueReason::created, later), later + milliseconds(3));
}

struct Share {
  std::vector<i32> nice;
};
void PrintTo(const Share& share, std::ostream* to) {
  *to << "nice";
  for (const i32 nice : share.nice) *to << ' ' << nice;
}

class CfsShares : public testing::TestWithParam<Share> {};

TEST_P(CfsShares, TimeIsInProportionToWeight) {
  Machine machine{1, "cfs", any_placement};
  std::vector<Machine::Thread*> hogs;
  double total = 0;
  for (i32 nice : GetParam().nice) {
    hogs.push_back(&machine.spawn_hog(0, nice));
    total += weight_of(nice);
  }
  machine.run_for(seconds(60));
  i64 sum = 0;
  for (Machine::Thread* hog : hogs) {
    const double expected = 60e9 * weight_of(hog->entity.nice) / total;
    // 5 %, or one round where the whole share is not more than a few turns.
    const double tolerance = std::max(0.05 * expected, 24e6);
    EXPECT_NEAR(double(hog->entity.run_time.ns), expected, tolerance) << "nice " << hog->entity.nice;
    sum += hog->entity.run_time.ns;
  }
  EXPECT_EQ(sum, seconds(60).ns) << "the core was never idle";
  EXPECT_EQ(machine.violations(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Mixes, CfsShares,
                         testing::Values(Share{{0, 0}}, Share{{0, 5}}, Share{{-5, 0, 5}}, Share{{0, 0, 0, 0, 0, 0, 0, 0}},
                                         Share{{-20, 0}}, Share{{10, 10, -10}}, Share{{19, 19, 0, 0}},
                                         Share{{-3, -2, -1, 0, 1, 2, 3}}, Share{{-20, 19}}));

TEST(Cfs, NewThreadsDoNotStarveOldOnes) {
  Machine machine{1, "cfs", any_placement};
  Machine::Thread& old = machine.spawn_hog(0);
  machine.run_for(seconds(10));
  const Duration before = old.entity.run_time;
  // 2,000 newcomers, one every millisecond, each wanting a millisecond: more than the core has. Each waits for one
  // turn (4 ms) of the old thread, so that this one's n-th turn lasts until n - 1 more newcomers have run: the sum of
  // 4 ms × n is 2 s for n = 31.
  for (int i = 0; i < 2000; ++i) {
    machine.spawn_job(0, milliseconds(1));
    machine.run_for(milliseconds(1));
  }
  EXPECT_NEAR(double((old.entity.run_time - before).ns), 124e6, 8e6);
  EXPECT_EQ(machine.violations(), 0u);
}

TEST(Cfs, AnOldThreadDoesNotHoldOffNewOnes) {
  Machine machine{1, "cfs", any_placement};
  machine.spawn_hog(0);
  machine.run_for(seconds(1000));
  Machine::Thread& fresh = machine.spawn_hog(0);
  machine.run_for(milliseconds(100));
  EXPECT_GT(fresh.entity.run_time, milliseconds(30));
}

TEST(Cfs, AnHourOfSleepEarnsABoundedCredit) {
  Machine machine{1, "cfs", any_placement};
  Machine::Thread& sleeper = machine.spawn(0, 0, [first = true](Machine::Thread&) mutable {
    if (!std::exchange(first, false)) return Machine::Behaviour{seconds(1000)};
    return Machine::Behaviour{milliseconds(1), seconds(3600)};
  });
  Machine::Thread& hog = machine.spawn_hog(0);
  machine.run_for(seconds(3601));  // the sleeper has been back for about one second
  EXPECT_NEAR(double(sleeper.entity.run_time.ns), 0.5e9, 0.03e9);
  EXPECT_GT(hog.entity.run_time, seconds(3600) + milliseconds(470));
}

TEST(Cfs, AnInteractiveThreadRunsAtOnceBesideHogs) {
  Machine machine{1, "cfs", any_placement};
  for (int i = 0; i < 8; ++i) machine.spawn_hog(0);
  Machine::Thread& editor =
      machine.spawn(0, 0, [](Machine::Thread&) { return Machine::Behaviour{microseconds(200), milliseconds(50)}; });
  machine.run_for(seconds(1));
  editor.worst_delay = Duration{};
  machine.run_for(seconds(20));
  EXPECT_LE(editor.worst_delay, milliseconds(4));
}

TEST(Cfs, ShortSleepsGainNothing) {
  // Works 10 ms, sleeps 0.1 ms, over and over: no more than its half of the core.
  Machine machine{1, "cfs", any_placement};
  Machine::Thread& trickster =
      machine.spawn(0, 0, [](Machine::Thread&) { return Machine::Behaviour{milliseconds(10), microseconds(100)}; });
  Machine::Thread& honest = machine.spawn_hog(0);
  machine.run_for(seconds(60));
  EXPECT_GE(honest.entity.run_time.ns, seconds(29).ns);
  EXPECT_GE(trickster.entity.run_time.ns, seconds(27).ns);
}

TEST(Cfs, YieldLetsAllOthersGoFirstWithinARound) {
  OwnedAlgorithm cfs{"cfs", parameters};
  SchedulingEntity a, b, c;
  for (SchedulingEntity* entity : {&a, &b, &c}) cfs->enqueue(*entity, EnqueueReason::migrated, Instant{});
  ASSERT_EQ(cfs->pick(Instant{}).entity, &a);
  cfs->charge(a, microseconds(1), Instant{1000});
  cfs->enqueue(a, EnqueueReason::yielded, Instant{1000});
  EXPECT_EQ(cfs->pick(Instant{1000}).entity, &b);
  EXPECT_EQ(cfs->pick(Instant{1000}).entity, &c);
  EXPECT_EQ(cfs->pick(Instant{1000}).entity, &a);
}

TEST(Cfs, AWokenThreadLeavesTheRunningOneAQuarterOfATick) {
  OwnedAlgorithm cfs{"cfs", parameters};
  SchedulingEntity writer, reader;
  cfs->enqueue(writer, EnqueueReason::migrated, Instant{});
  ASSERT_EQ(cfs->pick(Instant{}).entity, &writer);
  const Instant soon = Instant{} + microseconds(100);
  cfs->charge(writer, microseconds(100), soon);
  cfs->enqueue(reader, EnqueueReason::woken, soon);  // it has slept for so long that it comes first
  EXPECT_EQ(cfs->review(writer, soon), soon + microseconds(900) + Duration{1}) << "then the writer is ahead by enough";
  cfs->charge(writer, microseconds(899), soon + microseconds(899));
  EXPECT_GT(cfs->review(writer, soon + microseconds(899)), soon + microseconds(899));
  cfs->charge(writer, microseconds(300), soon + microseconds(1199));
  EXPECT_EQ(cfs->review(writer, soon + microseconds(1199)), soon + microseconds(1199));

  // Far ahead, and at the beginning of its next turn: the rest of a quarter of a tick.
  cfs->enqueue(writer, EnqueueReason::preempted, soon + microseconds(1199));
  ASSERT_EQ(cfs->pick(Instant{} + milliseconds(2)).entity, &reader);
  ASSERT_EQ(cfs->pick(Instant{} + milliseconds(2)).entity, &writer);
  cfs->charge(writer, microseconds(10), Instant{} + milliseconds(3));
  reader.last_ran = Instant{} + milliseconds(2);
  cfs->enqueue(reader, EnqueueReason::woken, Instant{} + milliseconds(3));
  EXPECT_EQ(cfs->review(writer, Instant{} + milliseconds(3)), Instant{} + milliseconds(3) + microseconds(990));
}

// Somebody who ran on the core, for no time, and sleeps since then.
void let_sleep(OwnedAlgorithm& cfs, SchedulingEntity& entity, Instant now) {
  cfs->enqueue(entity, EnqueueReason::migrated, now);
  ASSERT_EQ(cfs->pick(now).entity, &entity);
  cfs->charge(entity, Duration{}, now);
  entity.last_ran = now;
}

// Its turn ends at `now`, after it ran for so long; as nobody else waits, the next one begins.
void run_a_turn(OwnedAlgorithm& cfs, SchedulingEntity& entity, Duration ran, Instant now) {
  cfs->charge(entity, ran, now);
  cfs->enqueue(entity, EnqueueReason::preempted, now);
  ASSERT_EQ(cfs->pick(now).entity, &entity);
}

TEST(Cfs, WhoSeldomRunsOrIsWokenByAnInterruptPreemptsAtOnce) {
  struct Trial {
    const char* algorithm;
    bool by_interrupt;
    Duration slept, left;
  };
  // Behind by what the writer ran while it slept, by three ticks at most. Whom an interrupt has woken waits for no beginning of a
  // turn, only until the writer is ahead by a quarter of a tick.
  for (const Trial& trial :
       {Trial{"cfs", false, milliseconds(2), microseconds(990)}, Trial{"cfs", false, milliseconds(4), microseconds(990)},
        Trial{"cfs", false, milliseconds(6), Duration{}}, Trial{"cfs", false, seconds(5), Duration{}},
        Trial{"cfs:overdue=300", false, seconds(5), microseconds(990)},
        Trial{"cfs", true, microseconds(400), microseconds(590) + Duration{1}}, Trial{"cfs", true, milliseconds(2), Duration{}},
        Trial{"cfs", true, seconds(5), Duration{}}}) {
    OwnedAlgorithm cfs{trial.algorithm, parameters};
    SchedulingEntity writer, woken;
    let_sleep(cfs, woken, Instant{});
    cfs->enqueue(writer, EnqueueReason::migrated, Instant{});
    ASSERT_EQ(cfs->pick(Instant{}).entity, &writer);
    const Instant begin = Instant{} + trial.slept;
    run_a_turn(cfs, writer, trial.slept, begin);
    const Instant now = begin + microseconds(10);
    cfs->charge(writer, microseconds(10), now);
    woken.woken_by_interrupt = trial.by_interrupt;
    cfs->enqueue(woken, EnqueueReason::woken, now);
    EXPECT_EQ(cfs->review(writer, now), now + trial.left)
        << trial.algorithm << " " << trial.by_interrupt << " " << trial.slept.ns;
  }
}

TEST(Cfs, WhoSleptWhileNobodyRanIsNoFurtherBehind) {
  // Else it would pass by those that wait. Where it did not run before, half of the time counts beside the one that runs.
  struct Trial {
    CoreId ran_on;
    Duration behind;
  };
  for (const Trial& trial : {Trial{parameters.core, microseconds(10)}, Trial{CoreId{3}, milliseconds(1)}}) {
    OwnedAlgorithm cfs{"cfs:lead=100,undisturbed=0", parameters};
    SchedulingEntity sleeper, running;
    let_sleep(cfs, sleeper, Instant{});
    sleeper.last_core = trial.ran_on;
    const Instant now = Instant{} + milliseconds(2);
    cfs->enqueue(running, EnqueueReason::migrated, now - microseconds(10));
    ASSERT_EQ(cfs->pick(now - microseconds(10)).entity, &running);
    cfs->charge(running, microseconds(10), now);
    cfs->enqueue(sleeper, EnqueueReason::woken, now);
    EXPECT_EQ(cfs->review(running, now), now + milliseconds(4) - trial.behind + Duration{1}) << "when it is ahead by a tick";
  }
}

TEST(Cfs, WhenAWokenThreadMayPreemptIsExactWhateverTheRunningOneWeighs) {
  // Else it would be asked again after a nanosecond, in which a heavy thread gets nowhere, and again.
  for (const i32 nice : {-20, -7, 0, 9, 19}) {
    OwnedAlgorithm cfs{"cfs", parameters};
    SchedulingEntity running, timed;
    running.weight = weight_of(nice);
    Instant now = Instant{} + milliseconds(1);
    cfs->enqueue(running, EnqueueReason::migrated, now);
    ASSERT_EQ(cfs->pick(now).entity, &running);
    timed.woken_by_interrupt = true;
    timed.last_ran = now;
    cfs->enqueue(timed, EnqueueReason::woken, now);
    const Instant until = cfs->review(running, now);
    EXPECT_GT(until, now);
    cfs->charge(running, (until - now) - Duration{1}, until - Duration{1});
    EXPECT_GT(cfs->review(running, until - Duration{1}), until - Duration{1}) << nice;
    cfs->charge(running, Duration{1}, until);
    EXPECT_LE((cfs->review(running, until) - until).ns, real_time(1, running.weight)) << "what two charges round off";
  }
}

TEST(Cfs, OnlySoManyPreemptAtOnceButOfThoseWokenByInterruptsAll) {
  // A writer that is preempted at every word, by readers that are far behind.
  struct Trial {
    const char* algorithm;
    bool by_interrupt;
    int most;
  };
  for (const auto& [algorithm, by_interrupt, most] : {Trial{"cfs", false, 2 + 21}, Trial{"cfs:calm=25", false, 2 + 10},
                                                      Trial{"cfs:calm=0", false, 400}, Trial{"cfs", true, 400}}) {
    OwnedAlgorithm cfs{algorithm, parameters};
    SchedulingEntity writer;
    std::array<SchedulingEntity, 400> readers;
    for (SchedulingEntity& reader : readers) let_sleep(cfs, reader, Instant{});
    cfs->enqueue(writer, EnqueueReason::migrated, Instant{});
    ASSERT_EQ(cfs->pick(Instant{}).entity, &writer);
    Instant now = Instant{} + seconds(1);
    run_a_turn(cfs, writer, seconds(1), now);
    int at_once = 0;
    for (SchedulingEntity& reader : readers) {  // for 10 ms
      now = now + microseconds(25);
      cfs->charge(writer, microseconds(25), now);
      reader.woken_by_interrupt = by_interrupt;
      cfs->enqueue(reader, EnqueueReason::woken, now);
      const bool preempts = cfs->review(writer, now) == now;
      EXPECT_EQ(cfs->review(writer, now) == now, preempts) << "asked again";
      if (preempts) ++at_once;
      cfs->dequeue(reader, now);
      run_a_turn(cfs, writer, Duration{}, now);  // so that it is not over by itself
    }
    EXPECT_EQ(at_once, most) << algorithm;
  }
}

TEST(Cfs, AWokenThreadThatLeftIsNotTakenForANewOneInItsMemory) {
  OwnedAlgorithm cfs{"cfs", parameters};
  SchedulingEntity running, woken;
  cfs->enqueue(running, EnqueueReason::migrated, Instant{});
  ASSERT_EQ(cfs->pick(Instant{}).entity, &running);
  const Instant now = Instant{} + microseconds(100);
  cfs->charge(running, microseconds(100), now);
  cfs->enqueue(woken, EnqueueReason::woken, now);
  cfs->dequeue(woken, now);  // pulled elsewhere, where it ends
  woken.timeline.forget();
  cfs->enqueue(woken, EnqueueReason::created, now);
  EXPECT_EQ(cfs->review(running, now), Instant{} + milliseconds(12)) << "half of six ticks";
}

TEST(Cfs, ALighterThreadGetsAShorterTurnButNotBelowATick) {
  OwnedAlgorithm cfs{"cfs", parameters};
  SchedulingEntity heavy, light;
  light.weight = weight_of(10);
  cfs->enqueue(heavy, EnqueueReason::migrated, Instant{});
  cfs->enqueue(light, EnqueueReason::migrated, Instant{});
  const Decision first = cfs->pick(Instant{});
  ASSERT_EQ(first.entity, &heavy);
  EXPECT_GT(first.until.ns, milliseconds(20).ns);
  cfs->charge(heavy, milliseconds(20), first.until);
  cfs->enqueue(heavy, EnqueueReason::preempted, first.until);
  const Decision second = cfs->pick(first.until);
  ASSERT_EQ(second.entity, &light);
  EXPECT_EQ((second.until - first.until), milliseconds(4));
}

}  // namespace
}  // namespace corral::test

// The placement policies, and the placer's account of entities that travel.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
// optimised: a simulation of millions of steps
#include <gtest/gtest.h>

#include "machine.h"

namespace corral::test {
namespace {

CoreSet random_set(Random& random, u32 cores) {
  CoreSet set;
  for (u32 i = 0; i < cores; ++i) {
    if (random.one_in(3)) set.add(CoreId{i});
  }
  if (set.empty()) set.add(CoreId{static_cast<u32>(random.below(cores))});
  return set;
}

TEST(AllPlacements, NeverLeaveTheCandidates) {
  for (const PlacementDescriptor* descriptor : placements()) {
    OwnedPlacer placer{descriptor->name};
    Random random{42};
    for (int i = 0; i < 20'000; ++i) {
      const u32 cores = static_cast<u32>(random.below(max_cores)) + 1;
      const CoreSet candidates = random_set(random, cores);
      SchedulingEntity entity;
      entity.last_core = CoreId{static_cast<u32>(random.below(max_cores))};
      entity.last_ran = Instant{static_cast<i64>(random.below(2))};
      placer->statistics(CoreId{static_cast<u32>(random.below(max_cores))}).publish(static_cast<u32>(random.below(9)), 0, 0);
      const auto reason = random.one_in(2) ? PlacementReason::created : PlacementReason::woken;
      const CoreId here{static_cast<u32>(random.below(max_cores))};
      ASSERT_TRUE(candidates.contains(placer->choose(entity, reason, candidates, here, Instant{i}))) << descriptor->name;
    }
    EXPECT_EQ(placer->policies().violations(), 0u) << descriptor->name << ": the policy itself must be right, not the check";
  }
}

TEST(RandomPlacement, AllCandidatesAreEquallyLikely) {
  OwnedPlacer placer{"random"};
  CoreSet candidates;
  for (u32 core : {1u, 63u, 64u, 200u}) candidates.add(CoreId{core});
  u32 hits[max_cores] = {};
  SchedulingEntity entity;
  for (int i = 0; i < 40'000; ++i) {
    ++hits[placer->choose(entity, PlacementReason::created, candidates, CoreId{0}, Instant{}).value];
  }
  candidates.for_each([&](CoreId core) { EXPECT_NEAR(hits[core.value], 10'000, 500) << core.value; });
}

TEST(RoundRobinPlacement, TakesTheCandidatesInTurn) {
  OwnedPlacer placer{"round-robin"};
  SchedulingEntity entity;
  for (u32 i = 0; i < 12; ++i) {
    EXPECT_EQ(placer->choose(entity, PlacementReason::created, CoreSet::first(4), CoreId{2}, Instant{}).value, i % 4);
  }
}

// The first of the least loaded from the core after the asking one round to that itself, looked for in the simplest way.
TEST(LeastLoaded, TakesTheFirstOfTheLeastRound) {
  OwnedPlacer placer{"least-loaded"};
  Random random{7};
  SchedulingEntity entity;
  for (int i = 0; i < 20'000; ++i) {
    const u32 cores = static_cast<u32>(random.below(max_cores)) + 1;
    const CoreSet candidates = random_set(random, cores);
    const CoreId here{static_cast<u32>(random.below(max_cores))};
    const bool crowded = random.one_in(2);
    for (u32 core = 0; core < max_cores; ++core) {
      placer->statistics(CoreId{core}).publish(static_cast<u32>(random.below(4)) + (crowded ? 1 : 0), 0, 0);
    }
    u32 expected = max_cores, least = ~0u;
    for (u32 step = 1; step <= max_cores; ++step) {
      const u32 core = (here.value + step) % max_cores;
      if (!candidates.contains(CoreId{core})) continue;
      u32 load = placer->statistics(CoreId{core}).load();
      if (core == here.value && load > 0) --load;  // the creator
      if (load < least) {
        least = load;
        expected = core;
      }
    }
    ASSERT_EQ(placer->choose(entity, PlacementReason::created, candidates, here, Instant{i}).value, expected) << i;
  }
}

// One thread creates all others, then waits for them.
TEST(LeastLoaded, ThreadsOfOneCreatorSpreadEvenly) {
  for (u32 cores = 1; cores <= 16; ++cores) {
    for (u32 threads = 1; threads <= 40; ++threads) {
      for (u32 creator = 0; creator < cores; creator += 3) {
        OwnedPlacer placer{"least-loaded"};
        std::vector<u32> runnable(cores, 0);
        std::vector<SchedulingEntity> entities(threads);
        runnable[creator] = 1;
        placer->statistics(CoreId{creator}).publish(1, 0, 0);
        for (u32 i = 0; i < threads; ++i) {  // none of them has arrived while the creator goes on
          const CoreId to =
              placer->choose(entities[i], PlacementReason::created, CoreSet::first(cores), CoreId{creator}, Instant{});
          placer->assign(entities[i], to, CoreId{creator});
          ++runnable[to.value];
          if (to.value == creator) placer->statistics(to).publish(runnable[creator], 0, 0);
        }
        --runnable[creator];  // it sleeps now
        for (u32 core = 0; core < cores; ++core) {
          EXPECT_GE(runnable[core], threads / cores) << cores << " cores, " << threads << " threads";
          EXPECT_LE(runnable[core], (threads + cores - 1) / cores) << cores << " cores, " << threads << " threads";
        }
        if (threads < cores) EXPECT_EQ(runnable[creator], 0u) << "the creator may go on working";
      }
    }
  }
}

TEST(LeastLoaded, AWokenThreadStaysWhileItsCoreIsIdle) {
  OwnedPlacer placer{"least-loaded"};
  SchedulingEntity entity;
  entity.last_core = CoreId{3};
  entity.last_ran = Instant{5};
  const auto place = [&] {
    return placer->choose(entity, PlacementReason::woken, CoreSet::first(4), CoreId{0}, Instant{10}).value;
  };
  EXPECT_EQ(place(), 3u);
  for (u32 core = 0; core < 4; ++core) placer->statistics(CoreId{core}).publish(core == 1 ? 0 : 1, 0, 0);
  EXPECT_EQ(place(), 1u) << "its core is busy, another is idle";
  placer->statistics(CoreId{1}).publish(1, 0, 0);
  EXPECT_EQ(place(), 3u) << "all are equal";
  placer->statistics(CoreId{3}).publish(2, 0, 0);
  EXPECT_EQ(place(), 3u) << "one more is not worth a move";
  placer->statistics(CoreId{3}).publish(3, 0, 0);
  EXPECT_EQ(place(), 1u) << "two more are";
  entity.allowed = CoreSet::of(CoreId{2});
  EXPECT_EQ(placer->choose(entity, PlacementReason::woken, entity.allowed, CoreId{0}, Instant{10}).value, 2u);
}

TEST(Placer, ChecksTheAnswer) {
  struct Wrong final : PlacementPolicy {
    CoreId select(const PlacementRequest&, const SystemView&) override { return CoreId{77}; }
  };
  static const PlacementDescriptor descriptor{
      {"wrong", ""}, sizeof(Wrong), [](void* storage) -> PlacementPolicy* { return ::new (storage) Wrong; }};
  auto placer = std::make_unique<Placer>(next_random);
  alignas(64) u8 storage[Placer::Policies::room_for(sizeof(Wrong))];
  ASSERT_TRUE(placer->policies().empty());
  ASSERT_TRUE(placer->policies().add(descriptor, storage));
  ASSERT_FALSE(placer->policies().use(*find_placement("random"), {}));
  ASSERT_TRUE(placer->policies().use(descriptor, {}));
  SchedulingEntity entity;
  CoreSet candidates = CoreSet::of(CoreId{9});
  candidates.add(CoreId{5});
  EXPECT_EQ(placer->choose(entity, PlacementReason::created, candidates, CoreId{0}, Instant{}).value, 5u);
  EXPECT_EQ(placer->policies().violations(), 1u);
}

TEST(Placer, ForgottenAndRepeatedAssignmentsLeaveNoTrace) {
  OwnedPlacer placer{"least-loaded"};
  SchedulingEntity entity;
  entity.last_core = CoreId{1};
  entity.last_ran = Instant{1};
  placer->assign(entity, CoreId{2}, CoreId{0});
  EXPECT_EQ(placer->statistics(CoreId{2}).load(), 1u);
  EXPECT_EQ(placer->statistics(CoreId{2}).runnable(), 0u);
  placer->assign(entity, CoreId{3}, CoreId{0});
  EXPECT_EQ(placer->statistics(CoreId{2}).load(), 0u);
  EXPECT_EQ(placer->statistics(CoreId{3}).on_the_way(), 1u);
  EXPECT_EQ(placer->statistics(CoreId{1}).migrations_out(), 1u);
  placer->forget(entity);
  placer->forget(entity);
  EXPECT_EQ(placer->statistics(CoreId{3}).load(), 0u);
  EXPECT_EQ(placer->statistics(CoreId{1}).migrations_out(), 0u);
  EXPECT_EQ(entity.place, SchedulingEntity::Place::nowhere);
}

TEST(Placer, AsksByAnotherWhenItIsToldTo) {
  struct Asker final : PlacementAsker {
    bool ask(const PlacementSlot& slot, const PlacementRequest& request, CoreId& answer) override {
      EXPECT_STREQ(slot.descriptor->name, "least-loaded");
      EXPECT_EQ(slot.view.cores.size(), size_t{max_cores});
      EXPECT_TRUE(request.candidates.contains(CoreId{3}));
      if (came_back) answer = CoreId{3};
      return came_back;
    }
    bool came_back = true;
  };
  OwnedPlacer placer{"least-loaded"};
  SchedulingEntity entity;
  const auto place = [&] { return placer->choose(entity, PlacementReason::created, CoreSet::first(4), CoreId{0}, Instant{}); };
  Asker asker;
  placer->policies().ask_by(&asker);
  EXPECT_EQ(place(), CoreId{3});
  EXPECT_EQ(placer->policies().violations(), 0u);
  asker.came_back = false;
  EXPECT_TRUE(CoreSet::first(4).contains(place())) << "the engine's own policy goes on";
  EXPECT_EQ(placer->policies().violations(), 1u);
  placer->policies().ask_by(nullptr);
  EXPECT_EQ(placer->policies().violations(), 1u);
}

TEST(CoreStatistics, ACopyShowsTheSame) {
  CoreStatistics statistics;
  statistics.begin_idle(Instant{100});
  statistics.end_idle(Instant{50'000'100});
  statistics.expect_one();
  statistics.expect_one();
  statistics.publish(4, 5000, 1);
  statistics.publish_urgency(7);
  statistics.add_resources({300, 40}, milliseconds(1), 400);
  CoreStatistics copy;
  copy.show(statistics.words());
  const Instant now{60'000'000};
  EXPECT_EQ(copy.runnable(), 4u);
  EXPECT_EQ(copy.on_the_way(), 1u);
  EXPECT_EQ(copy.load(), 5u);
  EXPECT_EQ(copy.load_weight(), statistics.load_weight());
  EXPECT_EQ(copy.idle_time(now).ns, 50'000'000);
  EXPECT_EQ(copy.urgency(), 7u);
  EXPECT_EQ(copy.recent_use(RecentUse::time_of(now)), statistics.recent_use(RecentUse::time_of(now)));
  EXPECT_EQ(copy.use_rank(), statistics.use_rank());
  EXPECT_EQ(copy.resources().word(), statistics.resources().word());
  copy.show({});
  EXPECT_EQ(copy.load(), 0u);
}

TEST(CoreStatistics, IdleTimeCountsTheCurrentSleepToo) {
  CoreStatistics statistics;
  EXPECT_EQ(statistics.idle_time(Instant{100}).ns, 0);
  statistics.begin_idle(Instant{100});
  statistics.begin_idle(Instant{120});
  EXPECT_EQ(statistics.idle_time(Instant{150}).ns, 50);
  statistics.end_idle(Instant{200});
  statistics.end_idle(Instant{220});
  EXPECT_EQ(statistics.idle_time(Instant{1000}).ns, 100);
  statistics.begin_idle(Instant{2000});
  EXPECT_EQ(statistics.idle_time(Instant{2001}).ns, 101);
}

// ---- whole machines -------------------------------------------------------------------------------------------------

class Spread : public testing::TestWithParam<const char*> {};

// A program like Mandelbrot: N equal threads, made by one that then waits for them.
TEST_P(Spread, EqualThreadsFinishTogether) {
  for (u32 cores : {1u, 2u, 3u, 4u, 8u}) {
    for (u32 per_core : {1u, 2u, 4u}) {
      Machine machine{cores, GetParam(), "least-loaded"};
      machine.spawn(0, 0, [&, made = 0u](Machine::Thread& self) mutable {
        const u32 here = self.entity.last_core.value;
        if (made < cores * per_core) {
          if (made > 0) machine.spawn_job(here, milliseconds(100));
          ++made;
          return Machine::Behaviour{microseconds(20)};  // what creating one costs
        }
        machine.spawn_job(here, milliseconds(100));
        return Machine::Behaviour{microseconds(20), seconds(2)};
      });
      machine.run_for(seconds(1));
      i64 last = 0;
      for (u32 core = 0; core < cores; ++core) {
        const i64 busy = seconds(1).ns - machine.statistics(core).idle_time(machine.now).ns;
        last = std::max(last, busy);
      }
      EXPECT_LE(last, milliseconds(100 * i64{per_core}).ns * 106 / 100) << cores << " cores, " << per_core << " each";
      EXPECT_EQ(machine.violations(), 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Spread, testing::Values("fifo", "rr", "cfs"));

TEST(Machines, NoCoreStaysIdleWhileAnotherHasWaitingThreads) {
  Machine machine{4, "cfs", "least-loaded"};
  Random random{7};
  for (int i = 0; i < 12; ++i) {
    machine.spawn(0, 0, [&](Machine::Thread&) {
      return Machine::Behaviour{microseconds(100 + i64(random.below(2000))), microseconds(100 + i64(random.below(2000)))};
    });
  }
  u32 wasteful = 0;
  constexpr u32 looks = 20'000;
  for (u32 i = 0; i < looks; ++i) {
    machine.run_for(microseconds(100));
    if (machine.wasteful()) ++wasteful;
  }
  // Without migration of waiting threads a core that has just become idle waits for the next wake-up.
  EXPECT_LT(wasteful, looks / 4);
  EXPECT_EQ(machine.violations(), 0u);
}

// Any algorithm with any placement: everyone gets done, on allowed cores only, and every nanosecond is accounted for.
TEST(Machines, AnyCombinationFinishesAllWork) {
  for (const AlgorithmDescriptor* algorithm : algorithms()) {
    for (const PlacementDescriptor* placement : placements()) {
      Random random{99};
      Machine machine{5, algorithm->name, placement->name};
      i64 wanted = 0;
      for (u32 i = 0; i < 60; ++i) {
        const u32 only = static_cast<u32>(random.below(10));  // half of them may run on one core only
        const i32 nice = static_cast<i32>(random.below(40)) - 20;
        machine.spawn(static_cast<u32>(random.below(5)), nice, [&, only, left = 20](Machine::Thread& self) mutable {
          // Placement happens after this: the mask holds from the first wake-up or creation on.
          if (only < 5) self.entity.allowed = CoreSet::of(CoreId{only});
          if (self.entity.has_run() && only < 5) EXPECT_EQ(self.entity.last_core.value, only);
          if (left-- == 0) return Machine::Behaviour{.end = true};
          const Duration work = microseconds(1 + static_cast<i64>(random.below(3000)));
          wanted += work.ns;
          return Machine::Behaviour{work, microseconds(1 + static_cast<i64>(random.below(3000)))};
        });
      }
      ASSERT_TRUE(machine.run_to_end(seconds(100))) << algorithm->name << ", " << placement->name;
      i64 busy = 0;
      for (u32 core = 0; core < 5; ++core) {
        busy += (machine.now - Instant{1}).ns - machine.statistics(core).idle_time(machine.now).ns;
        EXPECT_EQ(machine.statistics(core).load(), 0u);
      }
      EXPECT_EQ(busy, wanted) << algorithm->name << ", " << placement->name;
      EXPECT_EQ(machine.violations(), 0u) << algorithm->name << ", " << placement->name;
    }
  }
}

}  // namespace
}  // namespace corral::test

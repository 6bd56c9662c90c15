// Scheduler and SchedulingManager on cores that are objects only: their timers are notes, their messages are delivered when
// the test says so.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/engine/migrator.cpp kernel/sched/migration/*.cpp
// sources: kernel/sched/engine/scheduler.cpp kernel/sched/engine/manager.cpp kernel/sched/engine/random_source.cpp
// sources: kernel/sched/engine/idle_watch.cpp kernel/trace/invariants.cpp kernel/core/core_progress.cpp
// sources: kernel/sched/engine/manager_text.cpp kernel/sched/engine/manager_groups.cpp kernel/sched/engine/manager_queues.cpp
// sources: kernel/sched/engine/global_queue.cpp kernel/sched/engine/global_turn.cpp
// sources: kernel/sched/engine/core_groups.cpp kernel/sched/engine/dynamic_ratio.cpp
// sources: kernel/sched/groups/*.cpp
// sources: kernel/sched/engine/recorded_timeline.cpp kernel/sched/engine/decision_recorder.cpp
// sources: kernel/trace/trace.cpp kernel/sched/engine/fallbacks.cpp
// sources: kernel/sched/engine/counting.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp
#include "engine_machine.h"

namespace corral {
namespace {

using namespace sched;

TEST_F(Engine, TheTimerIsArmedForTheSliceAndOnlyWhenSomethingWaits) {
  SchedulingEntity& a = make();
  SchedulingEntity& b = make();
  Scheduler& mine = timeline(0);
  mine.enqueue(a, EnqueueReason::created);
  EXPECT_TRUE(mine.reschedule_wanted()) << "idle: there is something to pick";
  ASSERT_EQ(mine.pick_next(), &a);
  EXPECT_FALSE(mine.reschedule_wanted());
  EXPECT_EQ(mine.slice_end(), never);
  pass(milliseconds(1));
  mine.enqueue(b, EnqueueReason::created);
  EXPECT_FALSE(mine.reschedule_wanted());
  EXPECT_EQ(armed[0], time_now + milliseconds(11)) << "half of the latency of six ticks, one millisecond used";
  pass(milliseconds(5));
  mine.on_timer(false);
  EXPECT_FALSE(mine.reschedule_wanted()) << "too early";
  EXPECT_EQ(armed[0], time_now + milliseconds(6));
  pass(milliseconds(6));
  mine.on_timer(false);
  EXPECT_TRUE(mine.reschedule_wanted());
  EXPECT_EQ(mine.slice_end(), never);
  EXPECT_EQ(a.run_time, milliseconds(12));
  mine.leave(a, LeaveReason::preempted);
  ASSERT_EQ(mine.pick_next(), &b);
  EXPECT_EQ(mine.slice_end(), time_now + milliseconds(12));
  pass(milliseconds(2));
  mine.update_running();
  EXPECT_EQ(b.run_time, milliseconds(2));
  EXPECT_TRUE(mine.remove(a));
}

TEST_F(Engine, WhoWaitsForATimerDoesNotWaitForWhatATickLooksAt) {
  SchedulingEntity& a = make();
  SchedulingEntity& b = make();
  Scheduler& mine = timeline(0);
  mine.enqueue(a, EnqueueReason::created);
  ASSERT_EQ(mine.pick_next(), &a);
  mine.enqueue(b, EnqueueReason::created);
  pass(milliseconds(8));
  mine.on_timer(true);
  b.home = CoreId{3};  // as it must not be: what a tick looks at
  const u64 before = invariants::count();
  pass(milliseconds(4));
  mine.on_timer(true);
  EXPECT_EQ(invariants::count(), before) << "others were due";
  pass(milliseconds(4));
  mine.on_timer(true);
  EXPECT_EQ(invariants::count(), before + 1) << "but not for longer than two ticks";
  pass(milliseconds(4));
  mine.on_timer(false);
  EXPECT_EQ(invariants::count(), before + 2);
  b.home = CoreId{0};
}

TEST_F(Engine, IdleTimeAndSwitchesAreCounted) {
  SchedulingEntity& a = make();
  Scheduler& mine = timeline(1);
  const i64 idle = mine.statistics().idle_time(time_now).ns;
  const u64 switches = mine.statistics().switches.load(Order::relaxed);
  pass(milliseconds(7));
  mine.enqueue(a, EnqueueReason::created);
  ASSERT_EQ(mine.pick_next(), &a);
  pass(milliseconds(3));
  mine.leave(a, LeaveReason::yielded);
  ASSERT_EQ(mine.pick_next(), &a);
  pass(milliseconds(3));
  mine.leave(a, LeaveReason::blocked);
  ASSERT_EQ(mine.pick_next(), nullptr);
  pass(milliseconds(2));
  EXPECT_EQ(mine.statistics().idle_time(time_now).ns - idle, milliseconds(9).ns);
  EXPECT_EQ(mine.statistics().switches.load(Order::relaxed) - switches, 1u);
}

TEST_F(Engine, PlacedEntitiesTravelAndArrive) {
  SchedulingEntity& creator = make();
  timeline(0).enqueue(creator, EnqueueReason::created);
  ASSERT_EQ(timeline(0).pick_next(), &creator);
  std::deque<SchedulingEntity>& children = make_several(8);
  std::vector<u32> homes;
  for (SchedulingEntity& child : children) homes.push_back(scheduling().place(child, PlacementReason::created).value);
  // The creator enqueues its own child only after this loop, so core 0 looks emptier than it is: never worse than 3.
  for (u32 core = 1; core < 4; ++core) EXPECT_LE(scheduling().statistics(CoreId{core}).on_the_way(), 3u);
  for (size_t i = 0; i < children.size(); ++i) timeline(homes[i]).enqueue(children[i], EnqueueReason::created);
  for (u32 core = 0; core < 4; ++core) EXPECT_EQ(scheduling().statistics(CoreId{core}).on_the_way(), 0u);
}

TEST_F(Engine, AMaskWithoutAnOnlineCoreIsWidened) {
  SchedulingEntity& entity = make();
  entity.allowed = CoreSet::of(CoreId{200});
  EXPECT_LT(scheduling().place(entity, PlacementReason::created).value, 4u);
  EXPECT_TRUE(entity.allowed.contains(CoreId{0}));
  scheduling().forget(entity);
}

TEST_F(Engine, BeforeAnyCoreIsOnlineTheAskingOneIsTheAnswer) {
  SchedulingEntity& entity = make();
  online_cores = CoreSet{};
  current = 2;
  EXPECT_EQ(scheduling().place(entity, PlacementReason::created).value, 2u);
  online_cores = CoreSet::first(4);
  EXPECT_EQ(entity.place, SchedulingEntity::Place::nowhere);
}

TEST_F(Engine, ACoreWithoutASchedulerGetsNobody) {
  online_cores = CoreSet::first(6);  // 4 and 5 are online, but their schedulers are not complete
  for (const char* policy : {"random", "round-robin", "least-loaded"}) {
    ASSERT_TRUE(set_placement(policy).ok());
    for (u32 i = 0; i < 50; ++i) {
      SchedulingEntity& entity = make();
      EXPECT_LT(scheduling().place(entity, PlacementReason::created).value, 4u) << policy;
      scheduling().forget(entity);
    }
  }
  online_cores = CoreSet::first(4);
}

TEST_F(Engine, AnExplicitMigrationIsAccounted) {
  SchedulingEntity& entity = make();
  timeline(0).enqueue(entity, EnqueueReason::created);
  ASSERT_EQ(timeline(0).pick_next(), &entity);
  pass(microseconds(5));
  timeline(0).leave(entity, LeaveReason::migrating);
  const u64 out = scheduling().statistics(CoreId{0}).migrations_out();
  const u64 in = scheduling().statistics(CoreId{2}).migrations_in.load(Order::relaxed);
  scheduling().send(entity, CoreId{2});
  EXPECT_EQ(scheduling().statistics(CoreId{2}).load(), 1u);
  timeline(2).enqueue(entity, EnqueueReason::migrated);
  EXPECT_EQ(scheduling().statistics(CoreId{0}).migrations_out(), out + 1);
  EXPECT_EQ(scheduling().statistics(CoreId{2}).migrations_in.load(Order::relaxed), in + 1);
}

TEST_F(Engine, ChangingTheAlgorithmMovesEveryoneAndLeaksNothing) {
  std::deque<SchedulingEntity>& entities = make_several(6);
  Scheduler& busy = timeline(1);
  for (SchedulingEntity& entity : entities) busy.enqueue(entity, EnqueueReason::created);
  ASSERT_EQ(busy.pick_next(), &entities[0]);
  const i64 live = live_allocations;
  current = 0;
  EXPECT_EQ(set_algorithm("none").error(), Errno::einval);
  ASSERT_TRUE(set_algorithm("rr").ok());
  EXPECT_EQ(scheduling().algorithm_name(), "rr");
  EXPECT_EQ(posted.size(), 3u);
  deliver();
  EXPECT_TRUE(timeline(1).reschedule_wanted()) << "a core that would not look for long is told";
  for (u32 core = 0; core < 4; ++core) {
    if (core != 1) EXPECT_EQ(timeline(core).pick_next(), nullptr);
  }
  pass(milliseconds(1));
  timeline(1).leave(entities[0], LeaveReason::preempted);
  EXPECT_EQ(timeline(1).pick_next(), &entities[1]);
  EXPECT_STREQ(timeline(1).algorithm().name, "rr");
  EXPECT_EQ(timeline(1).slice_end(), time_now + milliseconds(4));
  EXPECT_EQ(timeline(1).waiting(), 5u);
  EXPECT_EQ(live_allocations, live);
}

TEST_F(Engine, SomeCoresMayHaveAnotherAlgorithm) {
  const auto text = [] {
    std::vector<char> room(16 << 10);
    return std::string{room.data(), scheduling().describe_scheduling(room.data(), room.size())};
  };
  const CoreSet some = CoreSet::of(CoreId{1}) | CoreSet::of(CoreId{3});
  ASSERT_TRUE(set_algorithm("mlfq:levels=3", some).ok());
  deliver();
  for (u32 core = 0; core < 4; ++core) {
    EXPECT_EQ(timeline(core).pick_next(), nullptr);
    EXPECT_STREQ(timeline(core).algorithm().name, some.contains(CoreId{core}) ? "mlfq" : "cfs");
  }
  EXPECT_EQ(scheduling().algorithm_name(), "cfs");
  EXPECT_NE(text().find("timeline of core 1: mlfq:levels=3,quantum=100,boost="), std::string::npos) << text();
  EXPECT_EQ(text().find("timeline of core 2"), std::string::npos);
  EXPECT_EQ(set_algorithm("none", some).error(), Errno::einval);
  EXPECT_NE(text().find("timeline of core 3: mlfq"), std::string::npos);
  use("rr");
  EXPECT_EQ(text().find("timeline of core"), std::string::npos);
}

TEST_F(Engine, WithoutMemoryNothingIsRecorded) {
  ASSERT_TRUE(set_placement("round-robin").ok());
  SchedulingEntity entity;
  const auto place = [&] {
    const CoreId chosen = scheduling().place(entity, PlacementReason::created);
    scheduling().forget(entity);
    return chosen.value;
  };
  while (place() != 1) continue;
  allocations_until_failure = 2;
  EXPECT_EQ(scheduling().record_decisions(true).error(), Errno::enomem);
  allocations_until_failure = -1;
  EXPECT_EQ(place(), 2u) << "the same object as before, not a recorder's, which would begin with core 0";
  EXPECT_EQ(place(), 3u);
}

TEST_F(Engine, WithoutMemoryNoAlgorithmChanges) {
  const i64 live = live_allocations;
  for (i64 n = 0; n < 4; ++n) {
    allocations_until_failure = n;
    EXPECT_EQ(set_algorithm("fifo").error(), Errno::enomem) << n;
    EXPECT_EQ(scheduling().algorithm_name(), "cfs");
    EXPECT_EQ(live_allocations, live);
  }
  allocations_until_failure = 0;
  EXPECT_EQ(timeline(0).change_algorithm(*find_algorithm("fifo"), {}).error(), Errno::enomem);
  EXPECT_EQ(timeline(0).start(*find_algorithm("fifo"), {}).error(), Errno::ebusy);
  allocations_until_failure = -1;
  EXPECT_TRUE(posted.empty());
  ASSERT_TRUE(timeline(0).change_algorithm(*find_algorithm("fifo"), {}).ok());
  EXPECT_STREQ(timeline(0).algorithm().name, "fifo");
  EXPECT_EQ(live_allocations, live);
}

TEST_F(Engine, PlacementChangesWhileRunning) {
  EXPECT_EQ(set_placement("worst").error(), Errno::einval);
  EXPECT_EQ(scheduling().placement_name(), "least-loaded");
  ASSERT_TRUE(set_placement("round-robin").ok());
  EXPECT_EQ(scheduling().placement_name(), "round-robin");
  std::map<u32, u32> hits;
  for (int i = 0; i < 8; ++i) {
    SchedulingEntity& entity = make();
    ++hits[scheduling().place(entity, PlacementReason::created).value];
    scheduling().forget(entity);
  }
  for (u32 core = 0; core < 4; ++core) EXPECT_EQ(hits[core], 2u);
}

TEST_F(Engine, AChangeOfMigrationReachesEveryCore) {
  EXPECT_EQ(set_migration("sometimes").error(), Errno::einval);
  EXPECT_EQ(scheduling().migration_name(), "pull");
  EXPECT_TRUE(posted.empty());
  for (const char* name : {"push", "none", "both:hot=7", "pull"}) {
    ASSERT_TRUE(set_migration(name).ok());
    EXPECT_EQ(posted.size(), 3u) << "cores that sleep look for work, or cease to";
    deliver();
    const bool pulls = scheduling().migrator().pulls();
    SchedulingEntity& entity = make();
    for (u32 core = 0; core < 4; ++core) {
      EXPECT_TRUE(timeline(core).reschedule_wanted());
      EXPECT_EQ(timeline(core).pick_next(), nullptr);
      EXPECT_EQ(timeline(core).may_be_given(), pulls) << name;
    }
    EXPECT_FALSE(timeline(2).may_have_to_spare());
    timeline(2).enqueue(entity, EnqueueReason::created);
    EXPECT_EQ(timeline(2).may_have_to_spare(), pulls) << name;
    EXPECT_EQ(timeline(2).spare(), 0u) << "the one that is about to run";
    EXPECT_TRUE(timeline(2).remove(entity));
  }
  current = 0;
}

TEST_F(Engine, WhereAThreadMayBe) {
  SchedulingEntity& entity = make();
  entity.allowed = CoreSet::of(CoreId{2});
  entity.allowed.add(CoreId{200});
  entity.asked = entity.allowed;
  EXPECT_EQ(scheduling().cores_for(entity), CoreSet::of(CoreId{2}));
  online_cores.remove(CoreId{2});
  EXPECT_TRUE(scheduling().cores_for(entity).empty());
  online_cores = CoreSet::first(4);
}

TEST_F(Engine, NiceValuesOfRunningWaitingAndSleepingEntities) {
  SchedulingEntity& running = make();
  SchedulingEntity& waiting = make();
  SchedulingEntity& sleeping = make();
  Scheduler& mine = timeline(0);
  mine.enqueue(running, EnqueueReason::created);
  mine.enqueue(waiting, EnqueueReason::created);
  ASSERT_EQ(mine.pick_next(), &running);
  mine.set_nice(running, 5);
  mine.set_nice(waiting, -5);
  mine.set_nice(sleeping, 100);
  EXPECT_EQ(sleeping.nice, 19);
  EXPECT_EQ(mine.statistics().load_weight(), weight_of(5) + weight_of(-5));
  EXPECT_EQ(mine.slice_end(), time_now + milliseconds(4)) << "a light one beside a heavy one: the shortest turn";
}

TEST_F(Engine, TheDescriptionIsATableAndNeverOverruns) {
  std::vector<char> text(4096, '#');
  const size_t size = scheduling().describe_scheduling(text.data(), text.size());
  const std::string table{text.data(), size};
  EXPECT_NE(table.find("algorithm cfs: "), std::string::npos) << table;
  EXPECT_NE(table.find("placement least-loaded: "), std::string::npos);
  EXPECT_NE(table.find("migration pull: "), std::string::npos);
  EXPECT_NE(table.find("migrations of core 3: pushed 0 asked 0 given 0 refused 0 offered 0\n"), std::string::npos);
  EXPECT_NE(table.find("cfs.latency 600 % of a tick: "), std::string::npos) << table;
  for (size_t room : {size_t{0}, size_t{1}, size_t{40}, size / 2}) {
    std::fill(text.begin(), text.end(), '#');
    EXPECT_LE(scheduling().describe_scheduling(text.data(), room), room);
    EXPECT_EQ(text[room], '#');
  }
}

TEST(RandomSource, ASeedRepeats) {
  random_source::use_seed(5);
  const u64 first = random_source::next();
  const u64 second = random_source::next();
  EXPECT_NE(first, second);
  random_source::use_seed(5);
  EXPECT_EQ(random_source::next(), first);
  EXPECT_EQ(random_source::next(), second);
}

}  // namespace
}  // namespace corral

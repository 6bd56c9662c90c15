// Changes of policies that meet another one under way: refused as a whole, with the reason.
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

TEST_F(Engine, AChangeDuringAnotherIsRefusedAndChangesNoCore) {
  const auto text = [] {
    std::vector<char> room(16 << 10);
    return std::string{room.data(), scheduling().describe_scheduling(room.data(), room.size())};
  };
  ASSERT_TRUE(set_algorithm("fifo").ok());
  for (u32 core = 0; core < 4; ++core) {
    if (core != 2) EXPECT_EQ(timeline(core).pick_next(), nullptr);
  }
  current = 0;
  posted.clear();
  const i64 live = live_allocations;
  const std::string before = text();
  Refusal why;
  EXPECT_EQ(scheduling().set_algorithm("mlfq", why).error(), Errno::ebusy);
  EXPECT_EQ(why.view(), "the last change of the algorithm has not reached core 2 yet; try again");
  EXPECT_EQ(scheduling().set_algorithm("mlfq", why, CoreSet::of(CoreId{1}) | CoreSet::of(CoreId{2})).error(), Errno::ebusy);
  EXPECT_EQ(scheduling().set_algorithm("none", why).error(), Errno::einval) << "what is wrong is told first";
  EXPECT_EQ(text(), before);
  EXPECT_EQ(live_allocations, live);
  EXPECT_TRUE(posted.empty());
  for (u32 core = 0; core < 4; ++core) {
    EXPECT_EQ(timeline(core).pick_next(), nullptr);
    EXPECT_STREQ(timeline(core).algorithm().name, "fifo") << core;
  }
  EXPECT_TRUE(scheduling().set_algorithm("mlfq", why).ok()) << "all cores have it";
  for (u32 core = 0; core < 4; ++core) EXPECT_EQ(timeline(core).pick_next(), nullptr);
  ASSERT_TRUE(set_algorithm("rr", CoreSet::of(CoreId{1})).ok());
  EXPECT_TRUE(set_algorithm("fifo", CoreSet::of(CoreId{3})).ok()) << "another core";
  EXPECT_EQ(set_algorithm("fifo").error(), Errno::ebusy);
  online_cores.remove(CoreId{1});
  online_cores.remove(CoreId{3});
  EXPECT_TRUE(set_algorithm("fifo").ok()) << "nobody waits for a core that does not run";
  online_cores = CoreSet::first(4);
  for (u32 core = 0; core < 4; ++core) EXPECT_EQ(timeline(core).pick_next(), nullptr);
}

TEST_F(Engine, RecordingBeginsDuringAChangeToo) {
  ASSERT_TRUE(set_algorithm("rr").ok());
  ASSERT_TRUE(scheduling().record_decisions(false).ok()) << "the same choice, made anew";
  for (u32 core = 0; core < 4; ++core) {
    EXPECT_EQ(timeline(core).pick_next(), nullptr);
    EXPECT_STREQ(timeline(core).algorithm().name, "rr");
  }
}

TEST_F(Engine, AChangeOfTheQueuesDuringAnotherIsRefused) {
  Refusal why;
  ASSERT_TRUE(scheduling().set_queues("global", why).ok());
  for (u32 core = 0; core < 3; ++core) {
    current = core;
    scheduling().queues_taken();
  }
  current = 0;
  const size_t sent = posted.size();
  EXPECT_EQ(scheduling().set_queues("per-core", why).error(), Errno::ebusy);
  EXPECT_EQ(why.view(), "the last change of the queues has not reached core 3 yet; try again");
  EXPECT_TRUE(scheduling().global_queue().in_use());
  EXPECT_EQ(posted.size(), sent);
  current = 3;
  scheduling().queues_taken();
  EXPECT_TRUE(scheduling().set_queues("per-core", why).ok());
  EXPECT_FALSE(scheduling().global_queue().in_use());
  for (current = 0; current < 4; ++current) scheduling().queues_taken();
  current = 0;
  posted.clear();
}

TEST_F(Engine, AChangeOfTheGroupsDuringAnotherIsRefused) {
  Refusal why;
  ASSERT_TRUE(scheduling().set_groups("affinity-mask:ratio=1:1", why).ok());
  for (u32 core = 1; core < 4; ++core) {
    current = core;
    scheduling().groups_taken();
  }
  current = 1;
  const CoreSet real_time = scheduling().group_of(true);
  EXPECT_EQ(scheduling().set_groups("blocked-migration:ratio=1:3", why).error(), Errno::ebusy);
  EXPECT_EQ(why.view(), "the last change of the groups has not reached core 0 yet; try again");
  EXPECT_EQ(scheduling().set_groups("none", why).error(), Errno::ebusy);
  EXPECT_EQ(scheduling().groups_name(), "affinity-mask");
  EXPECT_EQ(scheduling().group_of(true), real_time);
  current = 0;
  scheduling().groups_taken();
  EXPECT_TRUE(scheduling().set_groups("none", why).ok());
  for (current = 0; current < 4; ++current) scheduling().groups_taken();
  current = 0;
  posted.clear();
}

}  // namespace
}  // namespace corral

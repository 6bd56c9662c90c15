// Core groups: layouts and ratios for every number of cores, the dynamic ratio, and the engine that answers which cores an
// entity may use.
// sources: kernel/sched/*.cpp kernel/sched/groups/*.cpp kernel/sched/engine/core_groups.cpp kernel/sched/engine/safe_policies.cpp
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "lib/random.h"
#include "sched/engine/core_groups.h"

namespace corral::sched {
namespace {

constexpr Duration tick = milliseconds(4);

std::string picture(const CoreSet& cores, Layout layout, u32 real_time) {
  const CoreSet chosen = lay_out(cores, layout, real_time);
  std::string text;
  cores.for_each([&](CoreId core) { text += chosen.contains(core) ? 'X' : 'Y'; });
  return text;
}

TEST(Layout, ThePapersPictures) {
  const CoreSet eight = CoreSet::first(8);
  EXPECT_EQ(picture(eight, Layout::grouped, 4), "XXXXYYYY");
  EXPECT_EQ(picture(eight, Layout::alternate, 4), "XYXYXYXY");
  EXPECT_EQ(picture(eight, Layout::double_alternate, 4), "XXYYXXYY");
  EXPECT_EQ(picture(eight, Layout::alternate, 2), "XYYYXYYY");
  EXPECT_EQ(picture(eight, Layout::double_alternate, 2), "XXYYYYYY");
  EXPECT_EQ(picture(eight, Layout::double_alternate, 6), "XXXXXXYY");
  EXPECT_EQ(picture(eight, Layout::double_alternate, 3), "XXXYYYYY");
  EXPECT_EQ(picture(CoreSet::first(32), Layout::double_alternate, 16), "XXYYXXYYXXYYXXYYXXYYXXYYXXYYXXYY");
}

TEST(Layout, EveryNumberOfCoresGetsExactlyItsShare) {
  for (u32 cores = 2; cores <= max_cores; ++cores) {
    CoreSet set;  // with gaps, where cores did not start
    for (u32 i = 0; i < cores; ++i) set.add(CoreId{cores <= max_cores / 2 ? 2 * i : i});
    for (u32 real_time = 1; real_time < cores; ++real_time) {
      for (const Layout layout : {Layout::grouped, Layout::alternate, Layout::double_alternate}) {
        const CoreSet chosen = lay_out(set, layout, real_time);
        ASSERT_EQ(chosen.count(), real_time) << cores << ' ' << static_cast<int>(layout);
        ASSERT_EQ(chosen & set, chosen);
        ASSERT_TRUE(chosen.contains(set.lowest())) << "the real-time group begins";
      }
    }
  }
}

TEST(Layout, RatiosAreRoundedToTheNearest) {
  EXPECT_EQ(real_time_share({1, 1}, 8), 4u);
  EXPECT_EQ(real_time_share({2, 1}, 8), 5u) << "5.33";
  EXPECT_EQ(real_time_share({1, 2}, 8), 3u) << "2.67";
  EXPECT_EQ(real_time_share({1, 3}, 2), 1u) << "0.5: halves up";
  EXPECT_EQ(real_time_share({1, 1}, 3), 2u);
  EXPECT_EQ(real_time_share({1, 9}, 4), 0u) << "left to the caller to refuse";
  EXPECT_EQ(real_time_share({256, 1}, 256), 255u);
  EXPECT_EQ(real_time_share({256, 1}, 4), 4u);
  for (u32 cores = 1; cores <= max_cores; ++cores) {
    for (const Ratio ratio : {Ratio{1, 1}, Ratio{2, 1}, Ratio{1, 2}, Ratio{3, 1}, Ratio{1, 3}, Ratio{256, 1}, Ratio{7, 5}}) {
      const double exact = double(cores) * ratio.real_time / (ratio.real_time + ratio.normal);
      EXPECT_LE(std::abs(real_time_share(ratio, cores) - exact), 0.5);
    }
  }
}

// ---- how they are written -----------------------------------------------------------------------------------------------

const GroupingDescriptor* choose(std::string_view text, TunableValues& values, std::string& why) {
  Refusal refusal;
  const GroupingDescriptor* chosen = choose_grouping(text, tick, values, refusal);
  why = refusal.view();
  return chosen;
}

TEST(Grouping, NamesAndValues) {
  TunableValues values;
  std::string why;
  const GroupingDescriptor* masks = choose("affinity-mask", values, why);
  ASSERT_NE(masks, nullptr);
  EXPECT_STREQ(masks->name, "affinity-mask");
  EXPECT_EQ(values.number(GroupTunables::layout), 0);
  EXPECT_EQ(values.number(GroupTunables::ratio), packed_ratio(1, 1));
  ASSERT_NE(choose("run-queue-entry:layout=double-alternate,ratio=3:1,dynamic=on,interval=5000,hysteresis=0", values, why),
            nullptr);
  EXPECT_EQ(values.number(GroupTunables::layout), 2);
  EXPECT_EQ(first_of(values.number(GroupTunables::ratio)), 3u);
  EXPECT_EQ(second_of(values.number(GroupTunables::ratio)), 1u);
  EXPECT_EQ(values.number(GroupTunables::dynamic), 1);
  EXPECT_EQ(values.time(GroupTunables::interval), milliseconds(5));
  char room[32];
  const Tunable& ratio = GroupTunables::all[GroupTunables::ratio];
  EXPECT_EQ(write_value(ratio, packed_ratio(3, 1), room), "3:1");
  EXPECT_EQ(write_value(GroupTunables::all[GroupTunables::layout], 1, room), "alternate");
  EXPECT_EQ(choose("none", values, why)->method, nullptr);

  EXPECT_EQ(choose("affinity-mask:layout=round", values, why), nullptr);
  EXPECT_EQ(why, "layout=round: write layout=grouped|alternate|double-alternate");
  for (const char* text : {"1", "1:", ":1", "0:1", "1:0", "1:257", "1:2:3", "a:b", "-1:1", "1 :1"}) {
    EXPECT_EQ(choose(std::string{"affinity-mask:ratio="} + text, values, why), nullptr) << text;
    EXPECT_EQ(why, std::string{"ratio="} + text + ": write ratio=NUMBER:NUMBER, each 1 to 256");
  }
  EXPECT_EQ(choose("none:ratio=1:1", values, why), nullptr);
}

// ---- the dynamic ratio ----------------------------------------------------------------------------------------------------

// Both classes have `threads` that always want to run; each core runs one and the rest waits.
class Load {
 public:
  Load(u32 cores, u32 real_time, u32 normal) : cores_{cores}, real_time_{real_time}, normal_{normal} {
    demand_.begin({}, now_);
  }
  u32 present = 1;

  u32 pass(u32 hysteresis) {
    now_ = now_ + milliseconds(100);
    run(loads_.real_time, real_time_, present);
    run(loads_.normal, normal_, cores_ - present);
    return present = demand_.next(loads_, now_, cores_, present, hysteresis);
  }
  u32 pass(int times, u32 hysteresis) {
    while (times-- > 0) pass(hysteresis);
    return present;
  }
  void become(u32 real_time, u32 normal) { real_time_ = real_time, normal_ = normal; }

 private:
  static void run(GroupLoad& load, u32 threads, u32 cores) {
    const u32 busy = threads < cores ? threads : cores;
    load.busy_ns += milliseconds(100).ns * busy;
    load.waiting = threads - busy;
  }
  u32 cores_, real_time_, normal_;
  Instant now_{1};
  GroupLoads loads_;
  Demand demand_;
};

TEST(Demand, CoresFollowTheThreadsThatCouldRun) {
  for (const u32 cores : {2u, 3u, 4u, 8u, 32u, 256u}) {
    Load load{cores, 1, 0};
    for (const auto& [real_time, normal] :
         std::vector<std::pair<u32, u32>>{{100, 100}, {300, 100}, {1, 1000}, {1000, 0}, {3, 9}}) {
      load.become(real_time * cores, normal * cores);  // so many that a class is short of cores, whatever it has
      load.pass(40, 60);
      const double wanted = double(cores) * real_time / (real_time + normal);
      const double possible = std::clamp(wanted, 1.0, double(cores - 1));
      EXPECT_LE(std::abs(load.present - possible), 0.62) << cores << ' ' << real_time << ':' << normal;
    }
  }
}

TEST(Demand, NothingChangesWithoutNeed) {
  Load load{8, 4, 4};
  EXPECT_EQ(load.pass(20, 60), 4u);
  load.become(0, 0);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(load.pass(60), 4u) << "nobody wants anything";
  load.become(4, 1);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(load.pass(0), 4u) << "each thread has a core";
  // 4.57 of 8 is wanted: not worth a change by itself.
  load.become(8, 6);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(load.pass(60), 4u);
  EXPECT_EQ(load.pass(40, 50), 5u);
}

// A thousand threads that are woken at once: those of one class come an interval before the others, whose class has rested so far.
TEST(Demand, WhoComesFirstDoesNotTakeAllCores) {
  Load load{32, 100, 100};
  EXPECT_EQ(load.pass(20, 60), 16u);
  load.become(0, 5);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(load.pass(60), 16u) << "nobody is short of cores";
  load.become(3, 500);
  EXPECT_EQ(load.pass(60), 12u);
  load.become(500, 500);
  for (int i = 0; i < 20; ++i) EXPECT_GE(load.pass(60), 12u);
  EXPECT_EQ(load.present, 16u);
}

// ---- the engine -----------------------------------------------------------------------------------------------------------

class Machine {
 public:
  explicit Machine(u32 cores) : online{CoreSet::first(cores)} {}

  void use(std::string_view text) {
    Refusal why;
    CoreGroups::Configuration wanted;
    wanted.method = choose_grouping(text, tick, wanted.values, why);
    ASSERT_NE(wanted.method, nullptr) << why.view();
    const u32 share = wanted.method->method == nullptr ? 0 : CoreGroups::share(wanted, online.count(), 0, why);
    groups.begin(wanted, online, share);
    EXPECT_TRUE(groups.under_way());
    online.for_each([&](CoreId core) { groups.taken(core); });
    EXPECT_FALSE(groups.under_way());
  }

  CoreId place(const SchedulingEntity& entity, Proposals& policy) {
    return groups.place(entity, policy, online, CoreId{0}, Instant{1});
  }

  CoreGroups groups;
  CoreSet online;
};

std::string refusal(std::string_view text, u32 cores, u32 needed = 0) {
  Refusal why;
  CoreGroups::Configuration wanted;
  wanted.method = choose_grouping(text, tick, wanted.values, why);
  EXPECT_NE(wanted.method, nullptr);
  EXPECT_EQ(CoreGroups::share(wanted, cores, needed, why), 0u);
  return std::string{why.view()};
}

TEST(CoreGroups, NoClassIsLeftWithoutACore) {
  EXPECT_EQ(refusal("affinity-mask", 1), "there is one core only: a group would have none");
  EXPECT_EQ(refusal("affinity-mask:ratio=1:9", 4), "ratio 1:9 leaves real-time threads none of 4 cores");
  EXPECT_EQ(refusal("affinity-mask:ratio=9:1", 4), "ratio 9:1 leaves threads that are not real-time none of 4 cores");
  EXPECT_EQ(refusal("affinity-mask", 4, 3), "2 cores are too few for what is reserved: 3 are needed");
}

TEST(CoreGroups, MasksFollowClassAndGroups) {
  Machine machine{8};
  SchedulingEntity entity;
  EXPECT_TRUE(machine.groups.settled(entity)) << "nothing to do while there never were groups";
  machine.use("affinity-mask:ratio=1:3");
  EXPECT_FALSE(machine.groups.settled(entity));
  EXPECT_EQ(machine.groups.usable(entity, machine.online).lowest(), CoreId{2}) << "also before its mask is renewed";
  machine.groups.renew(entity, machine.online);
  EXPECT_TRUE(machine.groups.settled(entity));
  EXPECT_EQ(entity.allowed.count(), 6u);
  entity.real_time = 5;
  machine.groups.renew(entity, machine.online);
  EXPECT_EQ(entity.allowed, CoreSet::first(2));
  entity.asked = CoreSet::of(CoreId{7});
  machine.groups.renew(entity, machine.online);
  EXPECT_EQ(entity.allowed, CoreSet::first(2)) << "nothing is left of its own mask";
  entity.real_time = 0;
  machine.groups.renew(entity, machine.online);
  EXPECT_EQ(entity.allowed, CoreSet::of(CoreId{7})) << "which counts again now";
  machine.use("none");
  EXPECT_FALSE(machine.groups.settled(entity));
  machine.groups.renew(entity, machine.online);
  EXPECT_EQ(entity.allowed, entity.asked);
  EXPECT_TRUE(machine.groups.settled(entity));
}

// Proposes what it is told to, or the lowest.
class Proposer final : public Proposals {
 public:
  explicit Proposer(std::vector<u32> wishes) : wishes_{std::move(wishes)} {}
  CoreId among(const CoreSet& candidates) override {
    ++asked;
    EXPECT_FALSE(candidates.empty());
    for (const u32 wish : wishes_) {
      if (candidates.contains(CoreId{wish})) return CoreId{wish};
    }
    return candidates.lowest();
  }
  int asked = 0;

 private:
  std::vector<u32> wishes_;
};

TEST(CoreGroups, MethodsKeepThreadsAwayAtDifferentPlaces) {
  Machine machine{4};
  SchedulingEntity entity;  // of the normal group: cores 2 and 3
  machine.use("blocked-migration");
  EXPECT_FALSE(machine.groups.settled(entity));
  Proposer policy{{1, 0, 3}};
  EXPECT_EQ(machine.place(entity, policy), CoreId{3});
  EXPECT_EQ(policy.asked, 3);
  EXPECT_EQ(machine.groups.blocked(), 2u);
  EXPECT_FALSE(machine.groups.guards_entry());

  machine.use("run-queue-entry");
  Proposer other{{1, 0, 3}};
  EXPECT_EQ(machine.place(entity, other), CoreId{1}) << "wherever the policy wants it";
  EXPECT_TRUE(machine.groups.guards_entry());
  for (const char* method : {"blocked-migration", "run-queue-entry"}) {
    machine.use(method);
    machine.groups.renew(entity, machine.online);
    EXPECT_FALSE(machine.groups.settled(entity)) << "asked at every placement";
    EXPECT_EQ(entity.allowed & machine.online, machine.groups.group(false, machine.online));
    EXPECT_EQ(machine.groups.shown(CoreSet::first(3), false, machine.online), CoreSet::first(3)) << "its mask is its own";
  }
}

TEST(CoreGroups, EveryMethodEndsInTheGroup) {
  Random random{7};
  for (u32 cores = 2; cores <= 64; ++cores) {
    Machine machine{cores};
    for (const GroupingDescriptor* method : groupings()) {
      if (method->method == nullptr) continue;
      machine.use(method->name);
      for (int i = 0; i < 50; ++i) {
        SchedulingEntity entity;
        entity.real_time = static_cast<u8>(random.next() % 2);
        entity.asked = {};
        entity.asked.set_word(0, random.next());
        if ((entity.asked & machine.online).empty()) entity.asked.add(CoreId{0});
        const CoreSet group = machine.groups.group(entity.real_time != 0, machine.online);
        const CoreSet usable = machine.groups.usable(entity, machine.online);
        EXPECT_EQ(usable & group, usable);
        EXPECT_FALSE(usable.empty());
        Proposer policy{{static_cast<u32>(random.next() % cores)}};
        CoreId chosen = machine.place(entity, policy);
        EXPECT_TRUE(usable.contains(chosen) || machine.groups.guards_entry()) << method->name;
        EXPECT_LE(policy.asked, 5) << "also where the policy likes all other cores better";
      }
    }
  }
}

TEST(CoreGroups, ARunQueueTurnsAwayWhoIsNotOfItsGroup) {
  Machine machine{4};
  SchedulingEntity entity;  // of the normal group: cores 2 and 3
  const CoreSet normal = machine.online.without(CoreSet::first(2));
  for (const auto& [method, away, moved] : {std::tuple{"run-queue-entry", 1u, 0u}, {"affinity-mask", 1u, 1u}}) {
    machine.use(method);
    EXPECT_EQ(machine.groups.turn_away(entity, CoreId{1}, machine.online), normal);
    EXPECT_EQ(machine.groups.turned_away(), away) << "sent there on purpose";
    EXPECT_EQ(machine.groups.moved(), moved) << "sent there by groups that have changed";
    EXPECT_TRUE(machine.groups.turn_away(entity, CoreId{3}, machine.online).empty());
  }
}

TEST(CoreGroups, WhoMayUseAllCoresOfItsGroup) {
  Machine machine{4};
  SchedulingEntity entity;
  EXPECT_TRUE(machine.groups.may_use_whole_group(entity, machine.online));
  entity.asked = CoreSet::of(CoreId{2}) | CoreSet::of(CoreId{3});
  machine.use("affinity-mask");
  EXPECT_TRUE(machine.groups.may_use_whole_group(entity, machine.online)) << "it asked for two cores, of which that group is";
  machine.use("affinity-mask:ratio=1:3");
  EXPECT_FALSE(machine.groups.may_use_whole_group(entity, machine.online));
}

// Masks are brought up to date by who can send a thread away at once. Whether it may wait globally is asked at other moments, too, and
// while half of the next change is there.
TEST(CoreGroups, AskingChangesNoMask) {
  Machine machine{4};
  SchedulingEntity entity;
  entity.asked = entity.allowed = machine.online;
  machine.use("affinity-mask");  // cores 0 and 1 are for real-time threads
  EXPECT_TRUE(machine.groups.may_use_whole_group(entity, machine.online));
  EXPECT_EQ(entity.allowed, machine.online);
  EXPECT_FALSE(machine.groups.settled(entity));
  machine.groups.renew(entity, machine.online);
  EXPECT_EQ(entity.allowed, machine.online.without(CoreSet::first(2)));
}

TEST(CoreGroups, ADynamicRatioFollowsWhatCoresPublish) {
  const auto numbers = std::make_unique<CoreStatistics[]>(8);
  const std::span<const CoreStatistics> all{numbers.get(), 8};
  Machine machine{8};
  Instant now{1};
  for (u32 core = 0; core < 8; ++core) numbers[core].begin_idle(now);
  Demand demand;
  const auto loads = [&](u32 elsewhere = 0) { return machine.groups.loads(all, machine.online, elsewhere, now); };
  const auto next = [&](u32 needed, u32 elsewhere = 0) {
    now = now + milliseconds(100);
    return machine.groups.next_share(demand, loads(elsewhere), machine.online, needed, now);
  };
  machine.use("affinity-mask:ratio=1:1");
  demand.begin(loads(), now);
  EXPECT_EQ(next(0), 0u) << "this ratio is not dynamic";
  machine.use("affinity-mask:ratio=1:1,dynamic=on");
  EXPECT_EQ(next(0), 0u) << "nobody wants anything";
  for (u32 core = 3; core < 8; ++core) {  // one real-time thread, and two on each normal core
    numbers[core].end_idle(now);
    numbers[core].publish(core == 3 ? 1 : 2, 0, 0);
  }
  demand.begin(loads(), now);
  EXPECT_EQ(next(0), 3u) << "a quarter of the way from 4 cores to those of 1 : 8";
  EXPECT_EQ(next(3), 3u) << "so many are reserved";
  EXPECT_EQ(next(9), 7u) << "the others keep a core";
  EXPECT_EQ(next(4), 0u) << "that is what it is";
  demand.begin(loads(40), now);
  EXPECT_EQ(loads(40).normal.waiting, 44u);
  machine.groups.begin(machine.groups.configuration(), machine.online, 1);
  EXPECT_EQ(next(0), 0u) << "the last change is under way";
}

}  // namespace
}  // namespace corral::sched

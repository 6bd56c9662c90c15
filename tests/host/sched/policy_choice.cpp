// Policies by name with values for their tunables: what is read, and what is refused with which words.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/placer.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp kernel/sched/migration/*.cpp
#include <gtest/gtest.h>

#include <string>

#include "sched/policy_choice.h"

namespace corral::sched {
namespace {

constexpr Duration tick = milliseconds(4);

std::string refusal(std::string_view text) {
  TunableValues values;
  values.set(0, 77);
  Refusal why;
  EXPECT_EQ(choose_algorithm(text, tick, values, why), nullptr) << text;
  EXPECT_EQ(values.number(0), 77) << "unchanged";
  return std::string{why.view()};
}

TEST(PolicyChoice, DefaultsAndValues) {
  TunableValues values;
  Refusal why;
  ASSERT_EQ(choose_algorithm("mlfq", tick, values, why), find_algorithm("mlfq"));
  EXPECT_EQ(values.number(0), 4);
  EXPECT_EQ(values.time(1), milliseconds(4));
  EXPECT_EQ(values.time(2), seconds(1));
  ASSERT_NE(choose_algorithm("mlfq:boost=250000,levels=0x3", tick, values, why), nullptr);
  EXPECT_EQ(values.number(0), 3);
  EXPECT_EQ(values.time(1), milliseconds(4)) << "what is not named has its default";
  EXPECT_EQ(values.time(2), milliseconds(250));
  ASSERT_NE(choose_algorithm("mlfq:quantum=50", milliseconds(10), values, why), nullptr);
  EXPECT_EQ(values.time(1), milliseconds(5)) << "a part of the tick";
  ASSERT_EQ(choose_placement("blend:threads=0,cold=100", tick, values, why), find_placement("blend"));
  EXPECT_EQ(values.number(3), 100);
  EXPECT_NE(choose_algorithm("fifo:", tick, values, why), nullptr);
}

TEST(PolicyChoice, RefusalsSayWhatIsRight) {
  EXPECT_NE(refusal("cfq").find("there is no cfq; there are "), std::string::npos);
  for (const AlgorithmDescriptor* policy : algorithms()) EXPECT_NE(refusal("x").find(policy->name), std::string::npos);
  EXPECT_NE(refusal("").find("there are "), std::string::npos);
  EXPECT_EQ(refusal("mlfq:quantm=3"), "mlfq has no tunable quantm; it has levels, quantum, boost");
  EXPECT_EQ(refusal("fifo:quantum=3"), "fifo has no tunable quantum; it has none");
  EXPECT_EQ(refusal("mlfq:levels=17"), "levels=17: write levels=NUMBER, 1 to 16");
  EXPECT_EQ(refusal("rr:quantum=0"), "quantum=0: write quantum=NUMBER, 1 to 100000 % of a tick");
  for (const char* text : {"mlfq:levels", "mlfq:levels=", "mlfq:levels=-1", "mlfq:levels=3 ", "mlfq:levels=3,,", "mlfq:,",
                           "mlfq:levels=99999999999999999999", "mlfq levels=3", "mlfq:levels=3,boost=x"}) {
    EXPECT_FALSE(refusal(text).empty()) << text;
  }
  EXPECT_LE(refusal("mlfq:" + std::string(2000, 'q')).size(), sizeof(Refusal::text)) << "cut, not overrun";
}

TEST(PolicyChoice, EveryPolicyTellsWhatAUserInterfaceNeeds) {
  const auto check = [](const PolicyDescription& policy) {
    EXPECT_NE(std::string_view{policy.description}, "") << policy.name;
    const TunableValues defaults{policy, tick};
    std::string all = std::string{policy.name} + ":";
    for (size_t i = 0; i < policy.tunables.size(); ++i) {
      const Tunable& tunable = policy.tunables[i];
      EXPECT_NE(std::string_view{tunable.description}, "") << policy.name << tunable.name;
      EXPECT_EQ(tunable.as_shown(defaults.number(i), tick), tunable.standard) << policy.name << tunable.name;
      for (size_t k = 0; k < i; ++k) EXPECT_STRNE(policy.tunables[k].name, tunable.name);
      all += (i == 0 ? "" : ",") + std::string{tunable.name} + "=" + std::to_string(tunable.high);
    }
    return all;
  };
  TunableValues values;
  Refusal why;
  for (const AlgorithmDescriptor* policy : algorithms()) {
    EXPECT_EQ(choose_algorithm(check(*policy), tick, values, why), policy) << why.view();
  }
  for (const PlacementDescriptor* policy : placements()) {
    EXPECT_EQ(choose_placement(check(*policy), tick, values, why), policy) << why.view();
  }
  for (const MigrationDescriptor* policy : migrations()) {
    EXPECT_EQ(choose_migration(check(*policy), tick, values, why), policy) << why.view();
  }
}

constexpr const char* layouts[] = {"a", "b"};

TEST(PolicyChoice, EveryTunableIsALineForPeople) {
  char room[512];
  const auto line_of = [&](const PolicyDescription& policy, std::string_view name) {
    for (const Tunable& tunable : policy.tunables) {
      if (name == tunable.name) return std::string{write_tunable(tunable, room)};
    }
    return std::string{};
  };
  EXPECT_EQ(line_of(*find_algorithm("mlfq"), "levels"), "levels=4, 1 to 16: how many levels there are");
  EXPECT_TRUE(line_of(*find_algorithm("cfs"), "turn").starts_with("turn=100, 1 to 10000 % of a tick: "));
  EXPECT_TRUE(line_of(*find_algorithm("mlfq"), "boost").starts_with("boost=1000000, 0 to 60000000 µs: "));
  const Tunable layout{"layout", Unit::choice, 0, 1, 1, "which", layouts};
  EXPECT_EQ(write_tunable(layout, room), "layout=b, a|b: which");
  const Tunable ratio{"ratio", Unit::ratio, 1, 64, packed_ratio(1, 3), "how"};
  EXPECT_EQ(write_tunable(ratio, room), "ratio=1:3, NUMBER:NUMBER, each 1 to 64: how");
}

}  // namespace
}  // namespace corral::sched

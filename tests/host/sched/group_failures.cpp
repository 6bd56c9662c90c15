// Grouping methods that do wrong: the groups stay, and the engine's own method goes on.
// sources: kernel/sched/*.cpp kernel/sched/groups/*.cpp kernel/sched/engine/core_groups.cpp kernel/sched/engine/safe_policies.cpp
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "sched/engine/core_groups.h"

namespace corral::sched {

namespace {

// What the method of these tests does: as it is told.
std::function<void(const GroupingRequest&, CoreSet&)> wrong;

}  // namespace

class Wrong final : public GroupingMethod {
 public:
  void choose(const GroupingRequest& request, CoreSet& candidates) const override { wrong(request, candidates); }
};

namespace {

struct Told {
  u32 often = 0;
  const GroupingDescriptor* method = nullptr;
  PolicyFailure failure{};
} told;

class Lowest final : public Proposals {
 public:
  CoreId among(const CoreSet& candidates) override {
    EXPECT_FALSE(candidates.empty());
    return candidates.lowest();
  }
};

// Of eight cores the first four are the real-time class's.
class GroupFailures : public testing::Test {
 protected:
  GroupFailures() {
    told = {};
    groups_.set_listener([](const GroupingDescriptor& failed, const TunableValues&, const PolicyFailure& failure) {
      told = {told.often + 1, &failed, failure};
    });
    entity_.number = 7;
    use("test.wrong:dynamic=on");
  }
  void use(std::string_view text) {
    Refusal why;
    CoreGroups::Configuration wanted;
    wanted.method = choose_grouping(text, milliseconds(4), wanted.values, why);
    ASSERT_NE(wanted.method, nullptr) << why.view();
    groups_.begin(wanted, online_, 4);
    online_.for_each([&](CoreId core) { groups_.taken(core); });
  }
  CoreId place() {
    Lowest policy;
    return groups_.place(entity_, policy, online_, CoreId{3}, Instant{9});
  }
  void expect_replaced(Misdeed why) {
    EXPECT_EQ(place(), CoreId{4}) << "the lowest core of its group";
    EXPECT_EQ(told.often, 1u);
    EXPECT_STREQ(told.method->name, "test.wrong");
    EXPECT_EQ(told.failure.misdeed, why);
    EXPECT_EQ(told.failure.call, PolicyCall::choose);
    EXPECT_EQ(told.failure.thread, 7);
    EXPECT_EQ(told.failure.here, CoreId{3});
    EXPECT_EQ(told.failure.now, Instant{9});
    EXPECT_STREQ(groups_.current()->name, "safe");
    EXPECT_EQ(groups_.group(true, online_), CoreSet::first(4)) << "the groups stay";
    EXPECT_EQ(groups_.violations(), 1u);
    wrong = [](const GroupingRequest&, CoreSet&) { ADD_FAILURE() << "it is asked no more"; };
    EXPECT_EQ(place(), CoreId{4});
  }

  CoreGroups groups_;
  const CoreSet online_ = CoreSet::first(8);
  SchedulingEntity entity_;  // of the normal group
};

TEST_F(GroupFailures, WhoAnswersCoresThatAreNotThere) {
  wrong = [](const GroupingRequest& request, CoreSet& candidates) {
    candidates = request.own;
    candidates.add(CoreId{8});
  };
  expect_replaced(Misdeed::outside);
}

TEST_F(GroupFailures, WhoAnswersNoCore) {
  wrong = [](const GroupingRequest&, CoreSet&) {};
  expect_replaced(Misdeed::outside);
}

TEST_F(GroupFailures, WhoAnswersCoresThatTheThreadDidNotAskFor) {
  entity_.asked = CoreSet::of(CoreId{4}) | CoreSet::of(CoreId{5});
  wrong = [](const GroupingRequest& request, CoreSet& candidates) { candidates = request.group; };
  expect_replaced(Misdeed::outside);
}

TEST_F(GroupFailures, WhoWantsABlockedCoreForEver) {
  u32 asked = 0;
  wrong = [&](const GroupingRequest& request, CoreSet& candidates) {
    EXPECT_EQ(request.blocked, asked++);
    candidates = request.left.without(request.group);
  };
  expect_replaced(Misdeed::outside);
  EXPECT_EQ(asked, 5u);
  EXPECT_EQ(groups_.blocked(), 4u);
}

TEST_F(GroupFailures, WhoDoesNotComeBack) {
  wrong = [](const GroupingRequest&, CoreSet&) { throw arch::CallFailure::endless; };
  expect_replaced(Misdeed::endless);
}

TEST_F(GroupFailures, WhoWritesOverTheQuestion) {
  wrong = [](const GroupingRequest& request, CoreSet& candidates) {
    candidates = CoreSet::all();
    const_cast<GroupingRequest&>(request).left = CoreSet::all();
  };
  expect_replaced(Misdeed::outside);
}

TEST_F(GroupFailures, AnotherRatioDoesNotBringItBackButAChoiceDoes) {
  wrong = [](const GroupingRequest&, CoreSet&) {};
  expect_replaced(Misdeed::outside);
  groups_.resize(online_, 2);
  online_.for_each([&](CoreId core) { groups_.taken(core); });
  EXPECT_EQ(groups_.group(true, online_), CoreSet::first(2));
  EXPECT_EQ(place(), CoreId{2});
  EXPECT_STREQ(groups_.current()->name, "safe");
  use("test.wrong");
  wrong = [](const GroupingRequest& request, CoreSet& candidates) { candidates = request.own; };
  EXPECT_EQ(place(), CoreId{4});
  EXPECT_STREQ(groups_.current()->name, "test.wrong");
}

}  // namespace
}  // namespace corral::sched

CORRAL_GROUPING_METHOD(corral::sched::Wrong, "test.wrong", "does as it is told")

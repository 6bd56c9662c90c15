// The migration policies on plain numbers, and the engine round them.
// sources: kernel/sched/*.cpp kernel/sched/engine/run_queue*.cpp kernel/sched/engine/migrator.cpp
// sources: kernel/sched/engine/core_migration.cpp
// sources: kernel/sched/engine/safe_policies.cpp
// sources: kernel/sched/engine/placer.cpp
// sources: kernel/sched/algorithms/*.cpp kernel/sched/placement/*.cpp kernel/sched/migration/*.cpp
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "machine.h"
#include "sched/engine/core_migration.h"

namespace corral::test {
namespace {

constexpr Instant now = Instant{} + seconds(100);

// A migrator with every policy of the library in it, and numbers of cores that the test sets.
class OwnedMigrator {
 public:
  explicit OwnedMigrator(std::string_view text, const Placer::Policies* placements = nullptr)
      : migrator_{std::make_unique<Migrator>(next_random, std::span{numbers_.get(), max_cores}, placements)} {
    for (const MigrationDescriptor* descriptor : migrations()) {
      storage_.push_back(::operator new(Migrator::Policies::room_for(descriptor->size), std::align_val_t{64}));
      if (!migrator_->policies().add(*descriptor, storage_.back())) std::abort();
    }
    Refusal why;
    TunableValues values;
    const MigrationDescriptor* descriptor = choose_migration(text, milliseconds(4), values, why);
    if (descriptor == nullptr || !migrator_->policies().use(*descriptor, values)) std::abort();
  }
  OwnedMigrator(const OwnedMigrator&) = delete;
  OwnedMigrator& operator=(const OwnedMigrator&) = delete;
  ~OwnedMigrator() {
    for (void* storage : storage_) ::operator delete(storage, std::align_val_t{64});
  }
  Migrator* operator->() { return migrator_.get(); }
  Migrator& operator*() { return *migrator_; }

  void load(std::initializer_list<u32> runnable) {
    u32 core = 0;
    for (const u32 count : runnable) numbers_[core++].publish(count, u64{count} * weight_of_nice_0, 0);
  }
  // Where a thread preempted on `here` goes; all of `cores` cores are allowed.
  u32 push(u32 here, u32 cores = 4) {
    CoreSet candidates = CoreSet::first(cores);
    candidates.remove(CoreId{here});
    return migrator_->push_target({entity, candidates, CoreId{here}, now}).value;
  }
  PullAnswer ask(u32 here, Instant last_asked = {}, u32 cores = 4) {
    CoreSet candidates = CoreSet::first(cores);
    candidates.remove(CoreId{here});
    return migrator_->whom_to_ask({candidates, CoreId{here}, now, last_asked});
  }
  Instant leaves_at(u32 spare) { return migrator_->leaves_at({entity, CoreSet::of(CoreId{1}), CoreId{0}, spare, now}); }

  SchedulingEntity entity;

 private:
  std::unique_ptr<CoreStatistics[]> numbers_ = std::make_unique<CoreStatistics[]>(max_cores);
  std::unique_ptr<Migrator> migrator_;
  std::vector<void*> storage_;
};

TEST(NoMigration, MovesNobody) {
  OwnedMigrator none{"none"};
  none.load({9, 0, 0, 0});
  EXPECT_FALSE(none->pushes());
  EXPECT_FALSE(none->pulls());
  EXPECT_EQ(none.push(0), no_core.value);
  EXPECT_EQ(none.ask(1).from, no_core);
  EXPECT_EQ(none.leaves_at(8), never);
}

TEST(Push, GoesToTheEmptiestIfThatIsWorthAMove) {
  for (const char* name : {"push", "both"}) {
    OwnedMigrator push{name};
    push.load({2, 1, 1, 1});
    EXPECT_EQ(push.push(0), no_core.value) << "two here and one there would be one here and two there";
    push.load({3, 1, 1, 1});
    EXPECT_EQ(push.push(0), 1u) << "the first after this core";
    push.load({3, 1, 3, 1});
    EXPECT_EQ(push.push(2), 3u);
    push.load({3, 1, 0, 1});
    EXPECT_EQ(push.push(0), 2u);
    push.load({2, 0, 0, 0});
    push.entity.real_time = 1;
    EXPECT_EQ(push.push(0), no_core.value) << "the real-time class has a balance of its own";
  }
  OwnedMigrator push{"push:emptier=4"};
  push.load({4, 1, 1, 1});
  EXPECT_EQ(push.push(0), no_core.value);
  push.load({4, 1, 1, 0});
  EXPECT_EQ(push.push(0), 3u);
  EXPECT_EQ(push.ask(3).from, no_core) << "it does not pull";
}

TEST(Pull, AsksTheBusiestIfSomebodyWaitsThere) {
  for (const char* name : {"pull", "both"}) {
    OwnedMigrator pull{name};
    pull.load({1, 1, 0, 1});
    EXPECT_EQ(pull.ask(2).from, no_core) << "nobody is overloaded";
    pull.load({2, 3, 0, 1});
    EXPECT_EQ(pull.ask(2).from, CoreId{1});
    pull.load({2, 0, 0, 2});
    EXPECT_EQ(pull.ask(1).from, CoreId{3}) << "of equals the one after the asking core";
    EXPECT_EQ(pull.ask(2).from, CoreId{3});
    EXPECT_LE(pull.ask(2).at, now) << "it never asked before";
    EXPECT_EQ(pull.ask(2, now).at, now + microseconds(100));
  }
  OwnedMigrator pull{"pull:threshold=2,interval=5000"};
  pull.load({3, 0, 0, 0});
  EXPECT_EQ(pull.ask(1).from, no_core) << "two wait, which is not more than the threshold";
  pull.load({4, 0, 0, 0});
  EXPECT_EQ(pull.ask(1, now - milliseconds(2)).from, CoreId{0});
  EXPECT_EQ(pull.ask(1, now - milliseconds(2)).at, now + milliseconds(3));
  EXPECT_EQ(pull.push(0), no_core.value) << "it does not push";
}

TEST(Pull, WhoIsHotOrNeededStays) {
  OwnedMigrator pull{"pull:threshold=1,hot=500"};
  pull.entity.last_core = CoreId{0};
  EXPECT_LE(pull.leaves_at(2), now) << "it never ran: no cache knows it";
  EXPECT_EQ(pull.leaves_at(1), never);
  pull.entity.last_ran = now - microseconds(100);
  EXPECT_EQ(pull.leaves_at(2), now + microseconds(400));
  pull.entity.last_ran = now - microseconds(600);
  EXPECT_LE(pull.leaves_at(2), now);
  pull.entity.last_ran = now;
  pull.entity.last_core = CoreId{3};
  EXPECT_LE(pull.leaves_at(2), now) << "it came here, but did not run here";
  pull.entity.real_time = 7;
  EXPECT_EQ(pull.leaves_at(2), never);
  pull.entity.real_time = deadline_priority;
  EXPECT_EQ(pull.leaves_at(2), never) << "who has a reservation stays";
}

TEST(Pull, WhoWasSentBackToItsCacheStaysAsLongAsThePlacementWants) {
  OwnedPlacer placer{"cache-aware:hot=300"};
  for (const char* name : {"pull", "both"}) {
    placer.use("cache-aware:hot=300");
    OwnedMigrator pull{name, &placer->policies()};
    pull.entity.last_core = CoreId{0};
    EXPECT_LE(pull.leaves_at(1), now) << "it never ran: no cache knows it";
    pull.entity.last_ran = now - microseconds(100);
    EXPECT_EQ(pull.leaves_at(1), now + microseconds(200));
    EXPECT_EQ(pull.leaves_at(0), never) << "nobody is to spare";
    pull.entity.last_ran = now - microseconds(300);
    EXPECT_LE(pull.leaves_at(1), now);
    pull.entity.last_ran = now;
    pull.entity.last_core = CoreId{3};
    EXPECT_LE(pull.leaves_at(1), now) << "it came here, but did not run here";
    pull.entity.last_core = CoreId{0};
    placer.use("least-loaded");
    EXPECT_LE(pull.leaves_at(1), now) << "a placement that wants nothing of the kind";
  }
  placer.use("cache-aware:hot=300");
  OwnedMigrator longer{"pull:hot=500", &placer->policies()};
  longer.entity.last_core = CoreId{0};
  longer.entity.last_ran = now;
  EXPECT_EQ(longer.leaves_at(1), now + microseconds(500)) << "the longer of both";
  OwnedMigrator none{"none", &placer->policies()};
  EXPECT_EQ(none.leaves_at(1), never);
}

// Answers what the test says, or does not come back.
struct Wrong final : MigrationPolicy {
  static inline CoreId core{0};
  static inline Instant at{};
  static inline arch::CallFailure failure{};
  static void fail() {
    if (failure != arch::CallFailure::none) throw failure;
  }
  CoreId push(const PushRequest&, const SystemView&) override {
    fail();
    return core;
  }
  PullAnswer ask(const PullRequest&, const SystemView&) override {
    fail();
    return {core, at};
  }
  Instant leaves_at(const LeaveRequest&, const SystemView&) override {
    fail();
    return at;
  }
};
const MigrationDescriptor wrong{
    {"wrong", ""}, true, true, sizeof(Wrong), [](void* storage) -> MigrationPolicy* { return ::new (storage) Wrong; }};

// A migrator with that policy, which is in force again whenever the test asks for that.
struct WrongMigration : testing::Test {
  WrongMigration() {
    Wrong::core = CoreId{2};
    Wrong::at = now;
    Wrong::failure = arch::CallFailure::none;
    EXPECT_FALSE(migrator->policies().use(wrong, {}));
    EXPECT_TRUE(migrator->policies().add(wrong, storage));
    migrator->policies().set_listener([](const MigrationDescriptor& failed, const TunableValues&, const PolicyFailure& what) {
      EXPECT_EQ(&failed, &wrong);
      told.push_back(what);
    });
    told.clear();
    begin();
  }
  void begin() { ASSERT_TRUE(migrator->policies().use(wrong, {})); }
  // The last call was answered as if nobody were to move, and its policy was replaced for `why`.
  void expect_replaced(PolicyCall call, Misdeed why) {
    ASSERT_EQ(told.size(), ++failures);
    EXPECT_EQ(told.back().call, call);
    EXPECT_EQ(told.back().misdeed, why);
    EXPECT_EQ(told.back().here, CoreId{0});
    EXPECT_EQ(migrator->policies().violations(), failures);
    EXPECT_STREQ(migrator->policies().in_force().descriptor->name, "safe");
    EXPECT_EQ(migrator.push(0), no_core.value);
    EXPECT_EQ(migrator.ask(0).from, no_core);
    EXPECT_EQ(migrator.leaves_at(9), never);
    EXPECT_EQ(told.size(), failures) << "the safe one moves nobody, and is never wrong";
    begin();
  }
  void expect_every_call_replaced(Misdeed why) {
    EXPECT_EQ(migrator.push(0), no_core.value);
    expect_replaced(PolicyCall::push, why);
    EXPECT_EQ(migrator.ask(0).from, no_core);
    expect_replaced(PolicyCall::ask, why);
  }

  OwnedMigrator migrator{"none"};
  alignas(64) u8 storage[Migrator::Policies::room_for(sizeof(Wrong))];
  size_t failures = 0;
  static inline std::vector<PolicyFailure> told;
};

TEST_F(WrongMigration, ACoreThatIsNoCandidate) {
  for (const u32 core : {0u, 4u, 77u, 255u, 257u, ~0u}) {  // itself, offline ones, and no cores at all
    Wrong::core = CoreId{core};
    expect_every_call_replaced(Misdeed::outside);
  }
}

TEST_F(WrongMigration, ACallThatDoesNotComeBack) {
  for (const auto [failure, why] : {std::pair{arch::CallFailure::fault, Misdeed::fault},
                                    std::pair{arch::CallFailure::stack_overflow, Misdeed::stack_overflow},
                                    std::pair{arch::CallFailure::endless, Misdeed::endless}}) {
    Wrong::failure = failure;
    expect_every_call_replaced(why);
    EXPECT_EQ(migrator.leaves_at(1), never);
    expect_replaced(PolicyCall::leaves_at, why);
  }
}

TEST_F(WrongMigration, ATimeThatCannotBeMeant) {
  Wrong::at = now + Migrator::longest_wait;
  EXPECT_EQ(migrator.ask(0).at, Wrong::at);
  EXPECT_EQ(migrator.leaves_at(1), Wrong::at);
  Wrong::at = Wrong::at + nanoseconds(1);
  EXPECT_EQ(migrator.ask(0).from, no_core);
  expect_replaced(PolicyCall::ask, Misdeed::absurd_time);
  EXPECT_EQ(migrator.leaves_at(1), never);
  expect_replaced(PolicyCall::leaves_at, Misdeed::absurd_time);
  Wrong::at = never;
  EXPECT_EQ(migrator.leaves_at(1), never) << "as things are, it may not go";
  EXPECT_EQ(migrator.ask(0).from, no_core) << "whom to ask, but never: that cannot be";
  expect_replaced(PolicyCall::ask, Misdeed::absurd_time);
}

TEST_F(WrongMigration, AlwaysAMomentLaterIsAPause) {
  Wrong::at = now + nanoseconds(1);
  EXPECT_EQ(migrator.ask(0).at, now + Migrator::shortest_pause) << "an idle core sleeps";
  EXPECT_EQ(migrator.leaves_at(1), now + Migrator::shortest_pause) << "a core that is looked at gets on";
  Wrong::at = Instant{-5};
  EXPECT_EQ(migrator.ask(0).at, Wrong::at);
  EXPECT_TRUE(told.empty());
}

TEST_F(WrongMigration, ToAndFroIsNoticedUnlessSomebodyStays) {
  const auto push_needlessly = [&](u32 times) {
    for (u32 i = 0; i < times; ++i) ASSERT_EQ(migrator.push(0), 2u);
  };
  migrator.load({3, 1, 3, 1});
  push_needlessly(Migrator::most_needless - 1);
  Wrong::core = no_core;
  EXPECT_EQ(migrator.push(0), no_core.value);
  Wrong::core = CoreId{2};
  push_needlessly(Migrator::most_needless - 1);
  migrator.load({3, 1, 2, 1});
  push_needlessly(2 * Migrator::most_needless);  // it has fewer: they take turns
  migrator.load({3, 1, 3, 1});
  EXPECT_EQ(migrator.push(0), no_core.value);
  expect_replaced(PolicyCall::push, Misdeed::to_and_fro);
  EXPECT_EQ(migrator.push(0), 2u) << "whoever chooses it again begins anew";
}

TEST_F(WrongMigration, WhoIsNotAskedAboutStays) {
  EXPECT_EQ(migrator.leaves_at(0), never) << "the last one is never given away";
  EXPECT_EQ(migrator.leaves_at(1), now);
  migrator.entity.real_time = 1;
  EXPECT_EQ(migrator.leaves_at(1), never);
  EXPECT_EQ(migrator.push(0), no_core.value);
  EXPECT_TRUE(told.empty());
}

// The request is in the policy's hands, but not what its answer is compared with.
TEST(Migrator, AQuestionThatIsWrittenOverChangesNothing) {
  struct Forger final : MigrationPolicy {
    CoreId push(const PushRequest& request, const SystemView&) override {
      const_cast<CoreSet&>(request.candidates).add(CoreId{77});
      return CoreId{77};
    }
  };
  static const MigrationDescriptor forger{
      {"forger", ""}, true, false, sizeof(Forger), [](void* to) -> MigrationPolicy* { return ::new (to) Forger; }};
  OwnedMigrator migrator{"none"};
  alignas(64) u8 storage[Migrator::Policies::room_for(sizeof(Forger))];
  ASSERT_TRUE(migrator->policies().add(forger, storage));
  ASSERT_TRUE(migrator->policies().use(forger, {}));
  EXPECT_EQ(migrator.push(0), no_core.value);
  EXPECT_EQ(migrator->policies().violations(), 1u);
}

TEST(PolicySlots, WhoCannotBeMadeIsLeftOut) {
  static const MigrationDescriptor unborn{
      {"unborn", ""}, true, true, 64, [](void*) -> MigrationPolicy* { throw arch::CallFailure::fault; }};
  OwnedMigrator migrator{"none"};
  EXPECT_FALSE(migrator->policies().add(unborn, nullptr));
  EXPECT_FALSE(migrator->policies().use(unborn, {}));
  EXPECT_STREQ(migrator->policies().in_force().descriptor->name, "none");
  EXPECT_EQ(migrator->policies().violations(), 0u);
}

TEST(Migrator, OneCoreTakesARequestUp) {
  OwnedMigrator pull{"pull"};
  pull->begin_hunger(CoreId{3});
  pull->begin_hunger(CoreId{200});
  EXPECT_TRUE(pull->hungry().contains(CoreId{200}));
  EXPECT_TRUE(pull->claim(CoreId{3}));
  EXPECT_FALSE(pull->claim(CoreId{3}));
  EXPECT_FALSE(pull->claim(CoreId{5}));
  pull->end_hunger(CoreId{200});
  EXPECT_TRUE(pull->hungry().empty());
}

// A policy is never asked outside what it may answer, on any machine.
TEST(AllMigrations, NeverLeaveTheCandidates) {
  for (const MigrationDescriptor* descriptor : migrations()) {
    OwnedMigrator migrator{descriptor->name};
    Random random{3};
    for (int i = 0; i < 20'000; ++i) {
      const u32 cores = static_cast<u32>(random.below(12)) + 1;
      const u32 here = static_cast<u32>(random.below(cores));
      const auto few = [&] { return static_cast<u32>(random.below(5)); };
      migrator.load({few(), few(), few(), few(), few(), few(), few(), few(), few(), few(), few(), few()});
      const u32 pushed = migrator.push(here, cores);
      EXPECT_TRUE(pushed == no_core.value || (pushed < cores && pushed != here && descriptor->pushes));
      const u32 asked = migrator.ask(here, {}, cores).from.value;
      EXPECT_TRUE(asked == no_core.value || (asked < cores && asked != here && descriptor->pulls));
    }
    EXPECT_EQ(migrator->policies().violations(), 0u) << descriptor->name;
  }
}

TEST(CoreMigration, AsksOneAfterTheOtherUntilAllHaveRefused) {
  OwnedMigrator pull{"pull:interval=0"};
  pull.load({2, 0, 3, 2});
  const CoreSet all = CoreSet::first(4);
  CoreMigration core{CoreId{1}};
  EXPECT_EQ(core.look_for_work(*pull, all, now).from, CoreId{2});
  EXPECT_TRUE(core.hungry());
  EXPECT_TRUE(pull->hungry().contains(CoreId{1}));
  EXPECT_EQ(core.look_for_work(*pull, all, now).from, no_core) << "the answer is under way";
  core.note_refusal(CoreId{2});
  EXPECT_EQ(core.look_for_work(*pull, all, now).from, CoreId{3});
  core.note_refusal(CoreId{3});
  EXPECT_EQ(core.look_for_work(*pull, all, now).from, CoreId{0});
  core.note_refusal(CoreId{0});
  EXPECT_EQ(core.look_for_work(*pull, all, now).from, no_core);
  EXPECT_EQ(pull->counts(CoreId{1}).asked.load(Order::relaxed), 3u);
  core.begin_anew();
  EXPECT_EQ(core.look_for_work(*pull, all, now).from, CoreId{2});
  core.note_arrival(true);
  core.note_refusal(CoreId{2});
  EXPECT_EQ(core.look_for_work(*pull, all, now).from, CoreId{2}) << "refused because this core was not hungry";
  core.stop_looking(*pull);
  EXPECT_FALSE(core.hungry());
  EXPECT_TRUE(pull->hungry().empty());
}

TEST(CoreMigration, LooksAgainWhenItsPolicySaysSo) {
  OwnedMigrator pull{"pull:interval=500"};
  pull.load({2, 0});
  CoreMigration core{CoreId{1}};
  EXPECT_LE(core.look_for_work(*pull, CoreSet::first(2), now).at, now);
  core.note_refusal(CoreId{0});
  core.begin_anew();
  EXPECT_EQ(core.look_for_work(*pull, CoreSet::first(2), now).at, now + microseconds(500));
  EXPECT_EQ(core.look_for_work(*pull, CoreSet::first(2), now).at, now + microseconds(500)) << "it has not asked";
}

// What waits on core 0, the last one first.
struct Waiting {
  std::deque<SchedulingEntity> entities;
  [[nodiscard]] u32 spare() const { return static_cast<u32>(entities.size()); }
  template <class Visitor>
  SchedulingEntity* find_from_tail(u32 most, Visitor&& visit) {
    for (SchedulingEntity& entity : entities) {
      if (most-- == 0) break;
      if (visit(entity)) return &entity;
    }
    return nullptr;
  }
};

TEST(CoreMigration, GivesToWhoIsHungryAndHasNothing) {
  OwnedMigrator pull{"pull:hot=500"};
  pull.load({3, 1, 0, 0});
  Waiting waiting{std::deque<SchedulingEntity>(3)};
  const auto allowed = [](const SchedulingEntity& entity) { return entity.allowed; };
  for (const u32 core : {1u, 2u}) pull->begin_hunger(CoreId{core});
  CoreMigration core{CoreId{0}};
  auto gift = core.choose_gift(*pull, waiting, CoreSet::first(4), now, allowed);
  EXPECT_EQ(gift.entity, &waiting.entities[0]);
  EXPECT_EQ(gift.target, CoreId{2}) << "something has come to core 1, and core 3 is not hungry";
  EXPECT_FALSE(pull->hungry().contains(CoreId{2})) << "nobody else gives it anything";
  EXPECT_EQ(core.choose_gift(*pull, waiting, CoreSet::first(4), now, allowed).entity, nullptr);

  pull->begin_hunger(CoreId{2});
  waiting.entities[0].allowed = CoreSet::of(CoreId{0});
  for (SchedulingEntity& entity : waiting.entities) entity.last_ran = now - microseconds(100);
  waiting.entities[2].last_ran = now - microseconds(200);
  for (SchedulingEntity& entity : waiting.entities) entity.last_core = CoreId{0};
  gift = core.choose_gift(*pull, waiting, CoreSet::of(CoreId{2}), now, allowed);
  EXPECT_EQ(gift.entity, nullptr) << "one is bound, the others are hot";
  EXPECT_EQ(gift.cools, now + microseconds(300)) << "the first of them";
  gift = core.choose_gift(*pull, waiting, CoreSet::of(CoreId{2}), gift.cools, allowed);
  EXPECT_EQ(gift.entity, &waiting.entities[2]);
}

TEST(RunQueue, TheTailComesFirstAndEverybodyIsVisitedOnce) {
  for (const AlgorithmDescriptor* descriptor : algorithms()) {
    OwnedPlacer placer{"random"};
    RunQueue queue{CoreId{0}, placer->statistics(CoreId{0}), milliseconds(4)};
    OwnedAlgorithm algorithm{descriptor, {CoreId{0}, milliseconds(4)}};
    queue.install(*algorithm, now);
    EXPECT_EQ(queue.find_from_tail(9, [](SchedulingEntity&) { return true; }), nullptr);
    std::deque<SchedulingEntity> entities(5);
    for (SchedulingEntity& entity : entities) queue.enqueue(entity, EnqueueReason::created, now);
    std::vector<SchedulingEntity*> visited;
    const auto visit = [&](SchedulingEntity& entity) {
      visited.push_back(&entity);
      return false;
    };
    EXPECT_EQ(queue.find_from_tail(9, visit), nullptr);
    EXPECT_EQ(visited.size(), entities.size());
    EXPECT_EQ(visited.front(), algorithm->last_waiting()) << descriptor->name;
    std::ranges::sort(visited);
    EXPECT_EQ(std::ranges::adjacent_find(visited), visited.end()) << "nobody twice";
    EXPECT_EQ(queue.find_from_tail(9, [&](SchedulingEntity& entity) { return &entity == &entities[2]; }), &entities[2]);
    visited.clear();
    EXPECT_EQ(queue.find_from_tail(2, visit), nullptr);
    EXPECT_LE(visited.size(), 2u);
    while (SchedulingEntity* entity = queue.pick(now).entity) queue.leave(*entity, LeaveReason::ended, now);
  }
}

// A core where a crowd of them waits, which other cores ask again and again, has something else to do.
TEST(RunQueue, TheRealTimeClassIsNotLookedAtForAMigration) {
  OwnedPlacer placer{"random"};
  RunQueue queue{CoreId{0}, placer->statistics(CoreId{0}), milliseconds(4)};
  OwnedAlgorithm algorithm{"cfs", {CoreId{0}, milliseconds(4)}};
  queue.install(*algorithm, now);
  std::deque<SchedulingEntity> entities(50);
  for (SchedulingEntity& entity : entities) {
    entity.real_time = 10;
    queue.enqueue(entity, EnqueueReason::created, now);
  }
  u32 visited = 0;
  const auto visit = [&](SchedulingEntity& entity) { return ++visited, entity.real_time == 0; };
  EXPECT_EQ(queue.find_from_tail(32, visit), nullptr);
  EXPECT_EQ(visited, 0u);
  SchedulingEntity usual;
  queue.enqueue(usual, EnqueueReason::created, now);
  EXPECT_EQ(queue.find_from_tail(32, visit), &usual);
  EXPECT_EQ(visited, 1u);
  while (SchedulingEntity* entity = queue.pick(now).entity) queue.leave(*entity, LeaveReason::ended, now);
}

}  // namespace
}  // namespace corral::test

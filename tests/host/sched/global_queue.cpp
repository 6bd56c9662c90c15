// sources: kernel/sched/engine/global_queue.cpp kernel/sched/engine/global_turn.cpp
// The global queue alone: levels, rounds, turns, and who is told; and a core's part in it.
#include "sched/engine/global_turn.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sched/system_view.h"

namespace corral::sched {
namespace {

constexpr Duration tick = milliseconds(4);

class Queue : public testing::Test {
 protected:
  SchedulingEntity& made(i32 nice = 0, SchedulingPolicy policy = SchedulingPolicy::other) {
    SchedulingEntity& entity = *entities_.emplace_back(std::make_unique<SchedulingEntity>());
    entity.number = static_cast<i32>(entities_.size());
    entity.nice = nice;
    entity.policy = policy;
    entity.weight = weight_of(nice, policy);
    return entity;
  }
  void put(SchedulingEntity& entity, EnqueueReason reason = EnqueueReason::woken) {
    queue_->put(entity, reason, tick, [](SchedulingEntity&) {});
  }
  SchedulingEntity* take() {
    return queue_->take([](SchedulingEntity&) {});
  }
  // It ran for its whole turn, or for less.
  static void run(SchedulingEntity& entity) { entity.run_time = entity.turn_end; }
  static void run(SchedulingEntity& entity, Duration time) { entity.run_time = entity.run_time + time; }

  std::unique_ptr<GlobalQueue> queue_ = std::make_unique<GlobalQueue>();

 private:
  std::vector<std::unique_ptr<SchedulingEntity>> entities_;
};

TEST_F(Queue, TheHighestLevelComesFirstAndEachInOrder) {
  SchedulingEntity &modest = made(0, SchedulingPolicy::idle), &low = made(19), &first = made(), &second = made(),
                   &high = made(-20);
  for (SchedulingEntity* entity : {&modest, &low, &first, &second, &high}) put(*entity);
  EXPECT_EQ(queue_->waiting(), 5u);
  for (SchedulingEntity* entity : {&high, &first, &second, &low, &modest}) {
    ASSERT_EQ(take(), entity);
    EXPECT_EQ(entity->place, SchedulingEntity::Place::nowhere);
  }
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(queue_->waiting(), 0u);
}

TEST_F(Queue, WhoHasHadItsTurnWaitsForTheOthers) {
  SchedulingEntity &high = made(-20), &low = made(19);
  put(high);
  put(low);
  ASSERT_EQ(take(), &high);
  run(high);
  put(high, EnqueueReason::preempted);
  ASSERT_EQ(take(), &low);
  run(low);
  put(low, EnqueueReason::preempted);
  EXPECT_EQ(take(), &high);
  EXPECT_EQ(take(), &low);
}

TEST_F(Queue, WhoLostTheCoreEarlyGoesOnFirst) {
  SchedulingEntity &one = made(), &other = made();
  put(one);
  put(other);
  ASSERT_EQ(take(), &one);
  run(one, microseconds(1));
  put(one, EnqueueReason::preempted);
  ASSERT_EQ(take(), &one);
  EXPECT_EQ(GlobalQueue::left(one), tick - microseconds(1));
}

TEST_F(Queue, WhoYieldsOrIsNewWaitsForTheNextRound) {
  SchedulingEntity &yields = made(), &other = made(), &created = made();
  put(yields);
  put(other);
  ASSERT_EQ(take(), &yields);
  put(yields, EnqueueReason::yielded);
  put(created, EnqueueReason::created);
  EXPECT_EQ(take(), &other);
  EXPECT_EQ(take(), &yields);
  EXPECT_EQ(take(), &created);
}

TEST_F(Queue, ASleeperHasOneTurnInARound) {
  SchedulingEntity &sleeper = made(-5), &other = made();
  put(other);
  put(sleeper);
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(take(), &sleeper) << i;
    run(sleeper, Duration{GlobalQueue::turn_of(sleeper.weight, tick).ns / 4 + 1});
    put(sleeper);  // woken
  }
  EXPECT_EQ(take(), &other);
}

TEST_F(Queue, TurnsGoByWeight) {
  EXPECT_EQ(GlobalQueue::turn_of(weight_of(0), tick), tick);
  EXPECT_GT(GlobalQueue::turn_of(weight_of(-5), tick), milliseconds(12));
  EXPECT_EQ(GlobalQueue::turn_of(weight_of(-20), tick), GlobalQueue::longest_turn(tick));
  EXPECT_EQ(GlobalQueue::turn_of(weight_of_idle, tick).ns, tick.ns / 4);
}

TEST_F(Queue, OneIsTakenOutWhereverItStands) {
  SchedulingEntity &first = made(), &middle = made(), &last = made();
  for (SchedulingEntity* entity : {&first, &middle, &last}) put(*entity);
  EXPECT_TRUE(queue_->take_out(middle, [](SchedulingEntity&) {}));
  EXPECT_FALSE(queue_->take_out(middle, [](SchedulingEntity&) {}));
  EXPECT_EQ(take(), &first);
  EXPECT_EQ(take(), &last);
}

TEST_F(Queue, IdleCoresAreToldOnceEach) {
  const CoreSet all = CoreSet::first(4);
  EXPECT_TRUE(queue_->begin_idle(CoreId{1}));
  EXPECT_TRUE(queue_->begin_idle(CoreId{3}));
  EXPECT_EQ(queue_->whom_to_tell(20, CoreId{3}, all), CoreId{3});
  EXPECT_EQ(queue_->whom_to_tell(20, CoreId{3}, all), CoreId{1});
  EXPECT_EQ(queue_->whom_to_tell(20, CoreId{3}, all), no_core);
}

TEST_F(Queue, ACoreIsNotIdleBesideOneThatWaits) {
  put(made());
  EXPECT_FALSE(queue_->begin_idle(CoreId{0}));
  ASSERT_NE(take(), nullptr);
  EXPECT_TRUE(queue_->begin_idle(CoreId{0}));
}

TEST_F(Queue, TheCoreWithTheLowestLevelGivesWay) {
  const CoreSet all = CoreSet::first(3);
  queue_->note_running(CoreId{0}, 20);
  queue_->note_running(CoreId{1}, 39);
  queue_->note_running(CoreId{2}, GlobalQueue::above_all);
  EXPECT_EQ(queue_->whom_to_tell(20, CoreId{0}, all), CoreId{1});
  EXPECT_EQ(queue_->whom_to_tell(20, CoreId{0}, all), no_core);
  EXPECT_EQ(queue_->whom_to_tell(10, CoreId{0}, CoreSet::of(CoreId{2})), no_core);
  EXPECT_EQ(queue_->whom_to_tell(10, CoreId{0}, all), CoreId{0});
}

TEST_F(Queue, LocksAreCountedForEachLevel) {
  put(made());
  put(made(19));
  ASSERT_NE(take(), nullptr);
  EXPECT_EQ(queue_->figures(20).taken, 2u);
  EXPECT_EQ(queue_->figures(39).taken, 1u);
  EXPECT_EQ(queue_->figures(20).waits, 0u);
  EXPECT_EQ(queue_->figures(0).taken, 0u);
}

// ---- what the checker sees ------------------------------------------------------------------------------------------------

TEST_F(Queue, WhoWaitsIsFoundAndNobodyElse) {
  SchedulingEntity &high = made(-20), &low = made(19);
  EXPECT_FALSE(queue_->finds(high));
  put(high);
  put(low);
  EXPECT_TRUE(queue_->finds(high));
  EXPECT_TRUE(queue_->finds(low));
  ASSERT_EQ(take(), &high);
  EXPECT_FALSE(queue_->finds(high)) << "it was taken";
  EXPECT_TRUE(queue_->finds(low));
  put(high, EnqueueReason::yielded);
  EXPECT_TRUE(queue_->finds(high)) << "also in the next round";
}

TEST_F(Queue, WhoIsMarkedAsWaitingAndInNoListIsNotFound) {
  SchedulingEntity &lost = made(), &other = made();
  put(other);
  lost.place = SchedulingEntity::Place::global;
  EXPECT_FALSE(queue_->finds(lost));
  lost.global_list.store(21, Order::relaxed);
  EXPECT_FALSE(queue_->finds(lost));
  IntrusiveList<SchedulingEntity, &SchedulingEntity::engine_link> elsewhere;
  elsewhere.push_back(lost);
  lost.global_list.store(1, Order::relaxed);
  EXPECT_FALSE(queue_->finds(lost)) << "of whose level nobody knows that somebody waits there";
  elsewhere.remove(lost);
}

TEST_F(Queue, AWaitBeginsOnTheClockOfWhatCoresRan) {
  SchedulingEntity &first = made(), &second = made();
  GlobalTurn one{tick}, other{tick};
  put(first);
  one.pass(*queue_, milliseconds(300));
  other.pass(*queue_, milliseconds(200));
  put(second);
  one.pass(*queue_, milliseconds(400));
  EXPECT_EQ(queue_->clock(), milliseconds(600));
  EXPECT_EQ(first.global_since.load(Order::relaxed), Duration{});
  EXPECT_EQ(second.global_since.load(Order::relaxed), milliseconds(500));
}

TEST_F(Queue, WhatACoreRanBeforeThereWasAQueueCountsLittle) {
  GlobalTurn turn{tick};
  turn.pass(*queue_, seconds(1000));
  EXPECT_EQ(queue_->clock(), seconds(1));
  turn.pass(*queue_, seconds(1000) + milliseconds(1));
  EXPECT_EQ(queue_->clock(), seconds(1) + milliseconds(1));
}

TEST_F(Queue, OneWhoWaitsCanBeNamed) {
  EXPECT_EQ(queue_->somebody(), 0);
  SchedulingEntity& waits = made(7);
  put(waits);
  EXPECT_EQ(queue_->somebody(), waits.number);
}

// ---- a core's part ----------------------------------------------------------------------------------------------------------

constexpr Instant start = Instant{} + seconds(1);

TEST_F(Queue, ATurnEndsUnlessNobodyWantsOne) {
  GlobalTurn turn{tick};
  SchedulingEntity &runs = made(), &waits = made();
  EXPECT_FALSE(turn.any());
  turn.begin(*queue_, runs, start);
  EXPECT_TRUE(turn.any());
  EXPECT_EQ(turn.limit(*queue_, &runs, never, start), start + tick);
  EXPECT_EQ(turn.limit(*queue_, &runs, start + milliseconds(1), start), start + milliseconds(1))
      << "the timeline wants it earlier";
  run(runs);
  EXPECT_EQ(turn.limit(*queue_, &runs, never, start + tick), start + tick + tick) << "nobody waits: another one";
  put(waits);
  run(runs);
  EXPECT_LE(turn.limit(*queue_, &runs, never, start + tick + tick), start + tick + tick) << "it is over";
  turn.end(nullptr);
  EXPECT_FALSE(turn.any());
}

TEST_F(Queue, ACoreTakesOneGuestAtATime) {
  GlobalTurn turn{tick};
  SchedulingEntity &guest = made(), &other = made();
  EXPECT_TRUE(turn.wants_guest(false, start));
  EXPECT_FALSE(turn.wants_guest(true, start)) << "a real-time thread would run before him";
  turn.note_guest(guest);
  EXPECT_FALSE(turn.wants_guest(false, start));
  turn.end(&other);
  EXPECT_TRUE(turn.any()) << "he waits still";
  turn.forget(other);
  EXPECT_FALSE(turn.wants_guest(false, start));
  turn.forget(guest);
  EXPECT_TRUE(turn.wants_guest(false, start));
  turn.note_guest(guest);
  turn.end(&guest);
  EXPECT_TRUE(turn.wants_guest(false, start)) << "he runs";
}

TEST_F(Queue, AGuestIsKnownAsLongAsHeWaits) {
  GlobalTurn turn{tick};
  SchedulingEntity &guest = made(), &other = made();
  EXPECT_EQ(turn.guest(), nullptr);
  turn.note_guest(guest);
  turn.end(&other);
  EXPECT_EQ(turn.guest(), &guest);
  turn.end(&guest);
  EXPECT_EQ(turn.guest(), nullptr);
  turn.note_guest(other);
  turn.forget(other);
  EXPECT_EQ(turn.guest(), nullptr);
}

TEST_F(Queue, HostsAndIdleCoresFindEachOther) {
  const CoreSet all = CoreSet::first(3);
  EXPECT_FALSE(queue_->begin_hosting(CoreId{0}, all)) << "nobody is idle";
  ASSERT_TRUE(queue_->begin_idle(CoreId{1}));
  EXPECT_EQ(queue_->host_to_tell(CoreSet::of(CoreId{2})), no_core);
  EXPECT_EQ(queue_->host_to_tell(all), CoreId{0});
  EXPECT_EQ(queue_->host_to_tell(all), no_core) << "it is told once";
  EXPECT_TRUE(queue_->begin_hosting(CoreId{0}, all));
  EXPECT_FALSE(queue_->begin_hosting(CoreId{0}, CoreSet::of(CoreId{2}))) << "of another group";
  queue_->end_hosting(CoreId{0});
  EXPECT_EQ(queue_->host_to_tell(all), no_core);
}

TEST_F(Queue, ACoreOfRealTimeThreadsTakesAGuestInTheEnd) {
  GlobalTurn turn{tick};
  SchedulingEntity& urgent = made();
  urgent.real_time = 5;
  turn.begin(*queue_, urgent, start);
  const Instant late = start + GlobalQueue::longest_turn(tick);
  EXPECT_EQ(turn.limit(*queue_, &urgent, never, start), late);
  EXPECT_FALSE(turn.wants_guest(true, late - nanoseconds(1)));
  EXPECT_TRUE(turn.wants_guest(true, late));
  turn.end(&urgent);
  turn.begin(*queue_, urgent, late);
  EXPECT_TRUE(turn.wants_guest(true, late)) << "another one of them changes nothing";
  turn.end(nullptr);
  EXPECT_FALSE(turn.wants_guest(true, late + seconds(1))) << "it was idle: the time begins anew";
}

}  // namespace
}  // namespace corral::sched

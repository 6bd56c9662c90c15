// The rules of ranked locks, and what their violations say.
#include "sync/spin_lock.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "support/host_machine.h"

namespace corral {
namespace {

std::string panic_of(void (*action)()) {
  try {
    action();
  } catch (const host::Panic& panic) { return panic.what(); }
  return "no panic";
}

// Misuse is tried in a child process: a panic leaves the rules switched off for good. It answers with its message.
#define EXPECT_PANIC(text, ...)                              \
  EXPECT_EXIT(                                               \
      {                                                      \
        fputs(panic_of([] { __VA_ARGS__ }).c_str(), stderr); \
        _exit(0);                                            \
      },                                                     \
      testing::ExitedWithCode(0), text)

SpinLock outer{Rank::process, "outer"};
SpinLock inner{Rank::pages, "inner"};
SpinLock equal{Rank::pages, "equal"};

TEST(SpinLock, IsHeldByTheCoreThatTookIt) {
  EXPECT_FALSE(outer.held_here());
  {
    LockGuard guard{outer};
    EXPECT_TRUE(outer.held_here());
    host::become_core(3);
    EXPECT_FALSE(outer.held_here());
    EXPECT_FALSE(outer.try_lock());
    host::become_core(0);
    LockGuard second{inner};
    EXPECT_TRUE(inner.held_here());
  }
  EXPECT_FALSE(outer.held_here());
}

TEST(SpinLock, TryingIsAllowedInAnyOrder) {
  LockGuard guard{inner};
  if (outer.try_lock()) {
    outer.unlock();
  } else {
    ADD_FAILURE() << "the lock was free";
  }
}

TEST(SpinLock, MayBeGivenUpInAnyOrder) {
  outer.lock();
  inner.lock();
  outer.unlock();
  EXPECT_TRUE(inner.held_here());
  inner.unlock();
  LockGuard guard{outer};
}

TEST(SpinLock, Counts) {
  const LockStatistics before = lock_statistics();
  { LockGuard guard{outer}; }
  const LockStatistics after = lock_statistics();
  EXPECT_EQ(after.acquisitions, before.acquisitions + 1);
  EXPECT_EQ(after.contended, before.contended);
}

void wrong_order() NO_THREAD_SAFETY_ANALYSIS {
  inner.lock();
  outer.lock();
}
void same_rank() NO_THREAD_SAFETY_ANALYSIS {
  inner.lock();
  equal.lock();
}
void twice() NO_THREAD_SAFETY_ANALYSIS {
  outer.lock();
  outer.lock();
}
void not_held() NO_THREAD_SAFETY_ANALYSIS {
  outer.unlock();
}
void somebody_elses() NO_THREAD_SAFETY_ANALYSIS {
  outer.lock();
  host::become_core(1);
  outer.unlock();
}
void too_many() NO_THREAD_SAFETY_ANALYSIS {
  static std::vector<std::unique_ptr<SpinLock>> locks;
  for (int i = 1; i < 20; ++i) {
    locks.push_back(std::make_unique<SpinLock>(static_cast<Rank>(i), "one of many"));
    locks.back()->lock();
  }
}

TEST(SpinLockDeathTest, NamesBothLocks) {
  EXPECT_PANIC("wrong order: outer \\(rank 20\\), holding inner \\(rank 90\\)", wrong_order(););
  EXPECT_PANIC("wrong order: equal .* holding inner", same_rank(););
  EXPECT_PANIC("taken twice: outer", twice(););
  EXPECT_PANIC("does not hold it: outer", not_held(););
  EXPECT_PANIC("does not hold it: outer", somebody_elses(););
  EXPECT_PANIC("must be held here: outer", outer.assert_held(););
  EXPECT_PANIC("too many locks held: one of many", too_many(););
}

TEST(SpinLockDeathTest, AfterAPanicNobodyWaitsForEver) {
  EXPECT_PANIC("no panic", {
    static_cast<void>(outer.try_lock());
    host::become_core(1);
    abandon_locks();
    twice();
  });
}

}  // namespace
}  // namespace corral

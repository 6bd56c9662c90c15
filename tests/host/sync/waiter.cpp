// WaitQueue and StepMutex on one core: who is woken, in which order, and who ends a wait. Several cores:
// threads/waiter.cpp.
#include "sync/waiter.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/host_machine.h"

namespace corral {
namespace {

class TestWaiter : public Waiter {
 public:
  void wake(WakeReason reason) override {
    wake_reason_ = reason;
    ++wakes;
  }
  bool interrupted() const override { return signal; }
  [[nodiscard]] u64 blocked_so_often() const override { return 0; }
  void set_timeout(Deadline deadline) override { timeout = Instant{deadline.ns()}; }
  int wakes = 0;
  bool signal = false;
  Instant timeout = never;
};

class WaitQueueTest : public testing::Test {
 protected:
  Errno wait(TestWaiter& waiter, Instant deadline = never) {
    LockGuard guard{lock};
    return queue.wait(waiter, deadline);
  }
  bool wake_one() {
    LockGuard guard{lock};
    return queue.wake_one();
  }
  u32 wake_all() {
    LockGuard guard{lock};
    return queue.wake_all();
  }
  SpinLock lock{Rank::wait_queue, "test"};
  WaitQueue queue{lock};
  TestWaiter a, b, c;
};

TEST_F(WaitQueueTest, WakesInOrderOfArrival) {
  EXPECT_FALSE(wake_one());
  EXPECT_EQ(wait(a), Errno::blocked);
  EXPECT_EQ(wait(b), Errno::blocked);
  EXPECT_EQ(wait(c), Errno::blocked);
  EXPECT_TRUE(wake_one());
  EXPECT_EQ(a.wakes, 1);
  EXPECT_EQ(a.wake_reason(), WakeReason::woken);
  EXPECT_EQ(wait(a), Errno::blocked);  // again, at the end
  EXPECT_TRUE(wake_one());
  EXPECT_EQ(b.wakes, 1);
  EXPECT_EQ(wake_all(), 2u);
  EXPECT_EQ(c.wakes, 1);
  EXPECT_EQ(a.wakes, 2);
  LockGuard guard{lock};
  EXPECT_TRUE(queue.empty());
}

TEST_F(WaitQueueTest, APendingSignalPreventsTheWait) {
  a.signal = true;
  EXPECT_EQ(wait(a), Errno::restart);
  EXPECT_FALSE(wake_one());
  LockGuard guard{lock};
  EXPECT_EQ(queue.wait_uninterruptible(a), Errno::blocked);
  EXPECT_TRUE(queue.wake_one());
}

TEST_F(WaitQueueTest, SetsTheTimeout) {
  EXPECT_EQ(wait(a, Instant{5}), Errno::blocked);
  EXPECT_EQ(a.timeout.ns, 5);
  EXPECT_EQ(wait(b), Errno::blocked);
  EXPECT_EQ(b.timeout, never);
  EXPECT_EQ(wake_all(), 2u);
}

TEST_F(WaitQueueTest, TakingOffEndsTheWaitOnce) {
  EXPECT_FALSE(WaitQueue::take_off(a, false));
  EXPECT_EQ(wait(a), Errno::blocked);
  EXPECT_EQ(wait(b), Errno::blocked);
  EXPECT_TRUE(WaitQueue::take_off(a, true));
  EXPECT_FALSE(WaitQueue::take_off(a, true));
  EXPECT_EQ(a.wakes, 0);
  EXPECT_TRUE(wake_one());
  EXPECT_EQ(b.wakes, 1);
  EXPECT_FALSE(WaitQueue::take_off(b, true));
}

TEST_F(WaitQueueTest, SignalsDoNotEndUninterruptibleWaits) {
  {
    LockGuard guard{lock};
    EXPECT_EQ(queue.wait_uninterruptible(a), Errno::blocked);
  }
  EXPECT_FALSE(WaitQueue::take_off(a, true));
  EXPECT_TRUE(WaitQueue::take_off(a, false));
  EXPECT_FALSE(wake_one());
}

TEST_F(WaitQueueTest, NobodyWaitsTwice) {
  EXPECT_EQ(wait(a), Errno::blocked);
  EXPECT_THROW(static_cast<void>(wait(a)), host::Panic);
  EXPECT_EQ(wake_all(), 1u);
}

class StepMutexTest : public testing::Test {
 protected:
  bool acquire(TestWaiter& waiter) {
    LockGuard guard{lock};
    return mutex.acquire(waiter);
  }
  void release(TestWaiter& waiter) {
    LockGuard guard{lock};
    mutex.release(waiter);
  }
  void forget(TestWaiter& waiter) {
    LockGuard guard{lock};
    mutex.forget(waiter);
  }
  bool held_by(TestWaiter& waiter) {
    LockGuard guard{lock};
    return mutex.held_by(waiter);
  }
  SpinLock lock{Rank::file, "test"};
  StepMutex mutex{lock};
  TestWaiter a, b, c;
};

TEST_F(StepMutexTest, IsHandedOverInOrder) {
  EXPECT_TRUE(acquire(a));
  EXPECT_TRUE(acquire(a));  // the step ran again
  EXPECT_FALSE(acquire(b));
  EXPECT_FALSE(acquire(c));
  release(a);
  EXPECT_EQ(b.wakes, 1);
  EXPECT_TRUE(held_by(b));
  EXPECT_FALSE(acquire(a));  // no overtaking
  EXPECT_TRUE(acquire(b));
  release(b);
  EXPECT_TRUE(held_by(c));
  release(c);
  EXPECT_TRUE(held_by(a));
  release(a);
  EXPECT_FALSE(held_by(a));
}

TEST_F(StepMutexTest, OnlyTheHolderReleases) {
  EXPECT_TRUE(acquire(a));
  EXPECT_THROW(release(b), host::Panic);
  release(a);
  EXPECT_THROW(release(a), host::Panic);
}

TEST_F(StepMutexTest, WaitersMayEnd) {
  EXPECT_TRUE(acquire(a));
  EXPECT_FALSE(acquire(b));
  EXPECT_FALSE(acquire(c));
  forget(b);  // while it waits
  EXPECT_EQ(b.wakes, 0);
  release(a);
  EXPECT_TRUE(held_by(c));
  EXPECT_FALSE(acquire(a));
  forget(c);  // just after it was handed over
  EXPECT_TRUE(held_by(a));
  forget(b);  // has nothing to do with it
  forget(a);  // while it holds
  EXPECT_TRUE(acquire(b));
  release(b);
}

TEST_F(StepMutexTest, ATakenOffWaiterQueuesAgain) {
  EXPECT_TRUE(acquire(a));
  EXPECT_FALSE(acquire(b));
  EXPECT_FALSE(acquire(c));
  EXPECT_TRUE(WaitQueue::take_off(b, false));
  EXPECT_FALSE(acquire(b));
  release(a);
  EXPECT_TRUE(held_by(c));
  release(c);
  EXPECT_TRUE(held_by(b));
  release(b);
}

}  // namespace
}  // namespace corral

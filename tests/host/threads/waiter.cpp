// Waiting on several cores at once: wakers, time-outs and the end of the queue race; each wait ends exactly once.
#include "sync/waiter.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "support/host_machine.h"

namespace corral {
namespace {

class TestWaiter : public Waiter {
 public:
  void wake(WakeReason reason) override {
    wake_reason_ = reason;
    wakes.fetch_add(1, Order::release);
  }
  bool interrupted() const override { return false; }
  [[nodiscard]] u64 blocked_so_often() const override { return 0; }
  void set_timeout(Deadline) override {}
  Atomic<u32> wakes{0};
};

// An object with a queue, which its waker frees as soon as it has woken all.
struct Object {
  SpinLock lock{Rank::pipe, "object"};
  WaitQueue queue{lock};
};

TEST(Threads, AWaitEndsOnceAlthoughTheQueueGoesAway) {
  constexpr int rounds = 5'000;
  Atomic<Object*> published{nullptr};
  TestWaiter waiter;
  int ended_by_home = 0;
  std::thread waker([&] {
    host::become_core(1);
    for (int round = 0; round < rounds; ++round) {
      Object* object;
      while ((object = published.load(Order::acquire)) == nullptr) std::this_thread::yield();
      published.store(nullptr, Order::relaxed);
      {
        LockGuard guard{object->lock};
        object->queue.wake_all();
      }
      delete object;
    }
  });
  host::become_core(0);
  u32 woken = 0;
  for (int round = 0; round < rounds; ++round) {
    auto* object = new Object;
    {
      LockGuard guard{object->lock};
      ASSERT_EQ(object->queue.wait(waiter), Errno::blocked);
    }
    published.store(object, Order::release);
    for (int i = 0; i < round % 50; ++i) std::this_thread::yield();
    if (WaitQueue::take_off(waiter, true)) {
      ++ended_by_home;
    } else {
      ++woken;
      while (waiter.wakes.load(Order::acquire) != woken) std::this_thread::yield();
    }
    ASSERT_EQ(waiter.wakes.load(Order::acquire), woken);
    while (published.load(Order::relaxed) != nullptr) std::this_thread::yield();
  }
  waker.join();
  EXPECT_EQ(static_cast<int>(woken) + ended_by_home, rounds);
  std::cout << "ended by home: " << ended_by_home << ", woken: " << woken << std::endl;
}

TEST(Threads, AStepMutexGoesFromHandToHand) {
  constexpr u32 cores = 3;
  constexpr int each = 3'000;
  SpinLock lock{Rank::file, "mutex"};
  StepMutex mutex{lock};
  u64 total = 0;  // guarded by the mutex
  std::vector<std::thread> threads;
  for (u32 core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      host::become_core(core);
      TestWaiter waiter;
      u32 waits = 0;
      const auto acquired = [&] {
        LockGuard guard{lock};
        return mutex.acquire(waiter);
      };
      for (int i = 0; i < each; ++i) {
        while (!acquired()) {  // blocked: run the step again after the wake-up
          ++waits;
          while (waiter.wakes.load(Order::acquire) != waits) std::this_thread::yield();
        }
        ++total;
        LockGuard guard{lock};
        mutex.release(waiter);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, cores * each);
}

TEST(Threads, SpinLocksExclude) {
  constexpr u32 cores = 4;
  constexpr int each = 5'000;
  SpinLock lock{Rank::file, "counter"};
  u64 total = 0;
  const LockStatistics before = lock_statistics();
  std::vector<std::thread> threads;
  for (u32 core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      host::become_core(core);
      for (int i = 0; i < each; ++i) {
        LockGuard guard{lock};
        ++total;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, cores * each);
  EXPECT_EQ(lock_statistics().acquisitions - before.acquisitions, cores * each);
}

}  // namespace
}  // namespace corral

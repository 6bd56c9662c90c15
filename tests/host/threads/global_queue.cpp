// sources: kernel/sched/engine/global_queue.cpp
// The global queue between threads: each entity is somebody's or the queue's, never two's, and none is lost.
#include "sched/engine/global_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/host_machine.h"

namespace corral::sched {
namespace {

constexpr int cores = 4, entities = 8, rounds = 20'000;
constexpr int nobody = -1;

struct Owned {
  SchedulingEntity entity;
  std::atomic<int> home{nobody};
  int touched = 0;  // by its home only
};

TEST(GlobalQueueBetweenThreads, OneGetsEach) {
  auto queue = std::make_unique<GlobalQueue>();
  std::vector<std::unique_ptr<Owned>> all;
  const auto of = [&](SchedulingEntity& entity) -> Owned& {
    for (auto& each : all) {
      if (&each->entity == &entity) return *each;
    }
    ADD_FAILURE();
    return *all[0];
  };
  const auto put = [&](Owned& owned, EnqueueReason reason) {
    queue->put(owned.entity, reason, milliseconds(4),
               [&](SchedulingEntity&) { owned.home.store(nobody, std::memory_order_release); });
  };
  for (int i = 0; i < entities; ++i) {
    all.push_back(std::make_unique<Owned>());
    all.back()->entity.nice = i % 3;
  }
  for (auto& each : all) put(*each, EnqueueReason::created);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      host::become_core(static_cast<u32>(core));
      const auto own = [&](SchedulingEntity& entity) { of(entity).home.store(core, std::memory_order_release); };
      for (int i = 0; i < rounds; ++i) {
        Owned* mine = nullptr;
        if (i % 4 == 0) {  // whoever finds that one is nobody's
          Owned& some = *all[static_cast<size_t>(i / 4 + core) % entities];
          if (some.home.load(std::memory_order_acquire) == nobody && queue->take_out(some.entity, own)) mine = &some;
        } else if (SchedulingEntity* first = queue->take(own)) {
          mine = &of(*first);
        }
        if (mine == nullptr) continue;
        ASSERT_EQ(mine->home.load(std::memory_order_relaxed), core);
        ++mine->touched;
        mine->entity.run_time = mine->entity.run_time + microseconds(i % 5000);
        ++taken;
        put(*mine, i % 3 == 0 ? EnqueueReason::preempted : EnqueueReason::woken);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int touched = 0;
  for (auto& each : all) touched += each->touched;
  EXPECT_EQ(touched, taken);
  EXPECT_EQ(queue->waiting(), static_cast<u32>(entities));
  for (int left = entities; left > 0; --left) EXPECT_NE(queue->take([](SchedulingEntity&) {}), nullptr);
  EXPECT_EQ(queue->take([](SchedulingEntity&) {}), nullptr);
}

}  // namespace
}  // namespace corral::sched

// GuardedSection with real threads: each request executed once and alone, each sender's in order.
#include "sync/guarded_section.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "lib/types.h"

namespace corral {
namespace {

struct Shared {
  u64 total = 0;  // guarded by the section alone
  std::vector<u64> next_of;
};

struct Request : SectionRequest {
  Shared* shared = nullptr;
  u64 sender = 0;
  u64 number = 0;
  Atomic<u32> done{0};
};

TEST(Threads, GuardedSectionExecutesEachOnceAndAlone) {
  constexpr u64 senders = 4;
  constexpr u64 each = 10'000;
  constexpr u64 window = 8;  // requests of one sender under way at once
  GuardedSection<> section;
  Shared shared;
  shared.next_of.resize(senders);
  std::vector<std::thread> threads;
  for (u64 sender = 0; sender < senders; ++sender) {
    threads.emplace_back([&, sender] {
      std::vector<Request> requests(window);
      for (u64 i = 0; i < each; ++i) {
        Request& request = requests[i % window];
        while (i >= window && request.done.load(Order::acquire) == 0) std::this_thread::yield();
        request.done.store(0, Order::relaxed);
        request.shared = &shared;
        request.sender = sender;
        request.number = i;
        request.execute = [](SectionRequest& r) {
          auto& self = static_cast<Request&>(r);
          EXPECT_EQ(self.shared->next_of[self.sender]++, self.number);
          ++self.shared->total;
          self.done.store(1, Order::release);  // from here on the owner may use it again
        };
        section.submit(request);
      }
      for (Request& request : requests) {
        while (request.done.load(Order::acquire) == 0) std::this_thread::yield();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared.total, senders * each);
}

}  // namespace
}  // namespace corral

// The device list with real threads: cores register their devices while others look, as during start-up.
// sources: kernel/device/device.cpp
#include "device/device.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/host_machine.h"

namespace corral {
namespace {

class Timer final : public Device {
 public:
  static constexpr DeviceClass device_class_object{"core-timer"};
  Timer() : Device{device_class_object} {}
  size_t describe(char*, size_t) const override { return 0; }
};

TEST(Threads, CoresRegisterDevicesWhileOthersLook) {
  constexpr u32 cores = 4;
  constexpr u32 each = 100;
  DeviceManager manager;
  std::vector<std::deque<Timer>> timers(cores);
  std::vector<std::thread> threads;
  for (u32 core = 0; core < cores; ++core) {
    threads.emplace_back([&, core] {
      host::become_core(core);
      for (u32 i = 0; i < each; ++i) {
        Timer& mine = timers[core].emplace_back();
        manager.add(mine);
        EXPECT_EQ(manager.find(mine.name()), &mine);
        u32 seen = 0;
        manager.for_each([](void* count, Device& device) { *static_cast<u32*>(count) += device.name().empty() ? 0 : 1; },
                         &seen);
        EXPECT_GT(seen, i);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> names;
  manager.for_each([](void* all, Device& device) { static_cast<std::set<std::string>*>(all)->emplace(device.name()); }, &names);
  EXPECT_EQ(names.size(), cores * each);
  EXPECT_NE(manager.find<Timer>(cores * each - 1), nullptr);
  EXPECT_EQ(manager.find<Timer>(cores * each), nullptr);
}

}  // namespace
}  // namespace corral

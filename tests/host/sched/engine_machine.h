// The machine below Scheduler and SchedulingManager, for tests: cores that are objects only; their timers are notes, their
// messages are delivered when the test says so. Of one program: included by one file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/call_watch.h"
#include "memory/heap.h"
#include "sched/engine/manager.h"
#include "support/host_machine.h"

// ---- the machine below the engine -----------------------------------------------------------------------------------------

namespace corral {
namespace {

Instant time_now{1000};
u32 current = 0;
std::deque<Core> machine;
CoreSet online_cores = CoreSet::first(4);
std::map<u32, Instant> armed;
std::vector<std::pair<u32, Message>> posted;
std::map<MessageType, MessageHandler> handlers;
i64 allocations_until_failure = -1;
i64 live_allocations = 0;

}  // namespace

Instant clock::now() {
  return time_now;
}
bool call_watch::detail::asleep = false;
void call_watch::detail::wake() {}
bool arch::hardware_random(u64&) {
  return false;
}
Core& arch::current_core() {
  return machine[current];
}
Instant Core::arm_hardware(Instant target) {
  return armed[id_.value] = target;
}
u8 Core::sign_of_life() const {
  return 0;
}
size_t Core::describe(char*, size_t) const {
  return 0;
}
bool Core::post(const Message& message) {
  posted.emplace_back(id_.value, message);
  return true;
}
void set_message_handler(MessageType type, MessageHandler handler) {
  handlers[type] = handler;
}
CoreSet cores::online() {
  return online_cores;
}
Core& cores::get(CoreId id) {
  return machine[id.value];
}
void DeviceManager::add(Device&) {}
DeviceManager& devices() {
  static DeviceManager manager;
  return manager;
}
void* memory::allocate(size_t size) {
  if (allocations_until_failure == 0) return nullptr;
  if (allocations_until_failure > 0) --allocations_until_failure;
  ++live_allocations;
  return std::aligned_alloc(64, round_up(size, 64));
}
void memory::release(void* pointer) {
  if (pointer != nullptr) --live_allocations;
  std::free(pointer);
}

namespace {

using namespace sched;

inline void pass(Duration time) {
  time_now = time_now + time;
}

inline Result<void> set_algorithm(const char* text, const CoreSet& where = CoreSet::all()) {
  Refusal why;
  return scheduling().set_algorithm(text, why, where);
}
inline Result<void> set_placement(const char* text) {
  Refusal why;
  return scheduling().set_placement(text, why);
}
inline Result<void> set_migration(const char* text) {
  Refusal why;
  return scheduling().set_migration(text, why);
}

// The one manager of this program; four cores.
struct Engine : testing::Test {
  static void SetUpTestSuite() {
    for (u32 i = 0; i < 4; ++i) machine.emplace_back(CoreId{i}, i, i, CoreState::online);
    ASSERT_EQ(scheduling().initialise({.algorithm = "cfq"}).error(), Errno::einval);
    ASSERT_NE(host::take_log().find("cfs"), std::string::npos) << "the message names what there is";
    ASSERT_EQ(scheduling().initialise({.placement = "best"}).error(), Errno::einval);
    ASSERT_NE(host::take_log().find("least-loaded"), std::string::npos);
    ASSERT_EQ(scheduling().initialise({.migration = "never"}).error(), Errno::einval);
    ASSERT_NE(host::take_log().find("pull"), std::string::npos);
    ASSERT_EQ(scheduling().initialise({.tick = Duration{}}).error(), Errno::einval);
    ASSERT_TRUE(scheduling().initialise({}).ok());
    ASSERT_TRUE(scheduling().cores().empty());
    allocations_until_failure = 0;  // of the algorithm; the scheduler itself comes from operator new
    ASSERT_EQ(scheduling().add(machine[0]).error(), Errno::enomem);
    ASSERT_EQ(machine[0].scheduler, nullptr);
    allocations_until_failure = -1;
    for (Core& core : machine) ASSERT_TRUE(scheduling().add(core).ok());
  }
  void SetUp() override {
    current = 0;
    use("cfs");
    ASSERT_TRUE(set_placement("least-loaded").ok());
  }
  void TearDown() override {
    for (Core& core : machine) {
      current = core.id().value;
      Scheduler& timeline = *core.scheduler;
      while (SchedulingEntity* entity = timeline.running() != nullptr ? timeline.running() : timeline.pick_next()) {
        timeline.leave(*entity, LeaveReason::ended);
      }
      EXPECT_EQ(timeline.violations().total(), 0u);
      EXPECT_EQ(scheduling().statistics(core.id()).load(), 0u);
    }
  }
  // Changes the algorithm and lets every core look.
  static void use(const char* name) {
    ASSERT_TRUE(set_algorithm(name).ok());
    deliver();
    for (Core& core : machine) {
      current = core.id().value;
      Scheduler& timeline = *core.scheduler;
      EXPECT_TRUE(timeline.reschedule_wanted());
      EXPECT_EQ(timeline.pick_next(), nullptr);
      EXPECT_STREQ(timeline.algorithm().name, name);
    }
    current = 0;
  }
  static void deliver() {
    for (auto& [target, message] : posted) handlers.at(message.type)(machine[target], message);
    posted.clear();
  }
  // Entities outlive the test's body: TearDown() takes them out of the queues.
  SchedulingEntity& make() { return entities_.emplace_back(); }
  std::deque<SchedulingEntity>& make_several(size_t n) { return several_.emplace_back(n); }
  static Scheduler& timeline(u32 core) {
    current = core;
    return *machine[core].scheduler;
  }

 private:
  std::deque<SchedulingEntity> entities_;
  std::deque<std::deque<SchedulingEntity>> several_;
};

}  // namespace
}  // namespace corral

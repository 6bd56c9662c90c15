// SharedTimer between cores whose messages take their time: it is due when it was set to, whichever core has its event.
// sources: kernel/core/shared_timer.cpp
#include "core/shared_timer.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "device/clock.h"
#include "support/host_machine.h"

namespace corral {

namespace {
constexpr u32 core_count = 3;
std::vector<std::unique_ptr<Core>> all_cores;
std::vector<std::deque<Message>> mail(core_count);
MessageHandler handler = nullptr;
Instant present{};
}  // namespace

bool Core::post(const Message& message) {
  mail[id().value].push_back(message);
  return true;
}
size_t Core::describe(char*, size_t) const {
  return 0;
}
Instant Core::arm_hardware(Instant target) {
  return armed_ = target;
}
Core& arch::current_core() {
  return *all_cores.at(core_index());
}
Core& cores::get(CoreId id) {
  return *all_cores.at(id.value);
}
void set_message_handler(MessageType, MessageHandler of_timers) {
  handler = of_timers;
}
Instant clock::now() {
  return present;
}
Instant clock::instant_of(Deadline deadline) {
  return Instant{deadline.ns()};
}

namespace {

class Timer final : public SharedTimer {
 public:
  Timer() : SharedTimer{lock} {}
  SpinLock lock{Rank::pipe, "timer of a test"};
  u32 passed = 0;
  i32 references = 0;

 private:
  void due() override { ++passed; }
  void keep() override { ++references; }
  void let_go() override { --references; }
};

class SharedTimerTest : public testing::Test {
 protected:
  void SetUp() override {
    SharedTimer::initialise();
    present = {};
    mail.assign(core_count, {});
    all_cores.clear();
    for (u32 i = 0; i < core_count; ++i) all_cores.push_back(std::make_unique<Core>(CoreId{i}, i, i, CoreState::online));
  }
  void TearDown() override {
    host::become_core(0);
    all_cores.clear();
  }
  void set(u32 core, Instant when) {
    host::become_core(core);
    LockGuard guard{timer.lock};
    timer.set(when);
  }
  static void read_mail(u32 core) {
    host::become_core(core);
    for (; !mail[core].empty(); mail[core].pop_front()) handler(*all_cores[core], mail[core].front());
  }
  static void run_timers(u32 core, Instant now) {
    host::become_core(core);
    present = now;
    all_cores[core]->timers().run_until(now);
  }

  Timer timer;
};

TEST_F(SharedTimerTest, AnotherCoreSetsItEarlier) {
  set(0, Instant{1000});
  set(1, Instant{500});
  ASSERT_EQ(mail[0].size(), 1u);
  read_mail(0);
  EXPECT_EQ(all_cores[0]->timers().first(), Instant{500});
  run_timers(0, Instant{500});
  EXPECT_EQ(timer.passed, 1u);
  EXPECT_EQ(timer.references, 0);
}

TEST_F(SharedTimerTest, LaterNeedsNoMessage) {
  set(0, Instant{1000});
  set(1, Instant{2000});
  EXPECT_TRUE(mail[0].empty());
  run_timers(0, Instant{1000});
  EXPECT_EQ(timer.passed, 0u);
  run_timers(0, Instant{2000});
  EXPECT_EQ(timer.passed, 1u);
  EXPECT_EQ(timer.references, 0);
}

// Core 0 is told that the timer is set earlier, but it passes there first. Core 1 sets it anew and has the event then; that core 2 sets it
// earlier, core 1 has to hear, although the letter is under way to core 0.
TEST_F(SharedTimerTest, ALetterToACoreThatHasItNoMoreReachesTheOneThatHas) {
  set(0, Instant{1000});
  set(1, Instant{900});
  run_timers(0, Instant{1000});
  EXPECT_EQ(timer.passed, 1u);
  set(1, Instant{9000});
  set(2, Instant{2000});
  read_mail(0);
  read_mail(1);
  EXPECT_EQ(all_cores[1]->timers().first(), Instant{2000});
  run_timers(1, Instant{2000});
  EXPECT_EQ(timer.passed, 2u);
  EXPECT_EQ(timer.references, 0);
}

}  // namespace
}  // namespace corral

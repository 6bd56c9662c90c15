// Outbox with cores whose mailboxes are full now and then: nothing is lost, doubled or overtaken. The cores' own
// code is replaced by what is below.
#include "core/outbox.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "core/core.h"
#include "lib/random.h"
#include "support/host_machine.h"

namespace corral {

namespace {
constexpr u32 core_count = 5;
std::vector<std::vector<u64>> arrived(core_count);
std::vector<u32> room(core_count);
std::vector<std::unique_ptr<Core>> all_cores;
// What the receiver of a message does with the letter before the sender's next instruction: it may use it again.
Letter* reused_on_arrival = nullptr;
}  // namespace

bool Core::post(const Message& message) {
  if (room[id().value] == 0) return false;
  --room[id().value];
  arrived[id().value].push_back(message.word[0]);
  if (reused_on_arrival != nullptr) {
    EXPECT_FALSE(Outbox::pending(*reused_on_arrival));
    reused_on_arrival->targets = CoreSet::of(CoreId{4});
    reused_on_arrival->message.word[0] = 99;
  }
  return true;
}
size_t Core::describe(char*, size_t) const {
  return 0;
}
Core& cores::get(CoreId id) {
  return *all_cores.at(id.value);
}

namespace {

class OutboxTest : public testing::Test {
 protected:
  void SetUp() override {
    arrived.assign(core_count, {});
    room.assign(core_count, 0);
    all_cores.clear();
    for (u32 i = 0; i < core_count; ++i) all_cores.push_back(std::make_unique<Core>(CoreId{i}, i, i, CoreState::online));
  }
  void TearDown() override { all_cores.clear(); }
  Outbox outbox;
};

TEST_F(OutboxTest, KeepsWhatDoesNotFit) {
  room = {1, 0, 1, 0, 0};
  Letter letter;
  letter.message = {MessageType::thread, {7, 0, 0}};
  letter.targets = CoreSet::first(3);
  outbox.send(letter);
  EXPECT_TRUE(Outbox::pending(letter));
  EXPECT_FALSE(outbox.empty());
  EXPECT_EQ(letter.targets, CoreSet::of(CoreId{1}));
  EXPECT_THROW(outbox.send(letter), host::Panic);
  outbox.flush();
  EXPECT_TRUE(Outbox::pending(letter));
  room[1] = 1;
  outbox.flush();
  EXPECT_FALSE(Outbox::pending(letter));
  EXPECT_TRUE(outbox.empty());
  for (u32 i = 0; i < 3; ++i) EXPECT_EQ(arrived[i], std::vector<u64>{7});
}

TEST_F(OutboxTest, SendsALetterUnderWayToFurtherCoresToo) {
  room = {1, 0, 1, 0, 0};
  const Message message{MessageType::reschedule, {7, 0, 0}};
  Letter letter;
  outbox.send_also(letter, message, CoreSet::first(2));
  EXPECT_EQ(arrived[0], std::vector<u64>{7});
  EXPECT_EQ(letter.targets, CoreSet::of(CoreId{1}));
  outbox.send_also(letter, message, CoreSet::of(CoreId{2}));
  EXPECT_EQ(letter.targets, CoreSet::of(CoreId{1}) | CoreSet::of(CoreId{2}));
  room[1] = 1;
  outbox.flush();
  EXPECT_FALSE(Outbox::pending(letter));
  for (u32 i = 0; i < 3; ++i) EXPECT_EQ(arrived[i], std::vector<u64>{7});
  room[3] = 1;
  outbox.send_also(letter, message, CoreSet::of(CoreId{3}));
  EXPECT_FALSE(Outbox::pending(letter));
  EXPECT_EQ(arrived[3], std::vector<u64>{7});
}

TEST_F(OutboxTest, LeavesALetterAloneOnceItHasArrived) {
  room = {1, 0, 0, 0, 0};
  Letter at_once;
  at_once.message = {MessageType::thread, {7, 0, 0}};
  at_once.targets = CoreSet::of(CoreId{0});
  reused_on_arrival = &at_once;
  outbox.send(at_once);
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(at_once.targets, CoreSet::of(CoreId{4}));

  Letter later;
  later.message = {MessageType::thread, {8, 0, 0}};
  later.targets = CoreSet::of(CoreId{1});
  reused_on_arrival = &later;
  outbox.send(later);
  EXPECT_TRUE(Outbox::pending(later));
  room[1] = 1;
  outbox.flush();
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(later.targets, CoreSet::of(CoreId{4}));
  EXPECT_EQ(arrived[1], std::vector<u64>{8});
  reused_on_arrival = nullptr;
}

TEST_F(OutboxTest, NothingIsLostDoubledOrOvertaken) {
  Random random{17};
  for (int round = 0; round < 100; ++round) {
    SetUp();
    std::vector<std::unique_ptr<Letter>> letters;
    std::map<u32, std::vector<u64>> expected;
    for (u64 step = 0; step < 60; ++step) {
      for (u32& r : room) r = static_cast<u32>(random.below(3));
      if (random.one_in(3)) outbox.flush();
      letters.push_back(std::make_unique<Letter>());
      Letter& letter = *letters.back();
      letter.message.word[0] = step;
      if (random.one_in(2)) {
        const u32 target = static_cast<u32>(random.below(core_count));
        outbox.send_to(*all_cores[target], letter);
        expected[target].push_back(step);
      } else {
        for (u32 i = 0; i < core_count; ++i) {
          if (random.one_in(2)) continue;
          letter.targets.add(CoreId{i});
          expected[i].push_back(step);
        }
        outbox.send(letter);
      }
    }
    for (int i = 0; i < 200 && !outbox.empty(); ++i) {
      for (u32& r : room) r = static_cast<u32>(random.below(2));
      outbox.flush();
    }
    ASSERT_TRUE(outbox.empty());
    for (u32 i = 0; i < core_count; ++i) ASSERT_EQ(arrived[i], expected[i]);
  }
}

}  // namespace
}  // namespace corral

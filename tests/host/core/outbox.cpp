// Outbox with cores whose mailboxes are full now and then: nothing is lost, doubled or overtaken. The cores' own
// code is replaced by what is below.
#include "core/outbox.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <memory>
#include <span>
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
u64 posts = 0;
// What the receiver of a message does with its circular before the sender's next instruction: it may use it again.
Circular* reused_on_arrival = nullptr;
}  // namespace

bool Core::post(const Message& message) {
  ++posts;
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
    posts = 0;
    all_cores.clear();
    for (u32 i = 0; i < core_count; ++i) all_cores.push_back(std::make_unique<Core>(CoreId{i}, i, i, CoreState::online));
  }
  void TearDown() override { all_cores.clear(); }
  Outbox outbox;
};

TEST_F(OutboxTest, KeepsWhatDoesNotFit) {
  room = {1, 0, 1, 0, 0};
  Circular circular;
  circular.message = {MessageType::thread, {7, 0, 0}};
  circular.targets = CoreSet::first(3);
  outbox.send(circular);
  EXPECT_TRUE(Outbox::pending(circular));
  EXPECT_FALSE(outbox.empty());
  EXPECT_EQ(circular.targets, CoreSet::of(CoreId{1}));
  EXPECT_THROW(outbox.send(circular), host::Panic);
  outbox.flush();
  EXPECT_TRUE(Outbox::pending(circular));
  room[1] = 1;
  outbox.flush();
  EXPECT_FALSE(Outbox::pending(circular));
  EXPECT_TRUE(outbox.empty());
  for (u32 i = 0; i < 3; ++i) EXPECT_EQ(arrived[i], std::vector<u64>{7});
}

TEST_F(OutboxTest, SendsACircularUnderWayToFurtherCoresToo) {
  room = {1, 0, 1, 0, 0};
  const Message message{MessageType::reschedule, {7, 0, 0}};
  Circular circular;
  outbox.send_also(circular, message, CoreSet::first(2));
  EXPECT_EQ(arrived[0], std::vector<u64>{7});
  EXPECT_EQ(circular.targets, CoreSet::of(CoreId{1}));
  outbox.send_also(circular, message, CoreSet::of(CoreId{2}));
  EXPECT_EQ(circular.targets, CoreSet::of(CoreId{1}) | CoreSet::of(CoreId{2}));
  room[1] = 1;
  outbox.flush();
  EXPECT_FALSE(Outbox::pending(circular));
  for (u32 i = 0; i < 3; ++i) EXPECT_EQ(arrived[i], std::vector<u64>{7});
  room[3] = 1;
  outbox.send_also(circular, message, CoreSet::of(CoreId{3}));
  EXPECT_FALSE(Outbox::pending(circular));
  EXPECT_EQ(arrived[3], std::vector<u64>{7});
}

TEST_F(OutboxTest, LeavesACircularAloneOnceItHasArrived) {
  room = {1, 0, 0, 0, 0};
  Circular at_once;
  at_once.message = {MessageType::thread, {7, 0, 0}};
  at_once.targets = CoreSet::of(CoreId{0});
  reused_on_arrival = &at_once;
  outbox.send(at_once);
  EXPECT_TRUE(outbox.empty());
  EXPECT_EQ(at_once.targets, CoreSet::of(CoreId{4}));

  Circular later;
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

// Letters of which all but the first and the last few lie in memory that nobody may touch for a while.
class ManyLetters {
 public:
  static constexpr u32 count = 4096;
  ManyLetters() {
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory, MAP_FAILED);
    letters_ = new (memory) Letter[count];
  }
  ~ManyLetters() { munmap(letters_, bytes); }
  ManyLetters(const ManyLetters&) = delete;
  ManyLetters& operator=(const ManyLetters&) = delete;
  [[nodiscard]] std::span<Letter> all() const { return {letters_, count}; }
  void lock() const { protect(PROT_NONE); }
  void unlock() const { protect(PROT_READ | PROT_WRITE); }

 private:
  static constexpr size_t page = 4096, bytes = (count * sizeof(Letter) + page - 1) / page * page;
  void protect(int how) const { ASSERT_EQ(mprotect(reinterpret_cast<char*>(letters_) + page, bytes - 3 * page, how), 0); }
  Letter* letters_;
};

// However much is kept for one core, that costs a look one post, and it holds up nothing for the others.
TEST_F(OutboxTest, WhatLinesUpBehindAFullMailboxIsNotLookedAt) {
  const ManyLetters many;
  for (Letter& letter : many.all()) outbox.send_to(*all_cores[0], letter);
  EXPECT_EQ(posts, 1u) << "full, so all others line up";
  many.lock();
  Circular to_all;
  to_all.targets = CoreSet::first(3);
  room = {0, 1, 1, 0, 0};
  outbox.send(to_all);
  EXPECT_EQ(to_all.targets, CoreSet::of(CoreId{0}));
  Letter to_another;
  outbox.send_to(*all_cores[3], to_another);
  EXPECT_TRUE(Outbox::pending(to_another));
  posts = 0;
  outbox.flush();
  EXPECT_EQ(posts, 2u) << "one for each core of which the mailbox was full";
  room = {3, 0, 0, 1, 0};
  posts = 0;
  outbox.flush();
  EXPECT_EQ(posts, 5u) << "what has room, the next one, and that of the other core";
  EXPECT_EQ(arrived[0].size(), 3u);
  EXPECT_FALSE(Outbox::pending(to_another));
  many.unlock();
  room[0] = ManyLetters::count;
  outbox.flush();
  EXPECT_TRUE(outbox.empty());
}

TEST_F(OutboxTest, NothingIsLostDoubledOrOvertaken) {
  Random random{17};
  for (int round = 0; round < 100; ++round) {
    SetUp();
    std::vector<std::unique_ptr<Letter>> letters;
    std::vector<std::unique_ptr<Circular>> circulars;
    std::map<u32, std::vector<u64>> expected;
    for (u64 step = 0; step < 60; ++step) {
      for (u32& r : room) r = static_cast<u32>(random.below(3));
      if (random.one_in(3)) outbox.flush();
      if (random.one_in(2)) {
        const u32 target = static_cast<u32>(random.below(core_count));
        Letter& letter = *letters.emplace_back(std::make_unique<Letter>());
        letter.message.word[0] = step;
        outbox.send_to(*all_cores[target], letter);
        expected[target].push_back(step);
      } else {
        Circular& circular = *circulars.emplace_back(std::make_unique<Circular>());
        circular.message.word[0] = step;
        for (u32 i = 0; i < core_count; ++i) {
          if (random.one_in(2)) continue;
          circular.targets.add(CoreId{i});
          expected[i].push_back(step);
        }
        outbox.send(circular);
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

// Mailbox against a queue, on one core. Several cores: threads/, relacy/.
#include "core/mailbox.h"

#include <gtest/gtest.h>

#include <deque>

#include "lib/random.h"

namespace corral {
namespace {

Message message_of(u64 number) {
  return {MessageType::thread, {number, ~number, 0}};
}

TEST(Mailbox, KeepsOrderAndSaysWhenFull) {
  Random random{21};
  Mailbox<8> mailbox;
  std::deque<u64> model;
  u64 next = 0;
  Message message;
  for (int step = 0; step < 20'000; ++step) {
    if (random.below(100) < ((step / 100) % 2 == 0 ? 70u : 30u)) {
      ASSERT_EQ(mailbox.post(message_of(next)), model.size() < 8);
      if (model.size() < 8) model.push_back(next);
      ++next;
    } else {
      ASSERT_EQ(mailbox.take(message), !model.empty());
      if (!model.empty()) {
        ASSERT_EQ(message.word[0], model.front());
        ASSERT_EQ(message.word[1], ~model.front());
        model.pop_front();
      }
    }
    ASSERT_EQ(mailbox.empty(), model.empty());
  }
}

TEST(Mailbox, SlotsHaveCacheLinesOfTheirOwn) {
  EXPECT_EQ(sizeof(Mailbox<8>), (2 + 8) * cache_line);
  EXPECT_EQ(alignof(Mailbox<8>), cache_line);
}

}  // namespace
}  // namespace corral

// Mailbox with real threads: three senders that retry when it is full, one owner. Nothing lost, nothing out of order.
#include "core/mailbox.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace corral {
namespace {

TEST(Threads, MailboxDeliversEverythingInOrder) {
  constexpr u64 senders = 3;
  constexpr u64 each = 20'000;
  auto mailbox = std::make_unique<Mailbox<16>>();
  std::vector<std::thread> threads;
  std::vector<u64> full(senders);
  for (u64 sender = 0; sender < senders; ++sender) {
    threads.emplace_back([&, sender] {
      for (u64 number = 0; number < each;) {
        if (mailbox->post({MessageType::thread, {sender, number, ~number}})) {
          ++number;
        } else {
          ++full[sender];
          std::this_thread::yield();
        }
      }
    });
  }
  std::vector<u64> expected(senders);
  for (u64 taken = 0; taken < senders * each;) {
    Message message;
    if (!mailbox->take(message)) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    ASSERT_LT(message.word[0], senders);
    ASSERT_EQ(message.word[1], expected[message.word[0]]++);
    ASSERT_EQ(message.word[2], ~message.word[1]);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(mailbox->empty());
  EXPECT_GT(full[0] + full[1] + full[2], 0u);
}

}  // namespace
}  // namespace corral

// A core that writes its trace while two others read it: every record is whole, and none comes twice.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "trace/ring.h"

namespace corral::trace {
namespace {

TEST(TraceRing, ReadersGetWholeRecordsInOrder) {
  using Small = Ring<Atomic, 8, 16>;
  const auto pages = std::make_unique<Small::Page[]>(2);
  Small::Page* list[2] = {&pages[0], &pages[1]};
  Small ring;
  ring.give_memory(list, 2);
  constexpr u64 all = 200'000;
  std::atomic<bool> over{false};
  const auto reader = [&] {
    u64 next = 0;
    u64 record[8];
    for (bool last = false;;) {
      const u64 before = next;
      if (!ring.read(next, record)) {
        if (last) break;
        last = over.load();
        continue;
      }
      ASSERT_GE(next, before);
      for (u64 i = 0; i < 8; ++i) ASSERT_EQ(record[i], next * 8 + i);
      ++next;
    }
    ASSERT_EQ(next, all);
  };
  std::thread first{reader}, second{reader};
  for (u64 number = 0; number < all; ++number) {
    const u64 word = number * 8;
    ring.write(word, word + 1, word + 2, word + 3, word + 4, word + 5, word + 6, word + 7);
  }
  over = true;
  first.join();
  second.join();
}

}  // namespace
}  // namespace corral::trace

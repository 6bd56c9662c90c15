// Names that threads had: who was called what when, and what gives way.
// sources: kernel/trace/name_history.cpp
#include "trace/name_history.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "lib/random.h"

namespace corral::trace {
namespace {

Name named(std::string_view text) {
  char place[sizeof(Name)] = {};
  std::memcpy(place, text.data(), text.size());
  return __builtin_bit_cast(Name, place);
}

std::string text_of(const Name& name) {
  char place[sizeof(Name) + 1] = {};
  std::memcpy(place, &name, sizeof name);
  return place;
}

class NamesOfThreads : public testing::Test {
 protected:
  static constexpr u64 pages = 2;
  static constexpr u64 capacity = pages * NameHistory::entries_per_page;

  NamesOfThreads() {
    for (u64 i = 0; i < pages; ++i) list_[i] = &page_[i];
    history_.give_memory(list_, pages);
  }
  [[nodiscard]] std::string then(i32 thread, u64 time, std::string_view present = "") const {
    const Name now = named(present);
    return text_of(history_.find(thread, time, present.empty() ? nullptr : &now));
  }

  NameHistory history_;  // NOLINT(cppcoreguidelines-non-private-member-variables-in-classes): a fixture

 private:
  NameHistory::Page page_[pages];
  NameHistory::Page* list_[pages];
};

TEST_F(NamesOfThreads, OneThatWasNeverNotedIsCalledAsNow) {
  EXPECT_EQ(then(7, 100, "shell"), "shell");
  EXPECT_EQ(then(7, 100), "<...>");
}

TEST_F(NamesOfThreads, EachNameIsRightUntilItsEnd) {
  history_.add(7, 100, named("shell"));
  history_.add(7, 200, named("python3"));
  EXPECT_EQ(then(7, 99, "worker"), "shell");
  EXPECT_EQ(then(7, 100, "worker"), "shell");
  EXPECT_EQ(then(7, 101, "worker"), "python3");
  EXPECT_EQ(then(7, 201, "worker"), "worker");
}

TEST_F(NamesOfThreads, OneThatHasEndedKeepsItsLastName) {
  history_.add(7, 100, named("shell"));
  history_.add(7, 200, named("python3"));
  EXPECT_EQ(then(7, 250), "python3");  // its core told a little later that it had left
}

TEST_F(NamesOfThreads, ANumberThatIsGivenAwayAgainIsSomebodyElse) {
  history_.add(7, 100, named("first"));
  history_.add(7, 300, named("second"));
  EXPECT_EQ(then(7, 50), "first");
  EXPECT_EQ(then(7, 200), "second");
  EXPECT_EQ(then(7, 400, "third"), "third");
}

TEST_F(NamesOfThreads, ThreadsOfOneChainAreKeptApart) {
  history_.add(7, 100, named("one"));
  history_.add(7 + 4096, 150, named("other"));
  history_.add(7 + 2 * 4096, 200, named("third"));
  EXPECT_EQ(then(7, 100), "one");
  EXPECT_EQ(then(7 + 4096, 100), "other");
  EXPECT_EQ(then(7 + 2 * 4096, 100), "third");
  EXPECT_EQ(then(7 + 3 * 4096, 100), "<...>");
}

TEST_F(NamesOfThreads, TheOldestGivesWay) {
  for (u64 i = 0; i < capacity; ++i) history_.add(static_cast<i32>(i), i, named("n" + std::to_string(i)));
  EXPECT_EQ(then(0, 0), "n0");
  history_.add(9999, capacity, named("more"));
  EXPECT_EQ(then(0, 0), "<...>");
  EXPECT_EQ(then(1, 0), "n1");
  EXPECT_EQ(then(9999, 0), "more");
}

TEST_F(NamesOfThreads, WhateverWasNotedTheAnswerIsThatOfAPlainSearch) {
  struct Noted {
    i32 thread;
    u64 until;
  };
  std::vector<Noted> all;
  Random random{11};
  for (u64 time = 1; time < 5'000; ++time) {
    const i32 thread = static_cast<i32>(random.below(6) + random.below(3) * 4096);
    history_.add(thread, time, named(std::to_string(time)));
    all.push_back({thread, time});
    const i32 asked = static_cast<i32>(random.below(6) + random.below(3) * 4096);
    const u64 when = random.below(time + 2);
    std::string expected = "<...>";
    const u64 first = all.size() > capacity ? all.size() - capacity : 0;
    for (u64 i = first; i < all.size(); ++i) {
      if (all[i].thread != asked) continue;
      expected = std::to_string(all[i].until);
      if (all[i].until >= when) break;
    }
    ASSERT_EQ(then(asked, when), expected);
  }
}

}  // namespace
}  // namespace corral::trace

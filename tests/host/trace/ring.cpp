// The trace's ring, one after the other. Writer and reader at once: relacy/trace_ring.cpp, threads/trace_ring.cpp.
#include "trace/ring.h"

#include <gtest/gtest.h>

#include <deque>

#include "lib/random.h"

namespace corral::trace {
namespace {

using Small = Ring<Atomic, 2, 4>;  // records of two words, four in a page

struct Memory {
  Small::Page pages[2];
  Small::Page* list[2] = {&pages[0], &pages[1]};
};

TEST(TraceRing, WithoutMemoryHasNothing) {
  Small ring;
  u64 next = 0;
  u64 record[2];
  EXPECT_FALSE(ring.read(next, record));
  EXPECT_EQ(ring.written(), 0u);
  EXPECT_EQ(ring.capacity(), 0u);
}

TEST(TraceRing, GivesTheLastOnesAndSaysHowManyAreGone) {
  Memory memory;
  Small ring;
  ring.give_memory(memory.list, 2);
  EXPECT_EQ(ring.capacity(), 8u);
  Random random{5};
  u64 written = 0;
  u64 next = 0;
  u64 lost = 0;
  u64 taken = 0;
  for (int step = 0; step < 10'000; ++step) {
    if (random.below(2) == 0) {
      ring.write(written, ~written);
      ++written;
      continue;
    }
    const u64 expected = next;
    u64 record[2];
    if (!ring.read(next, record)) {
      ASSERT_EQ(next, written);
      continue;
    }
    // The oldest place may be being written over: it does not count as there.
    ASSERT_EQ(next, written - expected < 8 ? expected : written - 7);
    ASSERT_EQ(record[0], next);
    ASSERT_EQ(record[1], ~next);
    lost += next - expected;
    ++next;
    ++taken;
  }
  EXPECT_EQ(lost + taken + (written - next), written);
  EXPECT_GT(lost, 0u);
}

TEST(TraceRing, RecordsAreWhatProgramsRead) {
  static_assert(sizeof(Ring<>::Page) == page_size);
  static_assert(sizeof(Record) == 64 && sizeof(Switch) <= sizeof(Record::data) && sizeof(Placement) <= sizeof(Record::data));
  static_assert(sizeof(Wake) <= sizeof(Record::data) && sizeof(Call) == sizeof(Record::data));
}

}  // namespace
}  // namespace corral::trace

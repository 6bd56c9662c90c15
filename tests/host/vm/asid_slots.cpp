// Address-space ids of one core against a model of its TLB: an entry that is used must never be a forgotten one.
#include "vm/asid_slots.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace corral::vm {
namespace {

TEST(AsidSlots, WithoutIdsEveryLoadFlushes) {
  AsidSlots slots;
  slots.set_ids(1);
  for (u32 round = 0; round < 2; ++round) {
    for (u64 space = 1; space < 5; ++space) {
      const AsidSlots::Choice choice = slots.choose(space, 1);
      EXPECT_EQ(choice.asid, 0);
      EXPECT_FALSE(choice.keep);
    }
  }
}

TEST(AsidSlots, KeepsThoseWhoseNumbersDoNotMeet) {
  AsidSlots slots;
  slots.set_ids(3);
  const AsidSlots::Choice first = slots.choose(1, 1);
  const AsidSlots::Choice second = slots.choose(2, 1);
  EXPECT_NE(first.asid, second.asid);
  EXPECT_TRUE(slots.choose(1, 1).keep);
  EXPECT_EQ(slots.choose(3, 1).asid, first.asid);
  EXPECT_TRUE(slots.choose(2, 1).keep);
  EXPECT_FALSE(slots.choose(1, 1).keep);
}

TEST(AsidSlots, NeverAnswersIdZeroAndNeverMoreThanThereAre) {
  AsidSlots slots;
  slots.set_ids(4096);
  for (u64 space = 1; space < 100; ++space) {
    const u16 asid = slots.choose(space, 1).asid;
    EXPECT_GE(asid, 1);
    EXPECT_LE(asid, AsidSlots::capacity);
  }
}

// The model: for each id, whose entries the TLB may hold and of which generation of the page table. While a space is
// loaded its entries can be brought up to date by single flushes.
TEST(AsidSlots, NeverKeepsWhatWasTakenAway) {
  for (u32 ids : {2u, 3u, 5u, 9u, 4096u}) {
    std::mt19937 random{ids};
    AsidSlots slots;
    slots.set_ids(ids);
    struct Entries {
      u64 space, generation;
    };
    std::map<u16, Entries> tlb;
    std::map<u64, u64> generation;
    u64 loaded = 0;
    u16 loaded_id = 0;
    u32 kept = 0;
    for (u32 step = 0; step < 20'000; ++step) {
      const u64 space = 1 + random() % 12 + step / 1000;  // spaces end and new ones come; numbers are never used again
      switch (random() % 4) {
        case 0: ++generation[space]; break;
        case 1:
          if (loaded != 0) {  // asked while it was loaded
            slots.note(loaded, generation[loaded]);
            tlb[loaded_id].generation = generation[loaded];
          }
          break;
        default: {
          if (space == loaded) break;
          const AsidSlots::Choice choice = slots.choose(space, generation[space]);
          ASSERT_NE(choice.asid, 0);
          if (choice.keep) {
            ++kept;
            ASSERT_EQ(tlb.at(choice.asid).space, space);
            ASSERT_EQ(tlb.at(choice.asid).generation, generation[space]);
          }
          tlb[choice.asid] = {space, generation[space]};
          loaded = space;
          loaded_id = choice.asid;
        }
      }
    }
    if (ids > 2) EXPECT_GT(kept, 100u);
  }
}

}  // namespace
}  // namespace corral::vm

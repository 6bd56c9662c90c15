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
  EXPECT_FALSE(slots.any());
  for (u64 space = 1; space < 5; ++space) {
    const AsidSlots::Choice choice = slots.choose(space);
    EXPECT_EQ(choice.asid, 0);
    EXPECT_FALSE(choice.keep);
  }
}

TEST(AsidSlots, KeepsTheMostRecentlyLoaded) {
  AsidSlots slots;
  slots.set_ids(3);
  const AsidSlots::Choice first = slots.choose(1);
  const AsidSlots::Choice second = slots.choose(2);
  EXPECT_NE(first.asid, second.asid);
  EXPECT_TRUE(slots.choose(1).keep);
  EXPECT_EQ(slots.choose(3).asid, second.asid);  // 2 was not loaded for the longest time
  EXPECT_TRUE(slots.choose(1).keep);
  EXPECT_FALSE(slots.choose(2).keep);
}

TEST(AsidSlots, NeverAnswersIdZeroAndNeverMoreThanThereAre) {
  AsidSlots slots;
  slots.set_ids(4096);
  for (u64 space = 1; space < 100; ++space) {
    const u16 asid = slots.choose(space).asid;
    EXPECT_GE(asid, 1);
    EXPECT_LE(asid, AsidSlots::capacity);
  }
}

// The model: for each id, whose entries the TLB may hold and of which version of the page table. Dropping translations of
// a space makes a new version and tells the slots to forget.
TEST(AsidSlots, NeverKeepsWhatWasForgotten) {
  for (u32 ids : {2u, 3u, 5u, 9u, 4096u}) {
    std::mt19937 random{ids};
    AsidSlots slots;
    slots.set_ids(ids);
    struct Entries {
      u64 space, version;
    };
    std::map<u16, Entries> tlb;
    std::map<u64, u64> version;
    u64 newest = 0;
    for (u32 step = 0; step < 20'000; ++step) {
      u64 space = 1 + random() % 12 + step / 1000;  // spaces end and new ones come; numbers are never used again
      if (random() % 4 == 0) {
        version[space] = ++newest;
        slots.forget(space);
        EXPECT_FALSE(slots.knows(space));
        continue;
      }
      const AsidSlots::Choice choice = slots.choose(space);
      ASSERT_NE(choice.asid, 0);
      if (choice.keep) {
        ASSERT_EQ(tlb.at(choice.asid).space, space);
        ASSERT_EQ(tlb.at(choice.asid).version, version[space]);
      } else {
        tlb[choice.asid] = {space, version[space]};
      }
    }
  }
}

}  // namespace
}  // namespace corral::vm

// The cache model's caches against ones that are written to be obvious: every single access must come out the same.
// sources: lab/plugin/core_cache.cpp lab/plugin/shared_cache.cpp
// optimised: every access is compared with a slow model
#include <gtest/gtest.h>

#include <deque>

#include "lab/plugin/core_cache.h"
#include "lib/random.h"
#include "reference.h"

namespace corral::test {
namespace {

using cache_model::CacheShape;
using cache_model::CoreCache;
using cache_model::Inbox;
using cache_model::SharedCache;

class Both {
 public:
  Both(u32 cores, const CacheShape& l1, const CacheShape& l2, u32 cores_of_one_l2)
      : inboxes_(cores), shared_{l2, cores_of_one_l2, inboxes_}, reference_{cores, l1, l2, cores_of_one_l2} {
    for (u32 i = 0; i < cores; ++i) own_.emplace_back(i, l1, inboxes_[i], shared_);
  }

  Both(u32 cores, const CacheShape& l1, const CacheShape& l2) : Both{cores, l1, l2, cores} {}

  // False: they do not agree.
  [[nodiscard]] bool access(u32 core, u64 line, bool store) {
    own_[core].read_inbox();
    const CoreCache::Outcome found = own_[core].access(line, store);
    const ReferenceMachine::Outcome expected = reference_.access(core, line, store);
    refills += found.refill ? 1 : 0;
    l2_refills += found.l2_refill ? 1 : 0;
    snoops += found.snooped ? 1 : 0;
    return ReferenceMachine::Outcome{found.refill, found.l2_refill, found.snooped} == expected;
  }
  u64 refills = 0, l2_refills = 0, snoops = 0;

 private:
  std::vector<Inbox> inboxes_;
  SharedCache shared_;
  std::deque<CoreCache> own_;
  ReferenceMachine reference_;
};

constexpr CacheShape pi_l1{16 << 10, 4, 64}, pi_l2{128 << 10, 16, 64};
constexpr CacheShape small_l1{1 << 10, 4, 64}, small_l2{4 << 10, 2, 64};

TEST(Caches, AgreeAboutStreams) {
  for (const u64 kib : {8u, 15u, 16u, 17u, 20u, 64u, 128u, 160u}) {
    Both both{1, pi_l1, pi_l2};
    const u64 lines = kib * 1024 / 64;
    for (int pass = 0; pass < 3; ++pass) {
      for (u64 line = 0; line < lines; ++line) ASSERT_TRUE(both.access(0, line, pass == 1)) << kib << ' ' << line;
    }
    EXPECT_EQ(both.refills, kib <= 16 ? lines : kib >= 20 ? 3 * lines : both.refills) << "it fits, or nothing of it does";
    EXPECT_EQ(both.l2_refills, kib <= 128 ? lines : both.l2_refills);
  }
}

TEST(Caches, AgreeAboutMatrices) {
  for (const u64 n : {16u, 36u, 40u}) {
    Both both{1, small_l1, pi_l2};
    const auto line = [&](u64 matrix, u64 row, u64 column) { return ((matrix * n + row) * n + column) * 4 / 64; };
    for (u64 i = 0; i < n; ++i) {
      for (u64 j = 0; j < n; ++j) {
        for (u64 k = 0; k < n; ++k) {
          ASSERT_TRUE(both.access(0, line(0, i, k), false));
          ASSERT_TRUE(both.access(0, line(1, k, j), false));
        }
        ASSERT_TRUE(both.access(0, line(2, i, j), true));
      }
    }
    EXPECT_GT(both.refills, 3 * n * n * 4 / 64);
  }
}

TEST(Caches, AgreeAboutAnything) {
  for (u64 seed = 1; seed <= 20; ++seed) {
    Random random{seed};
    Both both{1, small_l1, small_l2};
    for (int i = 0; i < 5'000; ++i) ASSERT_TRUE(both.access(0, random.below(200), random.one_in(3))) << seed << ' ' << i;
    EXPECT_GT(both.l2_refills, 1'000u);
  }
}

TEST(Caches, AgreeAboutCoresThatShare) {
  for (u64 seed = 1; seed <= 20; ++seed) {
    Random random{seed};
    const u32 cores = 2 + static_cast<u32>(seed % 4);
    Both both{cores, small_l1, small_l2};
    for (int i = 0; i < 5'000; ++i) {
      const u64 line = random.below(random.one_in(2) ? 8 : 150);
      ASSERT_TRUE(both.access(static_cast<u32>(random.below(cores)), line, random.one_in(3))) << seed << ' ' << i;
    }
    EXPECT_GT(both.snoops, 500u);
  }
}

TEST(Caches, AgreeAboutNeighboursThatShare) {
  for (u64 seed = 1; seed <= 40; ++seed) {
    Random random{seed};
    const u32 cores = 3 + static_cast<u32>(seed % 6);
    const u32 of_one = 1 + static_cast<u32>(seed % 3);
    Both both{cores, small_l1, small_l2, of_one};
    for (int i = 0; i < 5'000; ++i) {
      const u64 line = random.below(random.one_in(2) ? 8 : 150);
      const bool store = random.one_in(seed % 2 == 0 ? 3 : 20);
      ASSERT_TRUE(both.access(static_cast<u32>(random.below(cores)), line, store)) << seed << ' ' << i;
    }
    EXPECT_GT(both.snoops, 100u);
  }
}

TEST(Caches, ALineIsFetchedFromTheOtherSharedCache) {
  for (const u32 writer : {1u, 2u}) {  // the neighbour, or one beyond
    Both both{4, pi_l1, pi_l2, 2};
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(both.access(0, 5, true));
      ASSERT_TRUE(both.access(writer, 5, true));
    }
    EXPECT_EQ(both.refills, 200u);
    EXPECT_EQ(both.l2_refills, writer == 1 ? 1u : 200u);
  }
  Both readers{4, pi_l1, pi_l2, 2};
  for (int i = 0; i < 100; ++i) {
    for (u32 core = 0; core < 4; ++core) ASSERT_TRUE(readers.access(core, 5, false));
  }
  EXPECT_EQ(readers.l2_refills, 2u) << "each has its own copy";
}

TEST(Caches, AgreeAboutTheLastCores) {
  Random random{7};
  Both both{64, small_l1, pi_l2};
  for (int i = 0; i < 5'000; ++i) {
    ASSERT_TRUE(both.access(62 + static_cast<u32>(random.below(2)), random.below(30), random.one_in(3)));
  }
}

TEST(Caches, ALineGoesBackAndForthBetweenItsWriters) {
  Both both{2, pi_l1, pi_l2};
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(both.access(0, 5, true));
    ASSERT_TRUE(both.access(1, 5, true));
  }
  EXPECT_EQ(both.refills, 200u);
  EXPECT_EQ(both.snoops, 199u);
  EXPECT_EQ(both.l2_refills, 1u);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(both.access(0, 6, false));
    ASSERT_TRUE(both.access(1, 6, false));
  }
  EXPECT_EQ(both.refills, 202u) << "readers keep theirs";
}

}  // namespace
}  // namespace corral::test

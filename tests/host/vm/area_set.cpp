// The set of areas against a model that knows every page by itself.
// sources: kernel/vm/area_set.cpp
#include "vm/area_set.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>

namespace corral::vm {
namespace {

class NoPages final : public Backing {
 public:
  Result<Frame*> page(u64) override { return Errno::efault; }
};

constexpr u64 base_page = 16, pages = 96;
constexpr VirtualAddress address_of(u64 page) {
  return {(base_page + page) * page_size};
}

// What one page is part of; joined areas are alike page by page.
struct ModelPage {
  u64 protection;
  Backing* backing;
  u64 index;  // in the backing
  bool operator==(const ModelPage&) const = default;
};

class Model : public testing::Test {
 protected:
  Model() : set{address_of(0), address_of(pages)} {}

  static Protection protection_of(u64 bits) { return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}; }
  static u64 bits_of(Protection p) { return (p.read ? 1u : 0u) | (p.write ? 2u : 0u) | (p.execute ? 4u : 0u); }

  bool free(u64 start, u64 end) const {
    for (u64 i = start; i < end; ++i) {
      if (model[i]) return false;
    }
    return true;
  }

  void insert(u64 start, u64 end, u64 protection, const Ref<Backing>& backing, u64 index) {
    auto* area = new Area;
    area->start = address_of(start);
    area->end = address_of(end);
    area->protection = protection_of(protection);
    area->backing = MappedBacking{backing};
    area->first_page = index;
    set.insert(*area);
    for (u64 i = start; i < end; ++i) model[i] = ModelPage{protection, backing.get(), index + (i - start)};
  }

  void remove(u64 start, u64 end) {
    ASSERT_TRUE(set.isolate(address_of(start), address_of(end)).ok());
    AreaSet::release_chain(set.take(address_of(start), address_of(end)));
    for (u64 i = start; i < end; ++i) model[i].reset();
  }

  void protect(u64 start, u64 end, u64 protection) {
    ASSERT_TRUE(set.isolate(address_of(start), address_of(end)).ok());
    for (Area* area = set.first_above(address_of(start)); area != nullptr && area->start < address_of(end);
         area = set.next(*area)) {
      area->protection = protection_of(protection);
    }
    set.join(address_of(start), address_of(end));
    for (u64 i = start; i < end; ++i) {
      if (model[i]) model[i]->protection = protection;
    }
  }

  void compare() {
    ASSERT_TRUE(set.valid());
    u64 mapped = 0;
    for (u64 i = 0; i < pages; ++i) {
      const Area* area = set.find(address_of(i));
      ASSERT_EQ(area != nullptr, model[i].has_value()) << "page " << i;
      if (area == nullptr) continue;
      ++mapped;
      EXPECT_EQ(bits_of(area->protection), model[i]->protection);
      EXPECT_EQ(area->backing.get(), model[i]->backing);
      if (area->backing) EXPECT_EQ(area->page_index(address_of(i)), model[i]->index);
    }
    EXPECT_EQ(set.mapped_bytes(), mapped * page_size);
  }

  // The highest place for `length` pages; nothing: none.
  std::optional<u64> room(u64 length) const {
    for (u64 start = pages - length + 1; start-- > 0;) {
      if (free(start, start + length)) return start;
    }
    return {};
  }

  AreaSet set;
  std::array<std::optional<ModelPage>, pages> model;
};

TEST_F(Model, RandomOperations) {
  for (u32 seed = 0; seed < 200; ++seed) {
    std::mt19937 random{seed};
    remove(0, pages);
    const Ref<Backing> backings[] = {Ref<Backing>{}, Ref<Backing>::adopt(new NoPages), Ref<Backing>::adopt(new NoPages)};
    for (u32 step = 0; step < 300; ++step) {
      const u64 length = 1 + random() % 12;
      const u64 start = random() % (pages - length);
      const u64 end = start + length;
      switch (random() % 6) {
        case 0:
        case 1:
          if (free(start, end)) {
            const u64 which = random() % 3;
            insert(start, end, random() % 8, backings[which], which == 0 ? 0 : start + random() % 2);
          }
          break;
        case 2: remove(start, end); break;
        case 3: protect(start, end, random() % 8); break;
        case 4: {
          VirtualAddress place;
          const bool found = set.find_room(length * page_size, address_of(pages), place);
          ASSERT_EQ(found, room(length).has_value()) << "seed " << seed << " step " << step;
          if (!found) break;
          const u64 at = place.value / page_size - base_page;
          ASSERT_LE(at + length, pages);
          ASSERT_TRUE(free(at, at + length));
          insert(at, at + length, random() % 8, backings[0], 0);
          break;
        }
        case 5: {
          u64 until = start;
          while (until < end && model[until]) ++until;
          EXPECT_EQ(set.covered_until(address_of(start), address_of(end)), address_of(until));
          EXPECT_EQ(set.is_free(address_of(start), address_of(end)), free(start, end));
          VirtualAddress place;
          const u64 limit = end;
          const bool found = set.find_room(length * page_size, address_of(limit), place);
          std::optional<u64> expected;
          for (u64 at = limit - length + 1; at-- > 0 && !expected;) {
            if (free(at, at + length)) expected = at;
          }
          ASSERT_EQ(found, expected.has_value());
          if (found) EXPECT_EQ(place, address_of(*expected));
          break;
        }
      }
      compare();
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(Model, NeighboursThatAreAlikeAreOne) {
  insert(10, 20, 3, {}, 0);
  insert(30, 40, 3, {}, 0);
  EXPECT_EQ(set.count(), 2u);
  insert(20, 30, 3, {}, 0);
  EXPECT_EQ(set.count(), 1u);
  protect(15, 16, 1);
  EXPECT_EQ(set.count(), 3u);
  protect(15, 16, 3);
  EXPECT_EQ(set.count(), 1u);
  compare();
}

TEST_F(Model, PagesOfAFileAreJoinedOnlyInOrder) {
  const Ref<Backing> file = Ref<Backing>::adopt(new NoPages);
  insert(10, 20, 1, file, 100);
  insert(20, 30, 1, file, 110);
  EXPECT_EQ(set.count(), 1u);
  insert(30, 40, 1, file, 121);
  EXPECT_EQ(set.count(), 2u);
  remove(12, 14);
  EXPECT_EQ(set.count(), 3u);
  compare();
}

TEST_F(Model, ExtendedAreaMeetsItsNeighbour) {
  insert(10, 20, 3, {}, 0);
  insert(25, 30, 3, {}, 0);
  set.extend(*set.find(address_of(10)), address_of(25));
  for (u64 i = 20; i < 25; ++i) model[i] = ModelPage{3, nullptr, i - 10};
  EXPECT_EQ(set.count(), 1u);
  EXPECT_TRUE(set.valid());
  EXPECT_EQ(set.mapped_bytes(), 20 * page_size);
}

// What grows down is not crowded from below, wherever the search begins; and it meets what it grows into.
TEST(AreaSet, GrowingAreasKeepTheirDistance) {
  constexpr u64 gap = AreaSet::growth_gap;
  constexpr VirtualAddress floor{16 * page_size}, ceiling{floor.value + 16 * gap};
  AreaSet set{floor, ceiling};
  const auto put = [&](VirtualAddress start, u64 length, bool grows) {
    auto* area = new Area;
    area->start = start;
    area->end = start + length;
    area->protection = {true, true, false};
    area->grows_down = grows;
    set.insert(*area);
  };
  VirtualAddress place;
  ASSERT_TRUE(set.find_room(gap, ceiling, place));
  EXPECT_EQ(place.value, ceiling.value - gap);
  put(place, gap, true);
  ASSERT_TRUE(set.find_room(page_size, ceiling, place));
  EXPECT_EQ(place.value, ceiling.value - 2 * gap - page_size);
  put(place, page_size, false);
  EXPECT_FALSE(set.has_room({ceiling.value - 2 * gap}, {ceiling.value - 2 * gap + page_size}));
  EXPECT_TRUE(set.has_room({ceiling.value - 3 * gap}, {ceiling.value - 2 * gap - page_size}));
  EXPECT_TRUE(set.is_free({ceiling.value - 2 * gap}, {ceiling.value - gap}));
  EXPECT_TRUE(set.valid());
  Area* grown = &set.extend_down(*set.find({ceiling.value - gap}), {ceiling.value - gap - 3 * page_size});
  EXPECT_EQ(grown->length(), gap + 3 * page_size);
  EXPECT_EQ(set.count(), 2u);
  put({grown->start.value - 2 * page_size}, page_size, true);
  EXPECT_EQ(set.count(), 3u);
  grown = &set.extend_down(*grown, {grown->start.value - page_size});
  EXPECT_EQ(grown->length(), gap + 5 * page_size);
  EXPECT_EQ(set.count(), 2u);
  EXPECT_EQ(set.mapped_bytes(), gap + 6 * page_size);
  EXPECT_TRUE(set.valid());
  // Once it is gone, its place and the gap are as good as any.
  const VirtualAddress start = grown->start, end = grown->end;
  AreaSet::release_chain(set.take(start, end));
  ASSERT_TRUE(set.find_room(2 * gap, ceiling, place));
  EXPECT_EQ(place.value, ceiling.value - 2 * gap);
  put(place, 2 * gap, false);
  EXPECT_TRUE(set.valid());
}

// Many thread stacks: each search begins where the last one ended.
TEST(AreaSet, ThousandsOfAreasAreFoundRoomQuickly) {
  constexpr u64 stack = 8u << 20;
  AreaSet set{VirtualAddress{0x10000}, VirtualAddress{u64{1} << 46}};
  constexpr u32 count = 20'000;
  for (u32 i = 0; i < count; ++i) {
    VirtualAddress place;
    ASSERT_TRUE(set.find_room(stack, VirtualAddress{u64{1} << 47}, place));
    auto* area = new Area;
    area->start = place;
    area->end = place + stack;
    area->protection.write = i % 2 == 0;  // never alike
    set.insert(*area);
  }
  EXPECT_EQ(set.count(), count);
  EXPECT_TRUE(set.valid());
}

TEST(AreaSet, RefusesToCutBeyondItsLimit) {
  AreaSet set{VirtualAddress{0x10000}, VirtualAddress{u64{1} << 46}};
  for (u64 i = 0; i < AreaSet::most_areas.value(); ++i) {
    auto* area = new Area;
    area->start = VirtualAddress{0x10'0000 + i * 4 * page_size};
    area->end = area->start + 2 * page_size;
    set.insert(*area);
  }
  const VirtualAddress middle{0x10'0000 + page_size};
  EXPECT_EQ(set.isolate(middle, middle + page_size).error(), Errno::enomem);
  EXPECT_TRUE(set.valid());
}

}  // namespace
}  // namespace corral::vm

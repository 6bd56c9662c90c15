// Translation tables against a map: random pages of a few far-apart regions are mapped, changed, taken out and visited; at
// the end every table page is given back. Memory failing at any point changes nothing.
// sources: kernel/arch/x86_64/page_table.cpp kernel/arch/x86_64/page_runs.cpp
#include "arch/page_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "arch/processor.h"
#include "arch/x86_64/paging.h"
#include "memory/large_page.h"
#include "memory/page_allocator.h"
#include "support/host_machine.h"

namespace corral::arch {

namespace {
PhysicalAddress root_of_kernel{};
constexpr Features with_no_execute = [] {
  Features f{};
  f.nx = true;
  return f;
}();
}  // namespace
Features detail::found_features = with_no_execute;
PhysicalAddress kernel_root() {
  return root_of_kernel;
}

namespace {

constexpr u64 mib = u64{1} << 20;

class PageTables : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static host::Memory memory{{0}, 64 * mib};
    BootInfo boot;
    boot.ranges[boot.range_count++] = {{0}, 64 * mib, true};
    memory::initialise_pages(boot, {});
    root_of_kernel = memory::address_of(*memory::allocate_page(memory::Zero::yes).take());
    // The upper half: one large page in the direct map, and a table for the kernel's own area.
    PhysicalAddress upper = memory::address_of(*memory::allocate_page(memory::Zero::yes).take());
    PhysicalAddress directory = memory::address_of(*memory::allocate_page(memory::Zero::yes).take());
    table_at(root_of_kernel)[kernel_half] = upper.value | 3;
    table_at(upper)[0] = directory.value | 3;
    table_at(directory)[3] = 3 * 2 * mib | entry_present | entry_write | entry_large | entry_no_execute | 0x1000;
  }
  static void release(void* count, PhysicalAddress table) {
    ++*static_cast<u64*>(count);
    memory::release_page(memory::frame_of(table));
  }
  static u64 free_pages() {
    memory::PageStatistics s = memory::page_statistics();
    return s.free_global + s.free_local;
  }
};

struct Page {
  u64 frame;
  Rights rights;
  bool operator==(const Page&) const = default;
};
using Model = std::map<u64, Page>;

Model visited(const PageTable& table, u64 from, u64 to) {
  Model found;
  table.for_each(
      {from}, {to},
      [](void* context, VirtualAddress page, const Translation& t) {
        EXPECT_TRUE(static_cast<Model*>(context)->emplace(page.value, Page{t.frame.value, t.rights}).second);
      },
      &found);
  return found;
}

TEST_F(PageTables, AgreeWithAMap) {
  std::mt19937_64 random{11};
  const u64 before = free_pages();
  PageTable table = PageTable::create().take();
  Model model;
  const u64 regions[] = {0, 0x3fff'f000, 0x7f'ffff'f000, 0x5555'0000'0000, user_space_end - 40 * page_size};
  auto some_page = [&] { return regions[random() % 5] + random() % 40 * page_size; };
  for (int step = 0; step < 30'000; ++step) {
    u64 page = some_page();
    Rights rights{.write = random() % 2 == 0, .execute = random() % 2 == 0, .user = true, .device = random() % 8 == 0};
    Translation was{};
    switch (random() % 4) {
      case 0: {
        u64 frame = random() % 1000 * page_size;
        ASSERT_TRUE(table.map({page}, {frame}, rights).ok());
        model[page] = {frame, rights};
        break;
      }
      case 1:
        ASSERT_EQ(table.unmap({page}, was), model.count(page) == 1);
        if (model.count(page) == 1) ASSERT_EQ((Page{was.frame.value, was.rights}), model[page]);
        model.erase(page);
        break;
      case 2:
        ASSERT_EQ(table.protect({page}, rights), model.count(page) == 1);
        if (model.count(page) == 1) model[page].rights = rights;
        break;
      default:
        ASSERT_EQ(table.lookup({page + random() % page_size}, was), model.count(page) == 1);
        if (model.count(page) == 1) ASSERT_EQ((Page{was.frame.value, was.rights}), model[page]);
        break;
    }
    if (step % 500 == 0) {
      u64 from = some_page();
      u64 to = some_page();
      Model expected;
      for (const auto& [address, entry] : model) {
        if (address >= from && address < to) expected[address] = entry;
      }
      ASSERT_EQ(visited(table, from, to), expected);
      ASSERT_EQ(visited(table, 0, ~u64{0}), model);
    }
  }
  u64 tables = table.table_pages();
  u64 released = 0;
  table.destroy(release, &released);
  EXPECT_EQ(released, tables + 1);
  EXPECT_EQ(free_pages(), before);
}

// What was touched since it was cleared, in parts of any size; the processor sets the bit.
TEST_F(PageTables, TellWhatWasTouched) {
  PageTable table = PageTable::create().take();
  const VirtualAddress large{0x4000'0000};
  std::vector<VirtualAddress> pages;
  for (u64 i = 0; i < 700; ++i) pages.push_back({0x7f'ff00'0000 + i * 3 * page_size});
  for (const VirtualAddress page : pages) ASSERT_TRUE(table.map(page, {5 * page_size}, {.write = true, .user = true}).ok());
  ASSERT_TRUE(table.map_large(large, {2 * large_page}, {.write = true, .user = true}).ok());
  const VirtualAddress end{user_space_end};
  const auto touch = [&](VirtualAddress page) {
    u32 level = 0;
    (void)find_leaf(table.root(), page.value, level);
    if (level == leaf_level) {
      __atomic_fetch_or(leaf_place(table.root(), page.value), entry_accessed, __ATOMIC_RELAXED);
    } else {
      Translation found{};
      ASSERT_TRUE(table.lookup(page, found));
      ASSERT_TRUE(table.protect(page, found.rights));  // sets it, too
    }
  };
  PageTable::Touched count = table.count_touched({0}, end);
  EXPECT_EQ(count.pages, 700u + 512u);
  EXPECT_EQ(count.touched, count.pages) << "who maps a page touches it";

  const auto cleared_from = [&](VirtualAddress from, u32 most) { return table.clear_touched(from, end, most); };
  EXPECT_EQ(cleared_from({0}, 1).next, pages[0]);
  EXPECT_EQ(table.count_touched({0}, end).touched, 700u);
  EXPECT_EQ(cleared_from(pages[0], 100).next, pages[100]);
  EXPECT_EQ(table.count_touched(pages[0], pages[100]).touched, 0u);
  EXPECT_EQ(table.count_touched(pages[0], pages[100]).pages, 100u);
  EXPECT_EQ(table.count_touched({0}, end).touched, 600u);
  EXPECT_EQ(table.clear_touched({0}, pages[50], 1000).next, pages[50]);
  EXPECT_EQ(table.clear_touched({0}, pages[50], 1000).entries, 51u) << "the large one, too";
  EXPECT_EQ(cleared_from(pages[100], 600).next, end);
  EXPECT_EQ(cleared_from(pages[100], 601).entries, 600u);
  EXPECT_EQ(cleared_from({0}, 0).next, large);
  EXPECT_EQ(table.count_touched({0}, end).touched, 0u);

  touch(pages[7]);
  touch(pages[699]);
  count = table.count_touched({0}, end);
  EXPECT_EQ(count.touched, 2u);
  touch(large + 5 * page_size);
  EXPECT_EQ(table.count_touched({0}, end).touched, 514u) << "a large page is one";
  Translation found{};
  ASSERT_TRUE(table.lookup(pages[3], found));
  EXPECT_TRUE(found.rights.write) << "nothing else has changed";
  for (const VirtualAddress page : pages) ASSERT_TRUE(table.unmap(page, found));
  ASSERT_TRUE(table.unmap(large, found));
  u64 released = 0;
  table.destroy(release, &released);
}

// In few steps, however far apart the pages are, and no step is lost when a search is cut.
TEST_F(PageTables, FindTheNextPage) {
  PageTable table = PageTable::create().take();
  EXPECT_EQ(table.find_page({0}, {user_space_end}, 1).at.value, user_space_end);
  const u64 pages[] = {0x1000, 0x2000, 0x1f'f000, 0x4000'0000, 0x55'5555'5000, 0x5555'5555'5000, user_space_end - page_size};
  for (const u64 page : pages) ASSERT_TRUE(table.map({page}, {0x1000}, {.user = page % 0x2000 == 0}).ok());
  ASSERT_TRUE(table.map_large({0x7f00'0020'0000}, {0x20'0000}, {.user = true}).ok());
  Translation was;
  ASSERT_TRUE(table.unmap({0x55'5555'5000}, was));  // leaves tables with nothing in them
  for (const u32 most : {1u, 2u, 100u}) {
    std::vector<u64> found;
    u32 looks = 0;
    for (VirtualAddress at{}; at.value < user_space_end; ++looks) {
      const PageTable::Sought sought = table.find_page(at, {user_space_end}, most);
      ASSERT_GE(sought.at, at);
      at = sought.at;
      if (!sought.found) continue;
      found.push_back(at.value);
      at = at.value == 0x7f00'0020'0000 ? VirtualAddress{0x7f00'0040'0000} : at + page_size;
    }
    EXPECT_EQ(found, (std::vector<u64>{0x1000, 0x2000, 0x1f'f000, 0x4000'0000, 0x5555'5555'5000, 0x7f00'0020'0000,
                                       user_space_end - page_size}));
    EXPECT_LT(looks, 60u);
  }
  EXPECT_EQ(table.find_page({0x7f00'0030'1000}, {user_space_end}, 1).at.value, 0x7f00'0030'1000u);  // inside the large one
  const PageTable::Sought below = table.find_page({0x3000}, {0x4000}, 100);
  EXPECT_TRUE(!below.found && below.at.value == 0x4000);
  u64 released = 0;
  table.destroy(release, &released);
}

TEST_F(PageTables, RefuseWhatIsNotAUserPage) {
  PageTable table = PageTable::create().take();
  EXPECT_EQ(table.map({user_space_end}, {0}, {.user = true}).error(), Errno::einval);
  EXPECT_EQ(table.map({0xffff'8000'0000'0000}, {0}, {.user = true}).error(), Errno::einval);
  EXPECT_EQ(table.map({0x1001}, {0}, {.user = true}).error(), Errno::einval);
  u64 released = 0;
  table.destroy(release, &released);
  EXPECT_EQ(released, 1u);
}

TEST_F(PageTables, LookUpLargePagesOfTheKernel) {
  PageTable table = PageTable::create().take();
  Translation found{};
  ASSERT_TRUE(table.lookup({0xffff'8000'0000'0000 + 3 * 2 * mib + 0x5123}, found));
  EXPECT_EQ(found.frame.value, 3 * 2 * mib + 0x5000);
  EXPECT_FALSE(found.rights.user);
  EXPECT_FALSE(found.rights.execute);
  EXPECT_FALSE(table.lookup({0xffff'8000'0000'0000}, found));
  u64 released = 0;
  table.destroy(release, &released);
  EXPECT_EQ(released, 1u);  // the shared half is nobody's to give back
}

TEST_F(PageTables, OutOfMemoryAtAnyPointLosesNothing) {
  const u64 before = free_pages();
  for (u64 nth = 1; nth <= 5; ++nth) {
    memory::fail_allocation(nth, 0);
    Result<PageTable> table = PageTable::create();
    if (!table.ok()) {
      EXPECT_EQ(table.error(), Errno::enomem);
    } else {
      Result<void> mapped = table.value().map({0x5555'0000'0000}, {0x1000}, {.user = true});
      EXPECT_EQ(mapped.ok(), nth > 4);
      Translation found{};
      EXPECT_EQ(table.value().lookup({0x5555'0000'0000}, found), mapped.ok());
      memory::fail_allocation(0, 0);
      u64 released = 0;
      table.value().destroy(release, &released);
    }
    memory::fail_allocation(0, 0);
    EXPECT_EQ(free_pages(), before);
  }
}

Frame& prepared_large_page() {
  while (memory::prepare_large_page() == memory::Preparation::under_way) continue;
  return *memory::take_large_page();
}

constexpr Rights for_writing{.write = true, .user = true};

// Three places of large pages in two tables, one a copy of the other now and then: mapped, split, protected, taken out. Each byte
// is where it should be, and at the end all memory is back.
TEST_F(PageTables, LargePagesAreSplitSharedAndTakenOut) {
  constexpr u64 base = 0x5555'5540'0000;
  struct Taken {
    std::vector<u64> pages, tables;
  };
  const auto take = [](void* context, VirtualAddress page, PhysicalAddress frame, Held held) {
    auto& taken = *static_cast<Taken*>(context);
    switch (held) {
      case Held::table: taken.tables.push_back(frame.value); break;
      case Held::large_page: {
        EXPECT_EQ(page.value % large_page, 0u);
        memory::release_large_page(memory::frame_of(frame));
        taken.pages.push_back(page.value);
        break;
      }
      case Held::page: memory::release_page(memory::frame_of(frame)); taken.pages.push_back(page.value);
    }
    return true;
  };
  std::mt19937_64 random{5};
  const u64 before = free_pages();
  for (int round = 0; round < 60; ++round) {
    PageTable table = PageTable::create().take();
    PageTable child = PageTable::create().take();
    u64 frames[3];
    for (u64 i = 0; i < 3; ++i) {
      const VirtualAddress place{base + i * large_page};
      ASSERT_TRUE(table.room_for_large(place));
      Frame& first = prepared_large_page();
      frames[i] = memory::address_of(first).value;
      ASSERT_TRUE(table.map_large(place, {frames[i]}, for_writing).ok());
      ASSERT_FALSE(table.room_for_large(place));
      ASSERT_EQ(table.map_large(place, {frames[i]}, for_writing).error(), Errno::eexist);
      ASSERT_EQ(table.map(place, {frames[i]}, for_writing).error(), Errno::einval);
    }
    const auto all_there = [&](PageTable& in, bool write) {
      for (u64 at = 0; at < 3 * large_page; at += page_size) {
        Translation found{};
        if (!in.lookup({base + at}, found) || found.frame.value != frames[at / large_page] + at % large_page) return false;
        u8* byte = in.reach({base + at + 77}, write);
        if (byte != direct(found.frame) + 77 || (in.reach({base + at}, true) != nullptr) != write) return false;
      }
      return true;
    };
    ASSERT_TRUE(all_there(table, true));
    if (random() % 2 == 0) ASSERT_TRUE(table.split({base + random() % (3 * large_page)}).ok());
    PageTable::Copied copied;
    ASSERT_TRUE(table.copy_for_reading(child, {base}, {base + 3 * large_page}, copied).ok());
    EXPECT_EQ(copied.pages, 3 * memory::large_pages);
    EXPECT_EQ(copied.first_lost.value, base);
    EXPECT_EQ(copied.end_lost.value, base + 3 * large_page);
    for (int i = 0; i < 2; ++i)
      ASSERT_TRUE((random() % 2 == 0 ? table : child).split({base + random() % (3 * large_page)}).ok());
    ASSERT_TRUE(all_there(table, false));
    ASSERT_TRUE(all_there(child, false));
    ASSERT_TRUE(table.split({base + large_page}).ok());
    Taken taken;
    const u64 tables = table.table_pages();
    EXPECT_EQ(table.take_out({base + large_page}, {base + 2 * large_page}, take, &taken).value, base + 2 * large_page);
    EXPECT_EQ(taken.pages.size(), memory::large_pages);
    ASSERT_EQ(taken.tables.size(), 1u);
    table.keep_table({taken.tables[0]});
    EXPECT_EQ(table.table_pages(), tables);
    EXPECT_TRUE(table.room_for_large({base + large_page}));
    ASSERT_TRUE(all_there(child, false));
    ASSERT_TRUE(table.map({base + large_page}, {0x1000}, for_writing).ok());  // in the table that was kept
    EXPECT_EQ(table.table_pages(), tables);
    Translation was{};
    for (u64 at = page_size; at < large_page; at += page_size) ASSERT_FALSE(table.lookup({base + large_page + at}, was));
    ASSERT_TRUE(table.unmap({base + large_page}, was));
    for (PageTable* one : {&table, &child}) {
      one->release_pages();
      u64 released = 0;
      one->destroy(release, &released);
    }
    ASSERT_EQ(free_pages(), before);
  }
}

TEST_F(PageTables, OneHolderMayTakeALargePageOver) {
  const u64 before = free_pages();
  Frame& first = prepared_large_page();
  EXPECT_EQ(memory::large_pages_in_use(), 1u);
  EXPECT_TRUE(memory::claim_large_page(first));
  memory::share_large_page(first);
  EXPECT_FALSE(memory::claim_large_page(first));
  memory::split_large_page(first);  // by the other one, who then gives up all but one page
  for (u64 i = 1; i < memory::large_pages; ++i) memory::release_page((&first)[i]);
  EXPECT_FALSE(memory::claim_large_page(first));
  EXPECT_EQ(memory::large_pages_in_use(), 0u);
  memory::share_large_page(first);
  memory::release_large_page(first);
  memory::release_page(first);
  EXPECT_TRUE(memory::claim_large_page(first));
  EXPECT_EQ(memory::large_pages_in_use(), 1u);
  memory::release_large_page(first);
  EXPECT_EQ(free_pages(), before);
}

TEST_F(PageTables, LargePagesLeaveMemoryForSmallOnes) {
  const u64 before = free_pages();
  std::vector<Frame*> all;
  for (;;) {
    memory::Preparation prepared = memory::Preparation::under_way;
    while (prepared == memory::Preparation::under_way) prepared = memory::prepare_large_page();
    if (prepared == memory::Preparation::impossible) break;
    EXPECT_EQ(free_pages() + (all.size()) * memory::large_pages, before);  // it counts as free
    all.push_back(memory::take_large_page());
    for (u64 at = 0; at < memory::large_page_size; at += 4000) ASSERT_EQ(memory::contents(*all.back())[at], 0);
  }
  EXPECT_GE(free_pages(), memory::page_statistics().total / 4);
  EXPECT_GT(all.size(), 8u);
  for (Frame* first : all) memory::release_large_page(*first);
  EXPECT_EQ(memory::prepare_large_page(), memory::Preparation::under_way);
  std::vector<Frame*> small;  // what is in preparation is given up when memory ends
  for (;;) {
    const Result<Frame*> page = memory::allocate_page(memory::Zero::no);
    if (!page.ok()) break;
    small.push_back(page.value());
  }
  EXPECT_EQ(free_pages(), 0u);
  for (Frame* page : small) memory::release_page(*page);
  EXPECT_EQ(free_pages(), before);
}

}  // namespace
}  // namespace corral::arch

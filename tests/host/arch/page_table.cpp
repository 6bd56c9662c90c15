// Translation tables against a map: random pages of a few far-apart regions are mapped, changed, taken out and visited; at
// the end every table page is given back. Memory failing at any point changes nothing.
// sources: kernel/arch/x86_64/page_table.cpp
#include "arch/page_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "arch/processor.h"
#include "arch/x86_64/paging.h"
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

}  // namespace
}  // namespace corral::arch

// See large_page.h.
#include "memory/large_page.h"

#include <utility>

#include "arch/processor.h"
#include "lib/memory_functions.h"
#include "memory/canary.h"
#include "memory/page_allocator.h"
#include "sync/spin_lock.h"
#include "trace/panic.h"

namespace corral::memory {

namespace {

// What is zeroed at once, with interrupts off: some tens of microseconds.
constexpr u64 zeroed_at_once = u64{256} << 10;
static_assert(large_page_size % zeroed_at_once == 0);
// Large pages are for machines that have memory to spare: one page in so many stays free for small pages.
constexpr u64 kept_free = 4;

struct alignas(cache_line) InPreparation {
  Frame* block = nullptr;   // own core
  u64 zeroed = 0;           // bytes; own core
  Atomic<u64> pages{0};     // written by its core, read by all
};

constinit SpinLock lock{Rank::large_pages, "large pages"};
constinit InPreparation in_preparation[max_cores];
constinit Atomic<u64> in_use{0};
constinit bool used = true;     // boot context

InPreparation& own() {
  return in_preparation[arch::core_index()];
}

bool whole(const Frame& first) {
  return first.order == large_order;
}

void make_whole(Frame& first) {
  Frame* const pages = &first;
  for (u64 i = 1; i < large_pages; ++i) {
    pages[i].references.store(0, Order::relaxed);
    pages[i].set_state(FrameState::inside);
  }
  first.order = large_order;
}

void make_small(Frame& first) {
  Frame* const pages = &first;
  const u32 references = first.references.load(Order::relaxed);
  for (u64 i = 1; i < large_pages; ++i) {
    pages[i].references.store(references, Order::relaxed);
    pages[i].order = 0;
    pages[i].set_state(FrameState::used);
  }
  first.order = 0;
}

// Acquire: whoever shared a page has finished with it.
bool only_holder(const Frame& first) {
  const Frame* const pages = &first;
  for (u64 i = 0; i < large_pages; ++i) {
    if (pages[i].references.load(Order::acquire) != 1) return false;
  }
  return true;
}

}  // namespace

void use_large_pages(LargePages use) {
  used = use == LargePages::yes;
}

Preparation prepare_large_page() {
  InPreparation& mine = own();
  if (mine.block == nullptr) {
    if (!used) return Preparation::impossible;
    mine.block = allocate_spare_block(large_order, kept_free);
    if (mine.block == nullptr) return Preparation::impossible;
    mine.zeroed = 0;
    mine.pages.store(large_pages, Order::relaxed);
  }
  if (mine.zeroed != large_page_size) {
    memset(contents(*mine.block) + mine.zeroed, 0, zeroed_at_once);
    mine.zeroed += zeroed_at_once;
  }
  return mine.zeroed == large_page_size ? Preparation::ready : Preparation::under_way;
}

Frame* take_large_page() {
  InPreparation& mine = own();
  if (mine.block == nullptr || mine.zeroed != large_page_size) return nullptr;
  Frame* block = std::exchange(mine.block, nullptr);
  mine.pages.store(0, Order::relaxed);
  in_use.fetch_add(1, Order::relaxed);
  return block;
}

u64 give_up_preparation() {
  InPreparation& mine = own();
  if (mine.block == nullptr) return 0;
  mine.pages.store(0, Order::relaxed);
  release_block(*std::exchange(mine.block, nullptr), large_order);
  return large_pages;
}

u64 pages_in_preparation() {
  u64 pages = 0;
  for (const InPreparation& one : in_preparation) pages += one.pages.load(Order::relaxed);
  return pages;
}

u64 large_pages_in_use() {
  return in_use.load(Order::relaxed);
}

void share_large_page(Frame& first) {
  LockGuard guard{lock};
  first.references.fetch_add(1, Order::relaxed);
  if (whole(first)) return;
  Frame* const pages = &first;
  for (u64 i = 1; i < large_pages; ++i) share_page(pages[i]);
}

void release_large_page(Frame& first) {
  {
    LockGuard guard{lock};
    if (whole(first)) {
      const u32 before = first.references.fetch_sub(1, Order::acq_rel);
      KERNEL_ASSERT(before != 0);
      if (before != 1) return;
      in_use.fetch_sub(1, Order::relaxed);
      lay_canaries(contents(first), large_page_size);
      release_block(first, large_order);
      return;
    }
  }
  Frame* const pages = &first;  // once split, it is not whole again before this reference is gone
  for (u64 i = 0; i < large_pages; ++i) release_page(pages[i]);
}

void split_large_page(Frame& first) {
  LockGuard guard{lock};
  if (!whole(first)) return;
  in_use.fetch_sub(1, Order::relaxed);
  make_small(first);
}

bool claim_large_page(Frame& first) {
  LockGuard guard{lock};
  if (whole(first)) return first.references.load(Order::acquire) == 1;
  if (!only_holder(first)) return false;
  in_use.fetch_add(1, Order::relaxed);
  make_whole(first);
  return true;
}

}  // namespace corral::memory

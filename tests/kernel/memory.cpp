// In the kernel: pages, objects and the byte functions, as they are linked and with the machine's own memory.
#include <new>

#include "kernel_test.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "sync/spin_lock.h"

namespace corral::tests {

namespace {

u64 free_pages() {
  const memory::PageStatistics pages = memory::page_statistics();
  return pages.free_global + pages.free_local;
}

template <u64 Alignment>
struct alignas(Alignment) Aligned {
  u8 bytes[Alignment];
};

template <u64 Alignment>
bool aligned_new_works() {
  auto* object = new (std::nothrow) Aligned<Alignment>;
  if (object == nullptr) return false;
  const bool good = reinterpret_cast<u64>(object) % Alignment == 0;
  memset(object, 0x77, sizeof *object);
  delete object;
  return good;
}

struct Large {
  u8 bytes[20'000];
};

}  // namespace

KERNEL_TEST(memory_statistics_add_up) {
  const memory::PageStatistics pages = memory::page_statistics();
  const memory::HeapStatistics heap = memory::heap_statistics();
  KERNEL_EXPECT(pages.free_global + pages.free_local + pages.reserved <= pages.total);
  KERNEL_EXPECT(heap.slab_pages + heap.block_pages <= pages.total - free_pages() - pages.reserved);
  KERNEL_EXPECT(heap.objects != 0 && heap.bytes <= (heap.slab_pages + heap.block_pages) * page_size);
  KERNEL_PASSED;
}

KERNEL_TEST(memory_pages_are_zeroed_and_come_back) {
  const u64 before = free_pages();
  Result<Frame*> dirty = memory::allocate_page(memory::Zero::no);
  KERNEL_EXPECT(dirty.ok());
  memset(memory::contents(*dirty.value()), 0xff, page_size);
  memory::release_page(*dirty.value());
  Result<Frame*> clean = memory::allocate_page(memory::Zero::yes);
  KERNEL_EXPECT(clean.ok() && clean.value() == dirty.value());
  u64 sum = 0;
  for (u64 i = 0; i < page_size; ++i) sum += memory::contents(*clean.value())[i];
  KERNEL_EXPECT(sum == 0);
  memory::release_page(*clean.value());
  KERNEL_EXPECT(free_pages() == before);
  KERNEL_PASSED;
}

KERNEL_TEST(memory_exhaustion_is_an_answer) {
  const u64 before = free_pages();
  IntrusiveList<Frame, &Frame::link> all;
  u64 count = 0;
  for (;;) {
    Result<Frame*> frame = memory::allocate_page(memory::Zero::no);
    if (!frame.ok()) {
      KERNEL_EXPECT(frame.error() == Errno::enomem);
      break;
    }
    all.push_back(*frame.value());
    ++count;
  }
  const bool block_refused = !memory::allocate_block(0).ok();
  const bool object_refused = !memory::make<Large>().ok();
  while (Frame* frame = all.pop_front()) memory::release_page(*frame);
  KERNEL_EXPECT(block_refused && object_refused);
  KERNEL_EXPECT(count <= before && count + 64 * 256 > before);  // other cores' lists keep theirs
  KERNEL_EXPECT(free_pages() == before);
  Result<Frame*> again = memory::allocate_block(memory::max_order);
  KERNEL_EXPECT(again.ok());
  memory::release_block(*again.value(), memory::max_order);
  KERNEL_PASSED;
}

KERNEL_TEST(memory_objects_are_aligned) {
  const u64 objects = memory::heap_statistics().objects;
  KERNEL_EXPECT(aligned_new_works<16>());
  KERNEL_EXPECT(aligned_new_works<64>());
  KERNEL_EXPECT(aligned_new_works<256>());
  KERNEL_EXPECT(aligned_new_works<4096>());
  KERNEL_EXPECT(memory::heap_statistics().objects == objects);
  KERNEL_PASSED;
}

KERNEL_TEST(memory_fails_on_demand) {
  memory::fail_allocation(2, 0);
  Result<u64*> first = memory::make<u64>(u64{1});
  Result<u64*> second = memory::make<u64>(u64{2});
  Result<u64*> third = memory::make<u64>(u64{3});
  memory::fail_allocation(0, 0);
  KERNEL_EXPECT(first.ok() && !second.ok() && third.ok());
  KERNEL_EXPECT(second.error() == Errno::enomem && *first.value() == 1 && *third.value() == 3);
  delete first.value();
  delete third.value();
  KERNEL_PASSED;
}

KERNEL_TEST(memory_byte_functions_copy_move_fill_and_compare) {
  static constinit u8 a[64];
  static constinit u8 b[64];
  for (u8 i = 0; i < 64; ++i) a[i] = i;
  memcpy(b, a, 61);
  KERNEL_EXPECT(memcmp(a, b, 61) == 0 && memcmp(b + 1, a, 1) > 0);
  memmove(b + 3, b, 50);
  for (u8 i = 0; i < 50; ++i) KERNEL_EXPECT(b[i + 3] == i);
  memmove(a, a + 5, 50);
  for (u8 i = 0; i < 50; ++i) KERNEL_EXPECT(a[i] == i + 5);
  memset(a + 1, 0xee, 21);
  KERNEL_EXPECT(a[0] == 5 && a[1] == 0xee && a[21] == 0xee && a[22] == 27);
  KERNEL_EXPECT(strlen("four") == 4);
  KERNEL_PASSED;
}

KERNEL_TEST(memory_locks_count) {
  static constinit SpinLock lock{Rank::log, "test"};
  const LockStatistics before = lock_statistics();
  {
    LockGuard guard{lock};
    KERNEL_EXPECT(lock.held_here());
  }
  KERNEL_EXPECT(!lock.held_here());
  KERNEL_EXPECT(lock_statistics().acquisitions > before.acquisitions);
  KERNEL_PASSED;
}

}  // namespace corral::tests

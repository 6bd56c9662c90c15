// Kernel objects: slab caches by size behind locks, and in front of them a few free objects of each size on each core.
//
// The fast path takes no lock: an object comes from the calling core's magazine and goes back to the magazine of the
// core that releases it. An empty magazine takes a batch from the slab cache, a full one returns a batch. Above 2048
// bytes: blocks of pages. Invariant: magazines of core c are touched by core c only (their counts are read by
// anyone). Any core, interrupts off, after initialise_pages. Neighbours: slab_cache (pure), page_allocator.
#include "memory/heap.h"

#include "arch/page_table.h"
#include "arch/processor.h"
#include "memory/canary.h"
#include "memory/failure.h"
#include "memory/page_allocator.h"
#include "memory/slab_cache.h"
#include "sync/spin_lock.h"
#include "trace/panic.h"

namespace corral::memory {
namespace {

// Sizes that cut a page with little rest; multiples of a cache line from 64 on. A whole page is one as well: threads are more than
// half of one, and the magazines of cores make them without the lock of the pages.
constexpr u32 sizes[] = {16, 32, 48, 64, 128, 192, 256, 320, 384, 512, 640, 768, 1024, 1344, 2048, 4096};
constexpr u32 class_count = sizeof sizes / sizeof sizes[0];
constexpr u32 largest = sizes[class_count - 1];

constexpr bool sizes_good() {
  for (u32 i = 0; i < class_count; ++i) {
    if (sizes[i] % (sizes[i] < 64 ? 16 : 64) != 0 || (i > 0 && sizes[i] <= sizes[i - 1])) return false;
  }
  return true;
}
static_assert(sizes_good());

// The class for each size, by sixteenths.
struct ClassTable {
  u8 of[largest / 16 + 1] = {};
  constexpr ClassTable() {
    u8 current = 0;
    for (u32 i = 0; i <= largest / 16; ++i) {
      if (i * 16 > sizes[current]) ++current;
      of[i] = current;
    }
  }
};
constexpr ClassTable class_table;

// Objects moved at once between a magazine and the slabs: about half a page's worth.
constexpr u32 batch_of(u32 index) {
  const u32 count = 2048 / sizes[index];
  return count < 2 ? 2 : (count > 16 ? 16 : count);
}

class Pages final : public SlabPages {
 public:
  Frame* take() override {
    Result<Frame*> frame = allocate_page(Zero::no);
    return frame.ok() ? frame.value() : nullptr;
  }
  void give_back(Frame& frame) override { release_page(frame); }
  [[nodiscard]] u8* contents(const Frame& frame) const override { return memory::contents(frame); }
};
constinit Pages slab_source;

struct alignas(cache_line) SizeClass {
  SpinLock lock{Rank::slab, "slab"};
  SlabCache cache GUARDED_BY(lock);
  constexpr explicit SizeClass(u32 index) : cache{sizes[index], static_cast<u16>(index + 1)} {}
};

template <class Indices>
struct ClassArray;
template <u32... Index>
struct ClassArray<std::integer_sequence<u32, Index...>> {
  SizeClass of[sizeof...(Index)] = {SizeClass{Index}...};
};
constinit ClassArray<std::make_integer_sequence<u32, class_count>> classes;

class Magazine {
 public:
  FreeObject* pop() {
    FreeObject* object = first_;
    if (object == nullptr) return nullptr;
    first_ = object->next;
    set_count(count() - 1);
    return object;
  }
  void push(FreeObject& object) {
    object.next = first_;
    first_ = &object;
    set_count(count() + 1);
  }
  [[nodiscard]] u32 count() const { return count_.load(Order::relaxed); }

 private:
  void set_count(u32 count) { count_.store(count, Order::relaxed); }  // one writer
  FreeObject* first_ = nullptr;
  Atomic<u32> count_{0};
};

struct alignas(cache_line) CoreMagazines {
  Magazine of[class_count];
};
constinit CoreMagazines magazines[max_cores];
constinit Atomic<u64> block_pages{0};
constinit Atomic<u64> blocks{0};

Frame& frame_holding(const void* pointer) {
  KERNEL_ASSERT(is_managed(arch::physical_of_direct(pointer)));
  return frame_of(arch::physical_of_direct(pointer));
}

// Takes a batch from the slabs; false when memory is short and not one object came.
bool refill(u32 index, Magazine& magazine) {
  SizeClass& size_class = classes.of[index];
  LockGuard guard{size_class.lock};
  for (u32 i = 0; i < batch_of(index); ++i) {
    FreeObject* object = size_class.cache.allocate(slab_source);
    if (object == nullptr) return i != 0;
    magazine.push(*object);
  }
  return true;
}

void give_back(u32 index, Magazine& magazine, u32 count) {
  SizeClass& size_class = classes.of[index];
  LockGuard guard{size_class.lock};
  for (; count != 0; --count) {
    FreeObject* object = magazine.pop();
    if (object == nullptr) return;
    size_class.cache.release(*object, frame_holding(object), slab_source);
  }
}

void* allocate_large(size_t size) {
  u32 order = 0;
  while (order <= max_order && (page_size << order) < size) ++order;
  Result<Frame*> block = allocate_block(order);
  if (!block.ok()) return nullptr;
  block.value()->slab_index = 0;
  block_pages.fetch_add(u64{1} << order, Order::relaxed);
  blocks.fetch_add(1, Order::relaxed);
  return contents(*block.value());
}

void release_large(void* pointer, Frame& frame) {
  KERNEL_ASSERT((reinterpret_cast<u64>(pointer) & (page_size - 1)) == 0 && frame.state() == FrameState::used);
  const u32 order = frame.order;
  block_pages.fetch_sub(u64{1} << order, Order::relaxed);
  blocks.fetch_sub(1, Order::relaxed);
  release_block(frame, order);
}

}  // namespace

void initialise_heap() {
  // All state is constant-initialised; what can go wrong is the order at start-up, which shows here.
  KERNEL_ASSERT(page_statistics().total != 0);
}

void* allocate(size_t size) {
  if (size > largest) return allocate_large(size);
  if (allocation_must_fail()) [[unlikely]]
    return nullptr;
  const u32 index = class_table.of[(size + 15) / 16];
  Magazine& magazine = magazines[arch::core_index()].of[index];
  FreeObject* object = magazine.pop();
  if (object == nullptr) [[unlikely]] {
    if (!refill(index, magazine)) return nullptr;
    object = magazine.pop();
  }
  void* opened = FreeObject::open(*object, sizes[index]);
  lay_canaries(opened, sizes[index]);
  return opened;
}

void release(void* pointer) {
  if (pointer == nullptr) return;
  Frame& frame = frame_holding(pointer);
  if (frame.slab_index == 0) {
    release_large(pointer, frame);
    return;
  }
  const u32 index = frame.slab_index - 1u;
  KERNEL_ASSERT(index < class_count);
  KERNEL_ASSERT((reinterpret_cast<u64>(pointer) & (page_size - 1)) % sizes[index] == 0);
  FreeObject& object = FreeObject::make(pointer, sizes[index]);
  Magazine& magazine = magazines[arch::core_index()].of[index];
  magazine.push(object);
  if (magazine.count() >= 2 * batch_of(index)) [[unlikely]]
    give_back(index, magazine, batch_of(index));
}

void trim_heap() {
  for (u32 index = 0; index < class_count; ++index) give_back(index, magazines[arch::core_index()].of[index], ~u32{0});
}

SizeStatistics size_statistics(u64 index) {
  KERNEL_ASSERT(index < class_count);
  u64 waiting = 0;  // in magazines: free, though the slab cache counts them as handed out
  for (const CoreMagazines& core : magazines) waiting += core.of[index].count();
  SizeClass& size_class = classes.of[index];
  LockGuard guard{size_class.lock};
  const u64 handed_out = size_class.cache.objects();
  return {.object_size = size_class.cache.object_size(),
          .objects = handed_out > waiting ? handed_out - waiting : 0,
          .slabs = size_class.cache.slabs(),
          .objects_in_a_slab = size_class.cache.objects_in_slab()};
}

HeapStatistics heap_statistics() {
  HeapStatistics sum{};
  sum.sizes = class_count;
  for (u32 index = 0; index < class_count; ++index) {
    const SizeStatistics size = size_statistics(index);
    sum.objects += size.objects;
    sum.bytes += size.objects * size.object_size;
    sum.slab_pages += size.slabs;
  }
  sum.objects += blocks.load(Order::relaxed);
  sum.block_pages = block_pages.load(Order::relaxed);
  sum.bytes += sum.block_pages << page_shift;
  return sum;
}

}  // namespace corral::memory

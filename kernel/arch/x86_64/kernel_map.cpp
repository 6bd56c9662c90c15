// The kernel half of every page table, after boot: device windows and kernel stacks with guard pages.
//
// All page tables share the tables below the root's upper entries, and boot_map.cpp has filled every root entry that is
// ever used, so a mapping made here is at once everywhere. Mappings are only added, never taken out: no TLB may hold
// anything about an address that was not mapped before. Changes are made under one lock; looking up needs none.
#include "arch/processor.h"
#include "memory/page_allocator.h"
#include "paging.h"
#include "sync/spin_lock.h"

namespace corral::arch {

namespace {

// The 512 GiB below one entry of the root: the lower half for stacks, the upper for devices.
constexpr u64 stacks_begin = kernel_area_base;
constexpr u64 stacks_end = stacks_begin + (u64{256} << 30);
constexpr u64 devices_begin = stacks_end;
constexpr u64 devices_end = devices_begin + (u64{256} << 30);
static_assert(devices_end <= kernel_area_end && stacks_begin % level_size(root_level) == 0);

constexpr u64 kernel_link = entry_present | entry_write | entry_accessed;

constinit SpinLock map_lock{Rank::kernel_map, "kernel map"};
constinit Atomic<u64> next_stack{stacks_begin};  // written under map_lock
constinit u64 next_device GUARDED_BY(map_lock) = devices_begin;

Result<void> map_kernel_page(u64 address, PhysicalAddress frame, Rights rights) REQUIRES(map_lock) {
  u64* place = TRY(make_leaf_place(kernel_root(), address, kernel_link));
  store_entry(place, frame.value | leaf_bits(rights) | entry_global);
  return {};
}

// Pages of a stack that could not be completed.
void take_back(u64 from, u64 to) REQUIRES(map_lock) {
  for (u64 address = from; address < to; address += page_size) {
    u64* place = leaf_place(kernel_root(), address);
    if (place == nullptr) continue;
    u64 entry = load_entry(place);
    if ((entry & entry_present) == 0) continue;
    store_entry(place, 0);
    flush_page({address});
    memory::release_page(memory::frame_of({entry & entry_address}));
  }
}

// Puts pages together that are next to one another and have the same rights.
class RangeCollector {
 public:
  RangeCollector(KernelRangeVisitor visit, void* context) : visit_{visit}, context_{context} {}

  void walk(const u64* table, u32 level, u64 base, u64 rights) {  // NOLINT(misc-no-recursion): as deep as the tree
    for (u32 i = level == root_level ? kernel_half : 0; i < table_entries; ++i) {
      const u64 entry = load_entry(&table[i]);
      if ((entry & entry_present) == 0) continue;
      // Write and user count only when every level grants them; no-execute when any level sets it.
      const u64 granted = (rights & entry & (entry_write | entry_user)) | ((rights | entry) & entry_no_execute);
      const u64 address = address_at(base, i, level);
      if (is_leaf(entry, level)) {
        add({{address}, level_size(level), rights_of(granted | (entry & entry_uncached))});
      } else {
        walk(table_of(entry), level - 1, address, granted);
      }
    }
  }
  void finish() {
    if (range_.size != 0) visit_(context_, range_);
    range_ = {};
  }

 private:
  void add(const KernelRange& more) {
    if (range_.size != 0 && range_.from + range_.size == more.from && range_.rights == more.rights) {
      range_.size += more.size;
      return;
    }
    finish();
    range_ = more;
  }

  KernelRangeVisitor visit_;
  void* context_;
  KernelRange range_{};
};

Result<volatile u8*> map_window(PhysicalAddress address, u64 size, Rights rights) {
  u64 first = round_down(address.value, page_size);
  u64 last = round_up(address.value + size, page_size);
  if (size == 0 || last <= first || last > entry_address) return Errno::einval;
  LockGuard guard{map_lock};
  u64 window = next_device;
  if (last - first > devices_end - window) return Errno::enomem;
  for (u64 offset = 0; offset < last - first; offset += page_size) {
    TRY(map_kernel_page(window + offset, {first + offset}, rights));
  }
  // A window that failed half-way is filled again, with the same addresses' entries replaced before anyone used them.
  next_device = window + (last - first);
  return reinterpret_cast<volatile u8*>(window + (address.value - first));
}

}  // namespace

Result<volatile u8*> map_device(PhysicalAddress address, u64 size) {
  return map_window(address, size, {.write = true, .device = true});
}

Result<volatile u8*> map_framebuffer(PhysicalAddress address, u64 size) {
  return map_window(address, size, {.write = true, .picture = true});
}

Result<VirtualAddress> map_kernel_stack(u32 pages) {
  LockGuard guard{map_lock};
  u64 guard_page = next_stack.load(Order::relaxed);
  u64 bottom = guard_page + page_size;
  u64 top = bottom + pages * page_size;
  if (pages == 0 || top > stacks_end) return Errno::enomem;
  for (u64 address = bottom; address < top; address += page_size) {
    Result<Frame*> frame = memory::allocate_page(memory::Zero::yes);
    if (!frame.ok()) {
      take_back(bottom, address);
      return frame.error();
    }
    Result<void> mapped = map_kernel_page(address, memory::address_of(*frame.value()), {.write = true});
    if (!mapped.ok()) {
      memory::release_page(*frame.value());
      take_back(bottom, address);
      return mapped.error();
    }
  }
  next_stack.store(top, Order::release);
  return VirtualAddress{top};
}

bool is_stack_guard(VirtualAddress address) {
  if (address.value < stacks_begin || address.value >= next_stack.load(Order::acquire)) return false;
  u32 level = root_level;
  return find_leaf(kernel_root(), address.value, level) == 0;
}

bool direct_map_covers(PhysicalAddress address, u64 size) {
  if (size == 0) return true;
  constexpr u64 limit = kernel_area_base - direct_map_base;
  if (address.value >= limit || size > limit - address.value) return false;
  u64 end = direct_map_base + address.value + size;
  for (u64 place = direct_map_base + address.value; place < end;) {
    u32 level = root_level;
    if (find_leaf(kernel_root(), place, level) == 0) return false;
    place = round_down(place, level_size(level)) + level_size(level);
  }
  return true;
}

void for_each_kernel_range(KernelRangeVisitor visit, void* context) {
  RangeCollector collector{visit, context};
  collector.walk(table_at(kernel_root()), root_level, 0, entry_write | entry_user);
  collector.finish();
}

KernelMapAudit audit_kernel_map() {
  KernelMapAudit audit = {};
  for_each_kernel_range(
      [](void* context, const KernelRange& range) {
        auto& sum = *static_cast<KernelMapAudit*>(context);
        const u64 pages = range.size / page_size;
        sum.pages += pages;
        if (range.rights.user) sum.user_accessible += pages;
        if (range.rights.write && range.rights.execute) sum.writable_executable += pages;
      },
      &audit);
  return audit;
}

}  // namespace corral::arch

// Large pages in address spaces: where they may appear, and how they are cut. See address_space.h and memory/large_page.h.
//
// One appears at the first write to anonymous private memory, if the 2 MiB round it lie in one area and nothing is mapped there
// yet. Forks share it. Who writes to a shared one, or changes a part of it, splits it first; no other core need be told,
// for the small pages are the same memory with the same rights.
#include "memory/large_page.h"

#include "memory/page_allocator.h"
#include "vm/address_space.h"
#include "vm/core_translation.h"

namespace corral::vm {

static_assert(memory::large_page_size == arch::large_page);

bool AddressSpace::fits_large(const Area& area, VirtualAddress page) {
  if (area.small_pages || area.grows_down) return false;
  const VirtualAddress start{round_down(page.value, arch::large_page)};
  return area.start <= start && start + arch::large_page <= area.end && table_.room_for_large(start);
}

bool AddressSpace::take_over_large(const Area& area, VirtualAddress page, const arch::Translation& found) {
  if (!memory::claim_large_page(memory::frame_of({round_down(found.frame.value, arch::large_page)}))) return false;
  table_.protect(page, rights_of(area));
  CoreTranslation::here().refresh(*this, page);
  return true;
}

Result<void> AddressSpace::isolate(VirtualAddress start, VirtualAddress end) {
  if (start.value % arch::large_page != 0) TRY(table_.split(start));
  if (end.value % arch::large_page != 0) TRY(table_.split(end));
  return areas_.isolate(start, end);
}

Result<void> AddressSpace::split_for_move(VirtualAddress from, VirtualAddress to, u64 length) {
  const bool alike = from.value % arch::large_page == to.value % arch::large_page;
  const VirtualAddress end = from + length;
  for (VirtualAddress page{round_up(from.value, arch::large_page)}; page < end; page = page + arch::large_page) {
    if (!alike || !table_.room_for_large(to + (page - from))) TRY(table_.split(page));
  }
  return {};
}

// The areas are cut at the borders, but pages stay as they are.
template <class Change>
Result<void> AddressSpace::advise(Caller& caller, VirtualAddress start, u64 length, bool all_or_nothing, Change&& change) {
  const VirtualAddress end = start + round_up(length, page_size);
  if (!enter(caller)) return Errno::blocked;
  const Result<void> changed = [&]() -> Result<void> {
    LockGuard guard{lock_};
    const bool gap = areas_.covered_until(start, end) != end;
    if (gap && all_or_nothing) return Errno::efault;
    TRY(isolate(start, end));
    for (Area* area = areas_.first_above(start); area != nullptr && area->start < end; area = areas_.next(*area)) change(*area);
    areas_.join(start, end);
    if (gap) return Errno::enomem;
    return {};
  }();
  leave(caller);
  return changed;
}

Result<void> AddressSpace::advise_large(Caller& caller, VirtualAddress start, u64 length, bool allowed) {
  return advise(caller, start, length, false, [&](Area& area) { area.small_pages = !allowed; });
}

Result<void> AddressSpace::advise_dump(Caller& caller, VirtualAddress start, u64 length, bool wanted) {
  return advise(caller, start, length, false, [&](Area& area) { area.not_dumped = !wanted; });
}

Result<void> AddressSpace::keep_node_policy(Caller& caller, VirtualAddress start, u64 length, u16 policy) {
  return advise(caller, start, length, true, [&](Area& area) { area.node_policy = policy; });
}

Result<void> AddressSpace::set_locked(Caller& caller, VirtualAddress start, u64 length, bool locked) {
  return advise(caller, start, length, false, [&](Area& area) { area.locked = locked; });
}

Result<void> AddressSpace::set_all_locked(Caller& caller, bool locked) {
  const Result<void> marked = set_locked(caller, VirtualAddress{}, user_end, locked);
  return !marked.ok() && marked.error() == Errno::blocked ? marked : Result<void>{};  // between areas there are gaps, of course
}

u64 AddressSpace::locked_bytes(VirtualAddress start, VirtualAddress end) {
  LockGuard guard{lock_};
  u64 bytes = 0;
  for (const Area* area = areas_.first_above(start); area != nullptr && area->start < end; area = areas_.next(*area)) {
    if (!area->locked) continue;
    const VirtualAddress first = area->start < start ? start : area->start;
    bytes += (area->end < end ? area->end : end) - first;
  }
  return bytes;
}

Result<u16> AddressSpace::node_policy(VirtualAddress address) {
  LockGuard guard{lock_};
  const Area* area = areas_.find(address);
  if (area == nullptr) return Errno::efault;
  return area->node_policy;
}

}  // namespace corral::vm

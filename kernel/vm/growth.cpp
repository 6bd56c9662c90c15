// Areas that grow down to where the program touches: stacks. See address_space.h. Source: Linux mmap(2), MAP_GROWSDOWN; setrlimit(2),
// RLIMIT_STACK.
//
// A page below such an area is in no area. The fault that finds none asks here. Growing takes addresses that are free in areas_; but an
// operation that waits between its steps may have chosen them for another area, or still has pages there to take out: until it is over
// they are unsettled, or being replaced, and the fault waits.
#include "vm/address_space.h"

namespace corral::vm {

bool AddressSpace::may_grow(const Area& area, VirtualAddress page) {
  if (!area.grows_down || page.value < lowest_address) return false;
  if (area.end - page > stack_limit_.load(Order::relaxed)) return false;
  if (areas_.mapped_bytes() + (area.start - page) > limit_.load(Order::relaxed)) return false;
  // What may be accessed keeps its distance, so that a stack that runs over finds nothing.
  const Area* below = areas_.previous(area);
  return below == nullptr || below->grows_down || below->protection.none() || page - below->end >= AreaSet::growth_gap;
}

Area* AddressSpace::grow_down(VirtualAddress page) {
  Area* area = areas_.first_above(page);
  if (area == nullptr || !may_grow(*area, page)) return nullptr;
  if (unsettled_start_ < area->start && page < unsettled_end_) return nullptr;
  if (replaced_start_ < area->start && page < replaced_end_) return nullptr;
  return &areas_.extend_down(*area, page);
}

bool AddressSpace::waits_to_grow(const Caller& caller, VirtualAddress page) {
  const bool own = caller.changing == this && caller.phase == ChangePhase::changing;
  const Area* area = areas_.first_above(page);
  return !own && area != nullptr && may_grow(*area, page);
}

Result<VirtualAddress> AddressSpace::start_of_growing(VirtualAddress start, VirtualAddress end) {
  const Area* area = areas_.first_above(start);
  if (area == nullptr || area->start >= end) return Errno::enomem;
  if (!area->grows_down) return Errno::einval;
  return area->start;
}

}  // namespace corral::vm

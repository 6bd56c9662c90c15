// The ordered set of areas. See area_set.h.
#include "vm/area_set.h"

namespace corral::vm {

namespace {

u64 smaller(u64 a, u64 b) {
  return a < b ? a : b;
}
u64 larger(u64 a, u64 b) {
  return a > b ? a : b;
}

}  // namespace

Area* AreaSet::first_above(VirtualAddress address) const {
  return areas_.first_where([address](const Area& area) { return area.end > address; });
}

Area* AreaSet::find(VirtualAddress address) const {
  Area* area = first_above(address);
  return area != nullptr && area->start <= address ? area : nullptr;
}

bool AreaSet::is_free(VirtualAddress start, VirtualAddress end) const {
  const Area* area = first_above(start);
  return area == nullptr || area->start >= end;
}

bool AreaSet::has_room(VirtualAddress start, VirtualAddress end) const {
  const Area* area = first_above(start);
  return area == nullptr || room_end(*area) >= end.value;
}

VirtualAddress AreaSet::covered_until(VirtualAddress start, VirtualAddress end) const {
  for (const Area* area = first_above(start); area != nullptr && area->start <= start; area = areas_.next(*area)) {
    start = area->end;
    if (start >= end) return end;
  }
  return start;
}

u64 AreaSet::covered_bytes(VirtualAddress start, VirtualAddress end) const {
  u64 bytes = 0;
  for (const Area* area = first_above(start); area != nullptr && area->start < end; area = areas_.next(*area)) {
    bytes += smaller(area->end.value, end.value) - larger(area->start.value, start.value);
  }
  return bytes;
}

Area* AreaSet::last_below(u64 address) const {
  const Area* reaching = areas_.first_where([address](const Area& area) { return area.start.value >= address; });
  return reaching == nullptr ? areas_.last() : areas_.previous(*reaching);
}

bool AreaSet::search(u64 length, u64 top, u64& passed, VirtualAddress& start) const {
  const Area* below = last_below(top);
  const Area* above = below == nullptr ? areas_.first() : areas_.next(*below);
  if (above != nullptr) top = smaller(top, room_end(*above));
  while (top > floor_ && top - floor_ >= length) {
    u64 bottom = floor_;
    if (below != nullptr) bottom = larger(bottom, smaller(below->end.value, top));
    if (top - bottom >= length) {
      start = VirtualAddress{top - length};
      return true;
    }
    passed = larger(passed, top - bottom);
    if (below == nullptr) return false;
    top = smaller(top, room_end(*below));
    below = areas_.previous(*below);
  }
  return false;
}

bool AreaSet::find_room(u64 length, VirtualAddress limit, VirtualAddress& start) {
  u64 passed = 0;
  if (limit.value < ceiling_) return search(length, limit.value, passed, start);
  passed = largest_passed_;
  if (length <= largest_passed_ || !search(length, search_from_, passed, start)) {
    passed = 0;  // something above the place of the last search may do
    if (!search(length, ceiling_, passed, start)) return false;
  }
  search_from_ = start.value;
  largest_passed_ = passed;
  return true;
}

void AreaSet::freed(VirtualAddress start, VirtualAddress end) {
  if (end.value <= search_from_ || start.value >= ceiling_) return;
  // The free range that came about may reach further up than what was taken out.
  const Area* above = first_above(end);
  const u64 gap_end = above == nullptr ? ceiling_ : smaller(above->start.value, ceiling_);
  search_from_ = larger(search_from_, gap_end);
}

void AreaSet::cut(Area& area, VirtualAddress at, Area& upper) {
  upper.copy_attributes(area);
  upper.start = at;
  upper.end = area.end;
  upper.first_page = area.page_index(at);
  area.end = at;
  areas_.insert(upper);
  ++count_;
}

Result<void> AreaSet::isolate(VirtualAddress start, VirtualAddress end) {
  Area* at_start = find(start);
  if (at_start != nullptr && at_start->start == start) at_start = nullptr;
  Area* at_end = find(end);
  if (at_end != nullptr && at_end->start == end) at_end = nullptr;
  const u32 cuts = (at_start != nullptr ? 1u : 0u) + (at_end != nullptr ? 1u : 0u);
  if (cuts == 0) return {};
  if (count_ + cuts > most_areas.value()) return Errno::enomem;
  Area* upper_start = at_start != nullptr ? new (std::nothrow) Area : nullptr;
  if (at_start != nullptr && upper_start == nullptr) return Errno::enomem;
  Area* upper_end = at_end != nullptr ? new (std::nothrow) Area : nullptr;
  if (at_end != nullptr && upper_end == nullptr) {
    delete upper_start;
    return Errno::enomem;
  }
  // The end first: then the same area can be cut at both.
  if (at_end != nullptr) cut(*at_end, end, *upper_end);
  if (at_start != nullptr) cut(*at_start, start, *upper_start);
  return {};
}

bool AreaSet::joinable(const Area& lower, const Area& upper) {
  return lower.end == upper.start && lower.protection == upper.protection && lower.shared == upper.shared &&
         lower.may_write == upper.may_write && lower.kind == upper.kind && lower.small_pages == upper.small_pages &&
         lower.not_dumped == upper.not_dumped && lower.locked == upper.locked && lower.node_policy == upper.node_policy &&
         lower.grows_down == upper.grows_down && lower.backing.get() == upper.backing.get() &&
         (!lower.backing || lower.page_index(lower.end) == upper.first_page);
}

bool AreaSet::try_join(Area& lower, Area& upper) {
  if (!joinable(lower, upper)) return false;
  areas_.remove(upper);
  --count_;
  lower.end = upper.end;
  delete &upper;  // the backing stays: lower has it as well
  return true;
}

void AreaSet::insert(Area& area) {
  areas_.insert(area);
  ++count_;
  mapped_bytes_ += area.length();
  join(area.start, area.end);
}

void AreaSet::join(VirtualAddress start, VirtualAddress end) {
  // From the area that ends at `start`, if there is one, up to the one that begins at `end`.
  Area* area = start.value == 0 ? first() : first_above(VirtualAddress{start.value - 1});
  while (area != nullptr) {
    Area* upper = areas_.next(*area);
    if (upper == nullptr || upper->start > end) return;
    if (!try_join(*area, *upper)) area = upper;
  }
}

void AreaSet::extend(Area& area, VirtualAddress new_end) {
  mapped_bytes_ += new_end - area.end;
  area.end = new_end;
  join(area.start, new_end);
}

Area& AreaSet::extend_down(Area& area, VirtualAddress new_start) {
  mapped_bytes_ += area.start - new_start;
  area.start = new_start;  // still in its place: what is below ends there or before
  Area* below = areas_.previous(area);
  return below != nullptr && try_join(*below, area) ? *below : area;
}

Area* AreaSet::take(VirtualAddress start, VirtualAddress end) {
  Area* chain = nullptr;
  peak_bytes_ = peak_bytes();
  for (Area* area = first_above(start); area != nullptr && area->start < end;) {
    Area* following = areas_.next(*area);
    areas_.remove(*area);
    --count_;
    mapped_bytes_ -= area->length();
    area->following = chain;
    chain = area;
    area = following;
  }
  if (chain != nullptr) freed(start, end);
  return chain;
}

void AreaSet::release_chain(Area* chain) {
  while (chain != nullptr) {
    Area* area = chain;
    chain = area->following;
    delete area;
  }
}

bool AreaSet::valid() const {
  if (!areas_.valid()) return false;
  u32 seen = 0;
  u64 bytes = 0;
  u64 largest = 0;
  u64 position = search_from_;
  const Area* previous = nullptr;
  for (const Area* area = first(); area != nullptr; area = areas_.next(*area)) {
    if (area->start >= area->end || area->start.value % page_size != 0 || area->end.value % page_size != 0) return false;
    if (previous != nullptr && (previous->end > area->start || joinable(*previous, *area))) return false;
    if (area->end.value > position && position < ceiling_) {
      const u64 top = smaller(room_end(*area), ceiling_);
      if (top > position) largest = larger(largest, top - position);
      position = area->end.value;
    }
    ++seen;
    bytes += area->length();
    previous = area;
  }
  if (position < ceiling_) largest = larger(largest, ceiling_ - position);
  return seen == count_ && bytes == mapped_bytes_ && largest <= largest_passed_;
}

}  // namespace corral::vm

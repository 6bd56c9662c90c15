// New areas: mmap and brk. See address_space.h.
//
// map() makes the whole Area before it waits for anything and keeps it in the Caller, so that it needs its request only
// once. Caller::note holds the flags below; the rest of it is the limit for the place (page aligned).
// Stages: 0 choose a place; 1 take out what is there (fixed); 2 put the area in.
#include "memory/page_allocator.h"
#include "trace/panic.h"
#include "vm/address_space.h"
#include "vm/overcommit.h"
#include "vm/shared_memory.h"

namespace corral::vm {

namespace {

constexpr u64 note_fixed = 1, note_no_replace = 2, note_populate = 4, note_reserve = 8;

// A wish for far more private writable memory than there is is refused at once, as Linux's heuristic overcommit does.
bool obviously_too_much(u64 bytes) {
  return overcommit.value() == 0 && bytes / page_size > memory::total_pages() * 2;
}

}  // namespace

Result<void> AddressSpace::check_place(const MapRequest& request) {
  if (request.length == 0) return Errno::einval;
  if (request.length > user_end) return Errno::enomem;
  const u64 length = round_up(request.length, page_size);
  if (length > user_end) return Errno::enomem;
  if (!request.fixed && !request.fixed_noreplace) return {};
  if (request.hint.value > user_end - length) return Errno::enomem;
  if (request.hint.value % page_size != 0) return Errno::einval;
  if (request.hint.value < lowest_address) return Errno::eperm;
  return {};
}

Result<void> AddressSpace::check_growth(u64 bytes, u64 replaced, bool reserve) {
  if (areas_.mapped_bytes() - replaced + bytes > limit_.load(Order::relaxed)) return Errno::enomem;
  const u64 data_limit = data_limit_.load(Order::relaxed);
  if (reserve && data_limit != ~u64{0} && data_bytes() + bytes > data_limit) return Errno::enomem;
  if (reserve && obviously_too_much(bytes)) return Errno::enomem;
  if (areas_.count() >= AreaSet::most_areas.value()) return Errno::enomem;
  return {};
}

u64 AddressSpace::data_bytes() {
  u64 bytes = 0;
  for (Area* area = areas_.first(); area != nullptr; area = areas_.next(*area)) {
    if (!area->shared && area->protection.write && !area->grows_down) bytes += area->end - area->start;
  }
  return bytes;
}

Result<void> AddressSpace::prepare_area(Caller& caller, const MapRequest& request) {
  TRY(check_place(request));
  const u64 length = round_up(request.length, page_size);
  Ref<Backing> backing = request.backing;
  if (request.shared && !backing) backing = TRY(SharedMemory::create(length / page_size));
  auto* area = new (std::nothrow) Area;
  if (area == nullptr) return Errno::enomem;
  area->start = request.hint.page();
  area->end = area->start + length;
  area->protection = request.protection;
  area->shared = request.shared;
  area->small_pages = request.small_pages;
  area->may_write = request.may_write;
  area->locked = request.locked;
  area->grows_down = request.grows_down;
  area->kind = request.kind;
  area->backing = MappedBacking{static_cast<Ref<Backing>&&>(backing)};
  area->first_page = request.first_page;
  caller.area = area;
  const bool fixed = request.fixed || request.fixed_noreplace;
  caller.note = round_down(request.limit.value, page_size) | (fixed ? note_fixed : 0) |
                (request.fixed_noreplace ? note_no_replace : 0) | (request.populate ? note_populate : 0) |
                (request.reserve && !request.shared && request.protection.write ? note_reserve : 0);
  return {};
}

Result<void> AddressSpace::place_area(Area& area, u64 note) {
  const u64 length = area.length();
  const bool reserve = (note & note_reserve) != 0;
  if ((note & note_fixed) != 0) {
    if ((note & note_no_replace) != 0 && !areas_.is_free(area.start, area.end)) return Errno::eexist;
    return check_growth(length, areas_.covered_bytes(area.start, area.end), reserve);
  }
  TRY(check_growth(length, 0, reserve));
  const VirtualAddress limit{round_down(note, page_size)};
  VirtualAddress wish = area.start;
  if (wish.value != 0 && wish.value < lowest_address) wish = VirtualAddress{lowest_address};
  if (wish.value == 0 || wish.value > user_end - length || (wish + length) > limit || !areas_.has_room(wish, wish + length)) {
    if (!areas_.find_room(length, limit, wish)) return Errno::enomem;
  }
  area.start = wish;
  area.end = wish + length;
  return {};
}

Result<VirtualAddress> AddressSpace::map(Caller& caller, const MapRequest& request) {
  if (!caller.under_way()) TRY(prepare_area(caller, request));
  if (!enter(caller)) return Errno::blocked;
  const VirtualAddress start = caller.area->start;
  const VirtualAddress end = caller.area->end;
  if (caller.stage == 0) {
    const Result<void> placed = [&]() -> Result<void> {
      LockGuard guard{lock_};
      TRY(place_area(*caller.area, caller.note));
      begin_unsettled(caller.area->start, caller.area->end);
      caller.stage = areas_.is_free(caller.area->start, caller.area->end) ? 2 : 1;
      return {};
    }();
    if (!placed.ok()) return give_up(caller, placed.error());
    if (caller.stage == 1) begin_replacing(start, end);
  }
  if (caller.stage == 1) {
    const Result<void> taken = take_out(caller, start, end);
    if (!taken.ok()) {
      if (taken.error() != Errno::blocked) {
        LockGuard guard{lock_};
        end_replacing();
      }
      return give_up(caller, taken.error());
    }
  }
  Area& area = *std::exchange(caller.area, nullptr);
  const VirtualAddress place = area.start;
  const VirtualAddress place_end = area.end;
  // Shared pages are not made the file's business before they are written.
  const Access access = permits(area, Access::write) && !area.shared ? Access::write : Access::read;
  {
    LockGuard guard{lock_};
    areas_.insert(area);
    if (caller.stage == 1) end_replacing();
  }
  if ((caller.note & note_populate) != 0) populate(caller, place, place_end, access);
  leave(caller);
  return place;
}

Result<VirtualAddress> AddressSpace::break_in_force(Caller& caller) {
  VirtualAddress answer;
  {
    LockGuard guard{lock_};
    answer = break_;
  }
  leave(caller);
  return answer;
}

bool AddressSpace::grow_break(VirtualAddress from, VirtualAddress to) {
  if (to.value > user_end - page_size) return false;
  auto* area = new (std::nothrow) Area;
  if (area == nullptr) return false;
  area->start = from;
  area->end = to;
  area->protection = {.read = true, .write = true, .execute = false};
  area->kind = AreaKind::heap;
  area->locked = locks_new_.load(Order::relaxed);
  // One page stays free above, as Linux has it: a heap that runs over faults.
  if (!areas_.has_room(from, to + page_size) || !check_growth(to - from, 0, true).ok()) {
    delete area;
    return false;
  }
  areas_.insert(*area);
  return true;
}

// Stages: 0 look; 1 take out the end of the heap.
Result<VirtualAddress> AddressSpace::set_break(Caller& caller, VirtualAddress wish) {
  if (!enter(caller)) return Errno::blocked;
  VirtualAddress from{};
  VirtualAddress to{};
  {
    LockGuard guard{lock_};
    from = VirtualAddress{round_up(break_.value, page_size)};
    to = VirtualAddress{round_up(wish.value, page_size)};
    if (caller.stage == 0 && wish >= break_start_ && wish.value < user_end) {
      if (to == from || (to > from && grow_break(from, to))) {
        break_ = wish;
      } else if (to < from) {
        caller.stage = 1;
      }
    }
  }
  if (caller.stage == 1) {
    const Result<void> taken = take_out(caller, to, from);
    if (!taken.ok() && taken.error() == Errno::blocked) return Errno::blocked;
    if (taken.ok()) {
      LockGuard guard{lock_};
      break_ = wish;
    }
  }
  return break_in_force(caller);
}

}  // namespace corral::vm

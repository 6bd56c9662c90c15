// Changes of an address space: one at a time, across waits; taking pages out; discarding. See address_space.h.
//
// Pages are taken out in rounds when there is no memory to note them all: each round waits for the other cores.
// Context: the step of the thread that asks for the change.
#include "memory/large_page.h"
#include "memory/page_allocator.h"
#include "trace/panic.h"
#include "vm/address_space.h"
#include "vm/core_translation.h"

namespace corral::vm {

bool AddressSpace::enter(Caller& caller) {
  KERNEL_ASSERT(caller.phase == ChangePhase::none || caller.changing == this);
  if (caller.phase == ChangePhase::changing) return true;
  caller.changing = this;
  LockGuard guard{lock_};
  if (!changes_.acquire(caller.waiter)) {
    caller.phase = ChangePhase::entering;
    return false;
  }
  caller.phase = ChangePhase::changing;
  caller.stage = 0;
  caller.taking = false;
  return true;
}

bool AddressSpace::is_shared(VirtualAddress address) {
  LockGuard guard{lock_};
  const Area* area = areas_.find(address);
  return area != nullptr && area->shared;
}

void AddressSpace::leave(Caller& caller) {
  {
    LockGuard guard{lock_};
    if (unsettled_end_.value != 0) {
      begin_unsettled({}, {});
      settled_.wake_all();
    }
    changes_.release(caller.waiter);
  }
  caller.phase = ChangePhase::none;
  caller.changing = nullptr;
  AreaSet::release_chain(std::exchange(caller.removed, nullptr));  // may let go of files: no lock is held
  delete std::exchange(caller.area, nullptr);
}

Errno AddressSpace::give_up(Caller& caller, Errno error) {
  if (error != Errno::blocked) leave(caller);
  return error;
}

bool AddressSpace::drop_everywhere(Caller& caller) {
  TranslationDrop& drop = caller.drop;
  if (caller.dropping) {
    KERNEL_ASSERT(drop.answered());
    caller.dropping = false;
  } else if (!drop.nothing()) {
    changes_begun_.fetch_add(1, Order::seq_cst);
    const CoreSet targets = begin_generation(drop.generation);
    CoreTranslation::here().forget(*this, drop.start, drop.end, drop.generation);
    if (!targets.empty()) {
      caller.dropping = true;
      drop.space = this;
      drop.begin(targets);
      return false;
    }
  }
  if (!drop.tables.empty()) {
    LockGuard guard{lock_};
    while (Frame* table = drop.tables.pop_front()) table_.keep_table(memory::address_of(*table));
  }
  drop.frames.release_all();
  drop.reset_range();
  return true;
}

Result<void> AddressSpace::take_out_pages(Caller& caller, VirtualAddress end) {
  struct Round {
    TranslationDrop& drop;
    u64 taken;
  };
  const auto take = [](void* context, VirtualAddress page, PhysicalAddress address, arch::Held held) {
    auto& round = *static_cast<Round*>(context);
    Frame& frame = memory::frame_of(address);
    switch (held) {
      case arch::Held::table: round.drop.tables.push_back(frame); break;
      case arch::Held::large_page:
        if (!round.drop.frames.add_large(frame)) return false;
        round.drop.include_large(page);
        round.taken += memory::large_pages;
        return true;
      case arch::Held::page:
        if (!round.drop.frames.add(frame)) return false;
        ++round.taken;
        break;
    }
    round.drop.include(page);
    return true;
  };
  while (caller.dropping || caller.next < end) {
    if (!caller.dropping) {
      Round round{caller.drop, 0};
      LockGuard guard{lock_};
      // Where areas stay, a large page may have appeared across a border since the last round.
      if (caller.next.value % arch::large_page != 0) TRY(table_.split(caller.next));
      if (end.value % arch::large_page != 0) TRY(table_.split(end));
      caller.next = table_.take_out(caller.next, end, take, &round);
      if (resident_ > peak_) peak_ = resident_;
      resident_ -= round.taken;
    }
    if (!drop_everywhere(caller)) return Errno::blocked;
  }
  return {};
}

Result<void> AddressSpace::take_out(Caller& caller, VirtualAddress start, VirtualAddress end) {
  if (!caller.taking) {
    LockGuard guard{lock_};
    TRY(isolate(start, end));
    begin_unsettled(start, end);
    Area* taken = areas_.take(start, end);
    while (taken != nullptr) {
      Area* area = std::exchange(taken, taken->following);
      area->following = std::exchange(caller.removed, area);
    }
    caller.next = start;
    caller.taking = true;
  }
  TRY(take_out_pages(caller, end));
  caller.taking = false;
  return {};
}

void AddressSpace::begin_replacing(VirtualAddress start, VirtualAddress end) {
  LockGuard guard{lock_};
  replaced_start_ = start;
  replaced_end_ = end;
}

void AddressSpace::end_replacing() {
  replaced_start_ = replaced_end_ = VirtualAddress{};
  settled_.wake_all();
}

Result<void> AddressSpace::unmap(Caller& caller, VirtualAddress start, u64 length) {
  if (start.value % page_size != 0 || start.value > user_end || length > user_end - start.value) return Errno::einval;
  const VirtualAddress end = start + round_up(length, page_size);
  if (end == start) return Errno::einval;
  if (!enter(caller)) return Errno::blocked;
  const Result<void> taken = take_out(caller, start, end);
  if (!taken.ok()) return give_up(caller, taken.error());
  leave(caller);
  return {};
}

Result<void> AddressSpace::forget_file_pages(Caller& caller, const void* file, u64 first_page) {
  if (!enter(caller)) return Errno::blocked;
  if (!caller.taking && caller.stage == 0) {
    caller.next = VirtualAddress{};
    caller.stage = 1;
  }
  for (;;) {
    if (!caller.taking) {
      LockGuard guard{lock_};
      const Area* area = areas_.first_above(caller.next);
      for (; area != nullptr; area = areas_.next(*area)) {
        if (area->backing && area->backing->file() == file && area->page_index(area->end) > first_page) break;
      }
      if (area == nullptr) break;
      const u64 before = first_page > area->first_page ? first_page - area->first_page : 0;
      caller.next = area->start + before * page_size;
      caller.note = area->end.value;
      caller.taking = true;
    }
    const Result<void> taken = take_out_pages(caller, VirtualAddress{caller.note});
    if (!taken.ok()) return give_up(caller, taken.error());
    caller.taking = false;
    caller.next = VirtualAddress{caller.note};
  }
  leave(caller);
  return {};
}

Result<void> AddressSpace::discard(Caller& caller, VirtualAddress start, u64 length, bool anonymous_only) {
  if (start.value % page_size != 0) return Errno::einval;
  const u64 rounded = round_up(length, page_size);
  if (rounded < length) return Errno::einval;
  const VirtualAddress end = start + rounded;
  if (end < start) return Errno::einval;
  if (end == start) return {};
  if (!enter(caller)) return Errno::blocked;
  if (!caller.taking) {
    bool refused = false;
    {
      LockGuard guard{lock_};
      for (const Area* area = areas_.first_above(start); anonymous_only && area != nullptr && area->start < end;
           area = areas_.next(*area)) {
        refused = refused || area->shared || area->backing;
      }
    }
    if (refused) return give_up(caller, Errno::einval);
    LockGuard guard{lock_};
    // Parts that are not mapped are an error, but do not keep the others from being discarded.
    caller.note = areas_.covered_until(start, end) == end ? 0 : 1;
    caller.next = start;
    caller.taking = true;
  }
  const Result<void> taken = take_out_pages(caller, end);
  if (!taken.ok()) return give_up(caller, taken.error());
  const bool gap = caller.note != 0;
  leave(caller);
  if (gap) return Errno::enomem;
  return {};
}

}  // namespace corral::vm

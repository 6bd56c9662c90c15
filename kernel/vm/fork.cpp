// Copy-on-write children. See address_space.h.
//
// The child's areas and table are made in one pass over the parent's. Every writable private page becomes read-only in
// the parent; the child exists for others only when every core has dropped the writable translations. Until then faults in
// the parent wait (copying_), so the child is a picture of one moment.
// Out of memory half-way: the same wait, since translations were taken away, and then the child ends.
#include "lib/memory_functions.h"
#include "memory/page_allocator.h"
#include "trace/panic.h"
#include "vm/address_space.h"

namespace corral::vm {

namespace {

// The page at once, instead of sharing it.
Result<void> copy_page(arch::PageTable& child, const Area& area, VirtualAddress page, const arch::Translation& found) {
  Frame* copy = TRY(memory::allocate_page(memory::Zero::no));
  memcpy(memory::contents(*copy), arch::direct(found.frame), page_size);
  if (area.backing) copy->set_state(FrameState::copied);
  const Result<void> mapped = child.map(page, memory::address_of(*copy), found.rights);
  if (!mapped.ok()) memory::release_page(*copy);
  return mapped;
}

}  // namespace

// The child is nobody else's yet: its lock is not needed (and has the same rank as the parent's, which is held).
Result<void> AddressSpace::copy_area(AddressSpace& child, Caller& caller, const Area& area,
                                     VirtualAddress kept) NO_THREAD_SAFETY_ANALYSIS {
  auto* copy = new (std::nothrow) Area;
  if (copy == nullptr) return Errno::enomem;
  copy->start = area.start;
  copy->end = area.end;
  copy->copy_attributes(area);
  copy->locked = false;
  child.areas_.insert(*copy);
  if (area.shared) return {};  // the pages stay in their backing: the child's faults find them there
  arch::PageTable::Copied copied;
  const bool keeps = kept.value != 0 && area.start <= kept.page() && kept.page() < area.end;
  const VirtualAddress until = keeps ? kept.page() : area.end;
  Result<void> outcome = table_.copy_for_reading(child.table_, area.start, until, copied);
  arch::Translation found;
  if (outcome.ok() && keeps && table_.lookup(until, found)) {
    outcome = copy_page(child.table_, area, until, found);
    if (outcome.ok()) ++copied.pages;
  }
  if (outcome.ok() && keeps) outcome = table_.copy_for_reading(child.table_, until + page_size, area.end, copied);
  if (copied.first_lost < copied.end_lost) {
    caller.drop.include(copied.first_lost);
    caller.drop.include({copied.end_lost.value - page_size});
  }
  child.resident_ += copied.pages;
  return outcome;
}

Result<void> AddressSpace::copy_into(AddressSpace& child, Caller& caller, VirtualAddress kept) {
  LockGuard guard{lock_};
  copying_ = true;
  if (kept.value != 0) TRY(table_.split(kept.page()));
  child.start_as_copy_of(break_start_, break_, areas_.ceiling());
  child.set_limits({limit_.load(Order::relaxed), data_limit_.load(Order::relaxed), stack_limit_.load(Order::relaxed)});
  for (const Area* area = areas_.first(); area != nullptr; area = areas_.next(*area)) {
    TRY(copy_area(child, caller, *area, kept));
  }
  return {};
}

void AddressSpace::end_copying() {
  copying_ = false;
  settled_.wake_all();
}

void AddressSpace::start_as_copy_of(VirtualAddress break_start, VirtualAddress brk,
                                    VirtualAddress ceiling) NO_THREAD_SAFETY_ANALYSIS {
  break_start_ = break_start;
  break_ = brk;
  areas_.set_ceiling(ceiling);
}

Result<Ref<AddressSpace>> AddressSpace::fork(Caller& caller, VirtualAddress kept) {
  if (!caller.under_way()) caller.child = TRY(create()).release();
  caller.prepared.forget_all_but(kept.page());  // the others become the child's, too
  if (!enter(caller)) return Errno::blocked;
  if (!caller.taking) {
    caller.note = static_cast<u64>(copy_into(*caller.child, caller, kept).error());
    caller.taking = true;
  }
  if (!drop_everywhere(caller)) return Errno::blocked;
  {
    LockGuard guard{lock_};
    end_copying();
  }
  const auto error = static_cast<Errno>(caller.note);
  Ref<AddressSpace> child = Ref<AddressSpace>::adopt(std::exchange(caller.child, nullptr));
  leave(caller);
  if (error != Errno{}) return error;
  return child;
}

}  // namespace corral::vm

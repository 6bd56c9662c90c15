// Faults: finding the page for an access that the areas allow. See address_space.h.
//
// Pages are allocated, zeroed and read from their backing outside the lock; then the fault is looked at again, since
// other threads may have settled it, or taken the area away, meanwhile. Context: the faulting thread's step.
#include "lib/memory_functions.h"
#include "memory/large_page.h"
#include "memory/page_allocator.h"
#include "trace/panic.h"
#include "vm/address_space.h"
#include "vm/core_translation.h"

namespace corral::vm {

struct AddressSpace::Supply {
  Frame* page = nullptr;    // for this fault alone
  bool zeroed = false;
  Ref<Backing> backing;     // where `cached` comes from
  Ref<Backing> outdated;    // to be let go outside the lock
  u64 index = 0;
  Frame* cached = nullptr;  // with a reference
  u64 cuts = 0;  // of the backing, before it was asked
  Frame* replaced = nullptr;  // its reference goes at the end
  // Pages of the backing round `cached`, with references: those from first_neighbour on.
  static constexpr u64 most_neighbours = 16;
  u64 first_neighbour = 0;
  u32 neighbours = 0;
  Frame* neighbour[most_neighbours];
  u32 neighbours_wanted = 0;
  bool told = false;        // the backing knows that page `index` is about to be written
  bool only_missing = false;
  bool forced = false;      // the area need not allow the access
  CoreSet targets;          // who must drop a translation

  Supply() = default;
  Supply(const Supply&) = delete;
  Supply& operator=(const Supply&) = delete;
  ~Supply() {
    release_page();
    release_cached();
    if (replaced != nullptr) memory::release_page(*replaced);
  }
  void release_page() {
    if (page != nullptr) memory::release_page(*page);
    page = nullptr;
  }
  void release_cached() {
    if (cached != nullptr) memory::release_page(*cached);
    cached = nullptr;
    for (u32 i = 0; i < neighbours; ++i) {
      if (neighbour[i] != nullptr) memory::release_page(*neighbour[i]);
    }
    neighbours = 0;
  }
  // The window of pages round `page`: aligned, so that one table maps them all, and inside the area.
  void choose_neighbours(const Area& area, VirtualAddress touched) {
    const u64 window = most_neighbours * page_size;
    const VirtualAddress low{round_down(touched.value, window)};
    const VirtualAddress begin = low < area.start ? area.start : low;
    const VirtualAddress last = low + window < area.end ? low + window : area.end;
    first_neighbour = area.page_index(begin);
    neighbours_wanted = static_cast<u32>((last - begin) / page_size);
  }
  [[nodiscard]] Frame& take_page() { return *std::exchange(page, nullptr); }
  [[nodiscard]] Frame& take_cached() { return *std::exchange(cached, nullptr); }

  // Says which page of which backing is wanted; what was known of another one is forgotten.
  void aim_at(const Area& area, u64 wanted_index) {
    outdated = std::exchange(backing, area.backing.reference());
    index = wanted_index;
    told = false;
    release_cached();
  }
  [[nodiscard]] bool aims_at(const Area& area, u64 wanted_index) const {
    return backing.get() == area.backing.get() && index == wanted_index;
  }

  // Whatever a backing complains of, the program gets SIGBUS, unless there is no memory.
  [[nodiscard]] static Errno of_backing(Errno error) {
    return error == Errno::blocked || error == Errno::enomem ? error : Errno::eio;
  }

  // Makes what the last look at the fault asked for. enomem; eio: beyond the end of the backing, or it cannot be read or kept.
  Result<void> provide(Settled wanted, Waiter& waiter) {
    outdated = {};
    if (wanted == Settled::wants_write_notice) {
      if (only_missing) return Errno::eagain;  // the caller cannot wait
      const Result<void> prepared = backing->prepare_write(index, waiter);
      if (!prepared.ok()) return of_backing(prepared.error());
      told = true;
      return {};
    }
    if (wanted == Settled::wants_backing_page) {
      release_cached();
      cuts = backing->cuts();
      Result<Frame*> found = only_missing ? backing->page(index) : backing->page_or_wait(index, waiter);
      if (!found.ok()) return of_backing(found.error());
      cached = found.value();
      if (neighbours_wanted > 1) {
        neighbours = neighbours_wanted;
        backing->pages_at_hand(first_neighbour, {neighbour, neighbours});
      }
      return {};
    }
    release_page();
    zeroed = wanted == Settled::wants_zeroed_page;
    page = TRY(memory::allocate_page(zeroed ? memory::Zero::yes : memory::Zero::no));
    return {};
  }
};

Result<void> AddressSpace::handle_fault_in_parts(Caller& caller, VirtualAddress address, Access access) {
  if (address.value >= user_end) return Errno::efault;
  join_active();
  if (settle_at_once(address.page(), access) != AtOnce::look_closely) return {};
  return settle_fault(caller, address.page(), access, Purpose::access);
}

Result<void> AddressSpace::handle_fault(Caller& caller, VirtualAddress address, Access access) {
  if (address.value >= user_end) return Errno::efault;
  join_active();
  AtOnce outcome = AtOnce::preparing;
  while (outcome == AtOnce::preparing) outcome = settle_at_once(address.page(), access);
  if (outcome == AtOnce::done) return {};
  return settle_fault(caller, address.page(), access, Purpose::access);
}

AddressSpace::AtOnce AddressSpace::settle_at_once(VirtualAddress page, Access access) {
  if (table_.reach(page, false) == nullptr) memory::zero_page_in_advance();
  const AtOnce outcome = look_once(page, access, true);
  if (outcome != AtOnce::preparing) return outcome;
  if (memory::prepare_large_page() != memory::Preparation::impossible) return AtOnce::preparing;
  return look_once(page, access, false);
}

AddressSpace::AtOnce AddressSpace::look_once(VirtualAddress page, Access access, bool may_be_large) {
  LockGuard guard{lock_};
  const Area* area = areas_.find(page);
  if (area == nullptr) [[unlikely]]
    area = grow_down(page);
  if (area == nullptr || !permits(*area, access) || copying_) return AtOnce::look_closely;
  arch::Translation found;
  if (!table_.lookup(page, found)) return area->backing ? AtOnce::look_closely : touch_first(*area, page, access, may_be_large);
  if (access != Access::write || area->shared || found.rights.write) return AtOnce::look_closely;
  if (found.large) return take_over_large(*area, page, found) ? AtOnce::done : AtOnce::look_closely;
  // Acquire: whoever shared the page has finished with it.
  if (memory::frame_of(found.frame).references.load(Order::acquire) != 1 || being_broken(page)) return AtOnce::look_closely;
  table_.protect(page, rights_of(*area));
  CoreTranslation::here().refresh(*this, page);
  return AtOnce::done;
}

AddressSpace::AtOnce AddressSpace::touch_first(const Area& area, VirtualAddress page, Access access, bool may_be_large) {
  if (may_be_large && access == Access::write && fits_large(area, page)) {
    Frame* first = memory::take_large_page();
    if (first == nullptr) return AtOnce::preparing;
    const VirtualAddress start{round_down(page.value, arch::large_page)};
    if (table_.map_large(start, memory::address_of(*first), rights_of(area)).ok()) {
      resident_ += memory::large_pages;
      return AtOnce::done;
    }
    memory::release_large_page(*first);
  }
  const Result<Frame*> frame = memory::allocate_page(memory::Zero::yes);
  if (!frame.ok()) return AtOnce::look_closely;
  if (!table_.map(page, memory::address_of(*frame.value()), rights_of(area)).ok()) {
    memory::release_page(*frame.value());
    return AtOnce::look_closely;
  }
  ++resident_;
  return AtOnce::done;
}

Result<void> AddressSpace::settle_fault(Caller& caller, VirtualAddress page, Access access, Purpose purpose) {
  Supply supply;
  supply.only_missing = purpose == Purpose::presence;
  supply.forced = purpose == Purpose::force;
  for (;;) {
    Settled outcome;
    {
      LockGuard guard{lock_};
      outcome = TRY(try_to_settle(caller, page, access, supply));
    }
    switch (outcome) {
      case Settled::done: return {};
      case Settled::wait_for_change: return Errno::blocked;
      case Settled::wait_for_cores: caller.drop.begin(supply.targets); return Errno::blocked;
      case Settled::wants_zeroed_page:
      case Settled::wants_page:
      case Settled::wants_backing_page:
      case Settled::wants_write_notice: TRY(supply.provide(outcome, caller.waiter));
    }
  }
}

Result<AddressSpace::Settled> AddressSpace::try_to_settle(Caller& caller, VirtualAddress page, Access access, Supply& supply) {
  Area* area = areas_.find(page);
  if (area == nullptr && replaced_start_ <= page && page < replaced_end_) return wait_for_change(caller);
  if (area == nullptr) area = grow_down(page);
  if (area == nullptr && waits_to_grow(caller, page)) return wait_for_change(caller);
  if (area == nullptr) return Errno::efault;
  if (!permits(*area, access) && !(supply.forced && may_be_forced(*area, access))) return Errno::eacces;
  arch::Translation found;
  const bool present = table_.lookup(page, found);
  if (present && (supply.only_missing || permits(found.rights, access))) {
    // This core knew less than the table says: another one mapped the page or added rights.
    CoreTranslation::here().refresh(*this, page);
    return Settled::done;
  }
  if (copying_) {
    // The forking thread itself, whose step looks at memory again before it goes on: every core has answered by then.
    const bool own = caller.changing == this && caller.phase == ChangePhase::changing;
    if (!own) return wait_for_change(caller);
    end_copying();
  }
  if (!present) return map_missing(*area, page, access, supply);
  if (access == Access::write && !area->shared) {
    if (found.large) {
      if (take_over_large(*area, page, found)) return Settled::done;
      TRY(table_.split(page));  // and then one small page is copied
    }
    return break_sharing(caller, *area, page, memory::frame_of(found.frame), supply);
  }
  // The area has rights that the page was not given when it was mapped.
  if (must_tell(*area, area->page_index(page), access, supply)) return Settled::wants_write_notice;
  arch::Rights rights = rights_of(*area);
  const bool noticed = area->shared && area->backing && area->backing->notices_writes();
  if (!area->shared || (noticed && access != Access::write)) rights.write = found.rights.write;
  table_.protect(page, rights);
  CoreTranslation::here().refresh(*this, page);
  return Settled::done;
}

Result<AddressSpace::Settled> AddressSpace::map_missing(Area& area, VirtualAddress page, Access access, Supply& supply) {
  arch::Rights rights = rights_of(area);
  Frame* frame = nullptr;
  if (!area.backing) {
    if (supply.page == nullptr || !supply.zeroed) return Settled::wants_zeroed_page;
    frame = supply.page;
  } else {
    const u64 index = area.page_index(page);
    // A file that has become shorter since has taken its pages out already, or waits for the lock that is held here.
    if (supply.cached == nullptr || !supply.aims_at(area, index) || area.backing->cuts() != supply.cuts) {
      supply.aim_at(area, index);
      supply.neighbours_wanted = 0;
      if (access != Access::write && !supply.only_missing) supply.choose_neighbours(area, page);
      return Settled::wants_backing_page;
    }
    if (must_tell(area, index, access, supply)) return Settled::wants_write_notice;
    if (area.shared || access != Access::write) {
      if (!area.shared) rights.write = false;  // a write makes a copy
      if (access != Access::write && area.backing->notices_writes()) rights.write = false;  // a write is told first
      frame = supply.cached;
    } else {
      if (supply.page == nullptr) return Settled::wants_page;
      memcpy(memory::contents(*supply.page), memory::contents(*supply.cached), page_size);
      supply.zeroed = false;
      frame = supply.page;
      frame->set_state(FrameState::copied);
    }
  }
  TRY(table_.map(page, memory::address_of(*frame), rights));
  ++resident_;
  if (supply.neighbours != 0) map_neighbours(area, page, supply);
  (void)(frame == supply.page ? supply.take_page() : supply.take_cached());
  return Settled::done;
}

// Programs read files and code in order: what is in memory round the page that was touched will be touched as well.
// For reading only, also where the area allows more: a write is noticed page by page.
void AddressSpace::map_neighbours(const Area& area, VirtualAddress page, Supply& supply) {
  arch::Rights rights = rights_of(area);
  rights.write = false;
  const VirtualAddress start{page.value - (supply.index - supply.first_neighbour) * page_size};
  for (u32 i = 0; i < supply.neighbours; ++i) {
    const VirtualAddress neighbour = start + i * page_size;
    arch::Translation found;
    if (supply.neighbour[i] == nullptr || neighbour < area.start || neighbour >= area.end) continue;
    if (table_.lookup(neighbour, found)) continue;
    if (!table_.map(neighbour, memory::address_of(*supply.neighbour[i]), rights).ok()) return;
    supply.neighbour[i] = nullptr;  // the mapping has the reference
    ++resident_;
  }
}

Result<AddressSpace::Settled> AddressSpace::break_sharing(Caller& caller, Area& area, VirtualAddress page, Frame& shared,
                                                          Supply& supply) {
  if (being_broken(page)) return wait_for_change(caller);
  CoreTranslation& here = CoreTranslation::here();
  const arch::Rights rights = rights_of(area);
  // Acquire: whoever shared the page has finished with it.
  if (shared.references.load(Order::acquire) == 1) {
    table_.protect(page, rights);
    here.refresh(*this, page);
    return Settled::done;
  }
  if (supply.page == nullptr) return Settled::wants_page;
  Frame& copy = supply.take_page();
  memcpy(memory::contents(copy), memory::contents(shared), page_size);
  if (area.backing) copy.set_state(FrameState::copied);
  arch::Rights read_only = rights;
  read_only.write = false;
  const Result<void> mapped = table_.map(page, memory::address_of(copy), read_only);
  KERNEL_ASSERT(mapped.ok());  // the table is there: the page was mapped
  here.refresh(*this, page);
  TranslationDrop& drop = caller.drop;
  supply.targets = begin_generation(drop.generation);
  here.advance(*this, drop.generation);
  if (supply.targets.empty()) {
    table_.protect(page, rights);
    supply.replaced = &shared;  // released outside the lock
    return Settled::done;
  }
  drop.space = this;
  drop.reset_range();
  drop.include(page);
  drop.finish = finish_break;
  const bool added = drop.frames.add(shared);
  KERNEL_ASSERT(added);  // it was empty
  breaks_.push_back(drop);
  retain();
  return Settled::wait_for_cores;
}

bool AddressSpace::must_tell(const Area& area, u64 index, Access access, Supply& supply) {
  if (!area.shared || access != Access::write || !area.backing || !area.backing->notices_writes()) return false;
  if (!supply.aims_at(area, index)) supply.aim_at(area, index);
  return !supply.told;
}

AddressSpace::Settled AddressSpace::wait_for_change(Caller& caller) {
  const Errno wait = settled_.wait_uninterruptible(caller.waiter);
  KERNEL_ASSERT(wait == Errno::blocked);
  return Settled::wait_for_change;
}

bool AddressSpace::being_broken(VirtualAddress page) {
  for (TranslationDrop* drop = breaks_.front(); drop != nullptr; drop = breaks_.next(*drop)) {
    if (drop->start == page) return true;
  }
  return false;
}

// On the core that answered last.
void AddressSpace::finish_break(TranslationDrop& drop) {
  AddressSpace& space = *drop.space;
  {
    LockGuard guard{space.lock_};
    space.breaks_.remove(drop);
    space.settled_.wake_all();
  }
  drop.frames.release_all();
  drop.finish = nullptr;
  drop.reset_range();
  space.drop();
}

// Maps what is not there yet, as far as memory reaches. The caller holds the change lock, so nothing here blocks.
void AddressSpace::populate(Caller& caller, VirtualAddress start, VirtualAddress end, Access access) {
  for (VirtualAddress page = start; page < end; page = page + page_size) {
    const Result<void> settled = settle_fault(caller, page, access, Purpose::presence);
    if (!settled.ok()) {
      KERNEL_ASSERT(settled.error() != Errno::blocked);
      return;
    }
  }
}

}  // namespace corral::vm

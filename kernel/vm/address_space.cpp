// Making, ending and describing address spaces. See address_space.h for the rules; faults.cpp, change.cpp, map.cpp,
// protect.cpp, remap.cpp, fork.cpp and user_memory.cpp for the rest of the class.
#include "vm/address_space.h"

#include "memory/large_page.h"
#include "memory/page_allocator.h"
#include "vm/core_translation.h"
#include "vm/translation_drop.h"

namespace corral::vm {

namespace {

constinit Atomic<u64> last_number{0};

struct Before {
  bool operator()(const AddressSpace& a, const AddressSpace& b) const { return a.number() < b.number(); }
};
constinit SpinLock list_lock{Rank::address_spaces, "address spaces"};
constinit RedBlackTree<AddressSpace, &AddressSpace::by_number, Before> list GUARDED_BY(list_lock);

}  // namespace

AddressSpace::AddressSpace(Ref<TableHolder> tables)
    : number_{last_number.fetch_add(1, Order::relaxed) + 1}, tables_{std::move(tables)}, table_{tables_->table()} {}

Result<Ref<AddressSpace>> AddressSpace::create() {
  Ref<TableHolder> tables = TRY(TableHolder::create());
  auto* space = new (std::nothrow) AddressSpace(std::move(tables));
  if (space == nullptr) return Errno::enomem;
  LockGuard guard{list_lock};
  list.insert(*space);
  return Ref<AddressSpace>::adopt(space);
}

Ref<AddressSpace> AddressSpace::made_after(u64 number) {
  LockGuard guard{list_lock};
  AddressSpace* space = list.first_where([&](const AddressSpace& s) { return s.number() > number; });
  while (space != nullptr && !space->retain_if_alive()) space = list.next(*space);
  return Ref<AddressSpace>::adopt(space);
}

// No core uses it (each that does holds a reference). What a resting core or an id still knows is never used again: no
// other address space has this number. So the pages can go at once; the table goes with its last holder.
AddressSpace::~AddressSpace() {
  {
    LockGuard guard{list_lock};
    list.remove(*this);
  }
  table_.release_pages();
}

void AddressSpace::activate() {
  CoreTranslation::here().load(*this);
}

void AddressSpace::rest() {
  CoreTranslation::here().rest();
}

void AddressSpace::activate_kernel_only() {
  CoreTranslation::here().load_kernel_only();
}

CoreSet AddressSpace::begin_generation(u64& generation) {
  // After the changes of the table and before the look at active_; see vm/core_translation.cpp.
  generation = generation_.fetch_add(1, Order::seq_cst) + 1;
  CoreSet targets = active_.snapshot(Order::seq_cst);
  targets.remove(this_core().id());
  return targets;
}

void AddressSpace::set_break_start(VirtualAddress start) {
  LockGuard guard{lock_};
  break_start_ = break_ = start;
}

void AddressSpace::leave_room_for_stack(u64 limit) {
  LockGuard guard{lock_};
  areas_.set_ceiling(mapping_ceiling(limit));
}

VirtualAddress AddressSpace::ceiling() {
  LockGuard guard{lock_};
  return areas_.ceiling();
}

Usage AddressSpace::usage() {
  LockGuard guard{lock_};
  return {.mapped_bytes = areas_.mapped_bytes(),
          .peak_bytes = areas_.peak_bytes(),
          .resident_pages = resident_,
          .peak_pages = resident_ > peak_ ? resident_ : peak_,
          .table_pages = table_.table_pages(),
          .break_start = break_start_};
}

void AddressSpace::for_each_area(void (*visit)(void* context, const Area& area), void* context) {
  LockGuard guard{lock_};
  for (const Area* area = areas_.first(); area != nullptr; area = areas_.next(*area)) visit(context, *area);
}

Ref<Backing> AddressSpace::shared_backing(VirtualAddress start, VirtualAddress end, VirtualAddress& next) {
  LockGuard guard{lock_};
  for (const Area* area = areas_.first_above(start); area != nullptr && area->start < end; area = areas_.next(*area)) {
    next = area->end;
    if (area->shared && area->backing) return area->backing.reference();
  }
  return {};
}

Result<MapRequest> AddressSpace::shared_mapping(VirtualAddress start, VirtualAddress end) {
  LockGuard guard{lock_};
  const Area* first = areas_.first_above(start);
  if (first == nullptr || first->start > start || !first->shared || !first->backing) return Errno::einval;
  const Area* last = first;
  while (last->end < end) {
    const Area* next = areas_.next(*last);
    if (next == nullptr || next->start != last->end || next->backing.get() != first->backing.get()) return Errno::einval;
    last = next;
  }
  MapRequest request;
  request.hint = start;
  request.length = end - start;
  request.protection = first->protection;
  request.fixed = true;
  request.shared = true;
  request.may_write = first->may_write;
  request.locked = first->locked;
  request.kind = first->kind;
  request.backing = first->backing.reference();
  request.first_page = first->page_index(start);
  return request;
}

bool AddressSpace::covers(VirtualAddress start, VirtualAddress end) {
  LockGuard guard{lock_};
  return areas_.covered_until(start, end) == end;
}

Result<Frame*> AddressSpace::hold_page(VirtualAddress page, Closed closed) {
  LockGuard guard{lock_};  // pages are taken out of the table under it, so this one cannot go before it is shared
  arch::Translation found;
  if (page.value >= user_end || !table_.lookup(page, found)) return Errno::efault;
  if (!found.rights.user && closed == Closed::not_wanted) return Errno::efault;
  if (found.large) memory::split_large_page(memory::frame_of({round_down(found.frame.value, arch::large_page)}));
  Frame& frame = memory::frame_of(found.frame);
  memory::share_page(frame);
  return &frame;
}

bool AddressSpace::find_page(VirtualAddress& from, VirtualAddress to) {
  constexpr u32 tables_at_once = 8;
  LockGuard guard{lock_};
  const arch::PageTable::Sought sought = table_.find_page(from, to, tables_at_once);
  from = sought.at;
  return sought.found;
}

Result<void> AddressSpace::residency(VirtualAddress start, std::span<u8> pages) {
  for (u8& page : pages) page = 0;
  struct Context {
    VirtualAddress start;
    std::span<u8> pages;
  } context{start, pages};
  const VirtualAddress end = start + pages.size() * page_size;
  LockGuard guard{lock_};
  if (areas_.covered_until(start, end) != end) return Errno::enomem;
  table_.for_each(
      start, end,
      [](void* c, VirtualAddress page, const arch::Translation& found) {
        auto& into = *static_cast<Context*>(c);
        const VirtualAddress last = page + (found.large ? arch::large_page : page_size);
        for (VirtualAddress at = page < into.start ? into.start : page; at < last; at = at + page_size) {
          const u64 index = (at - into.start) / page_size;
          if (index >= into.pages.size()) return;
          into.pages[index] = 1;
        }
      },
      &context);
  return {};
}

arch::Rights AddressSpace::rights_of(const Area& area) {
  return {.write = area.protection.write, .execute = area.protection.execute, .user = !area.protection.none()};
}

bool AddressSpace::permits(const Area& area, Access access) {
  switch (access) {
    case Access::read: return !area.protection.none();  // the processor has no mapping that can be written but not read
    case Access::write: return area.protection.write;
    case Access::execute: return area.protection.execute;
  }
  return false;
}

bool AddressSpace::permits(const arch::Rights& rights, Access access) {
  return rights.user && (access != Access::write || rights.write) && (access != Access::execute || rights.execute);
}

void initialise() {
  TranslationDrop::initialise();
}

}  // namespace corral::vm

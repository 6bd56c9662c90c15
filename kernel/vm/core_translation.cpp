// What one core may hold of address spaces. See core_translation.h.
#include "vm/core_translation.h"

#include "arch/page_table.h"
#include "vm/address_space.h"

namespace corral::vm {

namespace {

// Above this many pages everything of the address space is flushed: the refills cost less than so many single flushes.
constexpr u64 single_flushes = 32;

constinit CoreTranslation translations[max_cores];

}  // namespace

CoreTranslation& CoreTranslation::of(CoreId core) {
  return translations[core.value];
}

void CoreTranslation::prepare() {
  if (prepared_) return;
  slots_.set_ids(arch::asid_count());
  prepared_ = true;
}

void CoreTranslation::load(AddressSpace& space) {
  if (loaded_ == &space) return;
  prepare();
  AddressSpace* old = loaded_;
  space.retain();
  // Before the first walk of the table. Sequentially consistent against the requester's fence between its change of the
  // table and its look at the set: either it finds this core there, or this core's walks find the changed table.
  space.active().add(this_core().id(), Order::seq_cst);
  const AsidSlots::Choice choice = slots_.choose(space.number());
  arch::load_page_table(space.table(), choice.asid, choice.keep);
  loaded_ = &space;
  leave(old);
}

void CoreTranslation::load_kernel_only() {
  if (loaded_ == nullptr) return;
  arch::load_kernel_page_table();
  AddressSpace* old = loaded_;
  loaded_ = nullptr;
  leave(old);
}

void CoreTranslation::leave(AddressSpace* space) {
  if (space == nullptr) return;
  // Without ids the load of another table has flushed everything of it.
  if (!slots_.any()) space->active().remove(this_core().id(), Order::release);
  space->drop();
}

void CoreTranslation::refresh(AddressSpace& space, VirtualAddress page) {
  if (loaded_ == &space) {
    arch::flush_page(page);
  } else {
    slots_.forget(space.number());
  }
}

void CoreTranslation::forget(AddressSpace& space, VirtualAddress start, VirtualAddress end) {
  if (loaded_ != &space) {
    slots_.forget(space.number());
    space.active().remove(this_core().id(), Order::release);
  } else if ((end - start) / page_size > single_flushes) {
    arch::flush_user_all();
  } else {
    for (VirtualAddress page = start; page < end; page = page + page_size) arch::flush_page(page);
  }
}

}  // namespace corral::vm

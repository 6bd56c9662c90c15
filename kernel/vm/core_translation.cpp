// What one core may hold of address spaces. See core_translation.h.
//
// Why a core that joins the active set never uses what has been taken away: the one who takes away changes the table,
// then adds one to the generation, then looks at the set; the core adds itself to the set, then reads the generation.
// All four are sequentially consistent, so either the other finds it there and asks it, or it finds the new generation and
// flushes.
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
  if (used_ == &space) return;
  prepare();
  stop_using();
  space.retain();
  used_ = &space;
  space.active().add(this_core().id(), Order::seq_cst);
  const u64 newest = space.generation().load(Order::seq_cst);
  if (number_ == space.number()) {  // back from a rest
    if (generation_ != newest) arch::flush_user_all();
  } else {
    const AsidSlots::Choice choice = slots_.choose(space.number(), newest);
    arch::load_page_table(space.tables().table(), choice.asid, choice.keep);
    space.tables().retain();
    hold(&space.tables());
    number_ = space.number();
  }
  generation_ = newest;
}

void CoreTranslation::rest() {
  stop_using();
}

void CoreTranslation::load_kernel_only() {
  stop_using();
  if (table_ == nullptr) return;
  arch::load_kernel_page_table();
  hold(nullptr);
  number_ = 0;
}

// The one before may end here: it is not loaded any more.
void CoreTranslation::hold(TableHolder* table) {
  TableHolder* before = std::exchange(table_, table);
  if (before != nullptr) before->drop();
}

void CoreTranslation::stop_using() {
  if (used_ == nullptr) return;
  slots_.note(number_, generation_);
  used_->active().remove(this_core().id(), Order::release);
  std::exchange(used_, nullptr)->drop();
}

void CoreTranslation::refresh(const AddressSpace& space, VirtualAddress page) {
  if (number_ == space.number()) arch::flush_page(page);
}

void CoreTranslation::forget_touches(const AddressSpace& space) {
  if (number_ == space.number()) arch::flush_user_all();
}

void CoreTranslation::advance(const AddressSpace& space, u64 generation) {
  // One that came too early leaves a gap: the next load flushes everything.
  if (number_ == space.number() && generation_ + 1 == generation) generation_ = generation;
}

void CoreTranslation::forget(AddressSpace& space, VirtualAddress start, VirtualAddress end, u64 generation) {
  if (number_ == space.number()) {
    if ((end - start) / page_size > single_flushes) {
      arch::flush_user_all();
    } else {
      for (VirtualAddress page = start; page < end; page = page + page_size) arch::flush_page(page);
    }
    advance(space, generation);
  }
  if (used_ != &space) space.active().remove(this_core().id(), Order::release);
}

}  // namespace corral::vm

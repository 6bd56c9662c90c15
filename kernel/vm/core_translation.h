// The translations that one core may hold: which address space it uses, whose table is loaded, and those whose entries it
// keeps under an address-space id. Own core only, interrupts off; other cores ask by message (vm/translation_drop.h).
//
// A core is in the `active` set of the address space that it uses: it adds itself before it does so, and leaves when it
// rests or uses another one. What is left in its TLB then is not used, and is told from what is right by the space's
// generation when it comes back: so nobody is interrupted for an address space that he does not use, and a core that was
// idle for a moment finds its entries again.
#pragma once

#include "core/core.h"
#include "lib/ref.h"
#include "lib/types.h"
#include "vm/asid_slots.h"
#include "vm/table_holder.h"

namespace corral::vm {

class AddressSpace;

class alignas(cache_line) CoreTranslation {
 public:
  static CoreTranslation& of(CoreId core);
  static CoreTranslation& here() { return of(this_core().id()); }

  // Uses `space` from now on, with a reference to it; lets go of the one that was in use (which may end here).
  void load(AddressSpace& space);
  // Uses none until the next load; the table stays loaded.
  void rest();
  // The same, and no user table is loaded.
  void load_kernel_only();
  // This core's entry of the page is not used any more: the next access looks into the table again.
  void refresh(const AddressSpace& space, VirtualAddress page);
  // This core looks into the space's table again before it uses any page.
  void forget_touches(const AddressSpace& space);
  // As far as this core is concerned, translations were taken away up to `generation`.
  void advance(const AddressSpace& space, u64 generation);
  // Forgets [start, end) of `space` (more is allowed), with which `generation` began, and leaves its active set unless it
  // is in use.
  void forget(AddressSpace& space, VirtualAddress start, VirtualAddress end, u64 generation);

 private:
  void prepare();
  void stop_using();
  void hold(TableHolder* table);

  AddressSpace* used_ = nullptr;  // a reference
  TableHolder* table_ = nullptr;  // what is loaded, a reference; null: the kernel's own
  u64 number_ = 0;                // of the address space that table_ is of
  u64 generation_ = 0;            // of it, up to which this core has forgotten what was taken away
  AsidSlots slots_;
  bool prepared_ = false;         // slots_ know how many ids the processor has
};

}  // namespace corral::vm

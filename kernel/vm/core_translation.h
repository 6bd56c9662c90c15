// The translations that one core may hold: which address space it has loaded, and those whose entries it keeps under an
// address-space id. Own core only, interrupts off; other cores ask by message (vm/translation_drop.h).
//
// A core is in the `active` set of every address space of which it may hold an entry. It adds itself before it loads the
// table; it leaves when nothing of the space is left in its TLB: at once without ids, else when it is asked to forget.
#pragma once

#include "core/core.h"
#include "lib/types.h"
#include "vm/asid_slots.h"

namespace corral::vm {

class AddressSpace;

class alignas(cache_line) CoreTranslation {
 public:
  static CoreTranslation& of(CoreId core);
  static CoreTranslation& here() { return of(this_core().id()); }

  [[nodiscard]] AddressSpace* loaded() const { return loaded_; }
  // Loads `space` and takes a reference to it; lets go of the one that was loaded (which may end here).
  void load(AddressSpace& space);
  void load_kernel_only();
  // The table of `space` gives more than it did, or the calling core has just changed this page: the next access looks
  // into the table again. Stays in the active set.
  void refresh(AddressSpace& space, VirtualAddress page);
  // Forgets [start, end) of `space` (more is allowed), or all of it, and leaves its active set if it is not loaded.
  void forget(AddressSpace& space, VirtualAddress start, VirtualAddress end);

 private:
  void prepare();
  void leave(AddressSpace* space);

  AddressSpace* loaded_ = nullptr;
  AsidSlots slots_;
  bool prepared_ = false;  // slots_ know how many ids the processor has
};

}  // namespace corral::vm

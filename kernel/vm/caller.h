// A thread as virtual memory sees it: who to wake, and the change of mappings that it has under way.
//
// An operation that must wait (for other cores to drop translations, or for another change of the same address space)
// returns Errno::blocked; the step that called it runs again and calls it again with the same arguments, and the operation
// goes on where it was. One operation at a time for each caller.
#pragma once

#include "sync/waiter.h"
#include "vm/translation_drop.h"

namespace corral::vm {

class AddressSpace;

struct Caller {
  explicit Caller(Waiter& w) : waiter{w}, drop{w} {}
  Waiter& waiter;
  TranslationDrop drop;                // own core; its acknowledgements come from others
  AddressSpace* changing = nullptr;    // whose change lock this caller holds across waits
  u32 phase = 0;                       // of the operation under way; 0: none
  u64 note = 0;                        // result kept by the operation until it is finished
};

}  // namespace corral::vm

// A tracer's access to a program's memory, whatever the program itself may do with it. See address_space.h.
//
// What the program may do is done as by resolve(). For the rest the bytes are moved under lock_: no fork can come to share the page
// meanwhile, and no change of mappings take it away. A write waits until the page is the address space's own and no core holds
// a translation to what was there before, so that all threads of the program see it.
#include "lib/memory_functions.h"
#include "memory/canary.h"
#include "memory/large_page.h"
#include "memory/page_allocator.h"
#include "vm/address_space.h"

namespace corral::vm {

bool AddressSpace::is_own_page(VirtualAddress page, const arch::Translation& found) {
  if (found.large) return memory::claim_large_page(memory::frame_of({round_down(found.frame.value, arch::large_page)}));
  // Acquire: whoever shared the page has finished with it.
  return memory::frame_of(found.frame).references.load(Order::acquire) == 1 && !being_broken(page);
}

template <class Use>
bool AddressSpace::use_at_once(VirtualAddress at, Access access, Use&& use) {
  LockGuard guard{lock_};
  const VirtualAddress page = at.page();
  const Area* area = areas_.find(page);
  arch::Translation found;
  if (area == nullptr || !may_be_forced(*area, access) || !table_.lookup(page, found)) return false;
  if (access == Access::write && !is_own_page(page, found)) return false;
  use(arch::direct(found.frame) + at.value % page_size);
  return true;
}

template <class Use>
Result<void> AddressSpace::force_page(Caller& caller, VirtualAddress at, Access access, Use&& use) {
  const Result<u8*> place = resolve(caller, at, access);
  if (place.ok()) {
    use(place.value());
    return {};
  }
  if (place.error() != Errno::efault || at.value >= user_end) return place.error();
  while (!use_at_once(at, access, use)) {
    const Result<void> settled = settle_fault(caller, at.page(), access, Purpose::force);
    if (!settled.ok()) return of_kernel_access(settled.error());
  }
  return {};
}

Result<void> AddressSpace::read_by_force(Caller& caller, VirtualAddress at, std::span<u8> to) {
  for (u64 done = 0, now = 0; done < to.size(); done += now) {
    now = within_page(at + done, to.size() - done);
    TRY(force_page(caller, at + done, Access::read, [&](const u8* place) { memcpy(to.data() + done, place, now); }));
  }
  return {};
}

Result<void> AddressSpace::write_by_force(Caller& caller, VirtualAddress at, std::span<const u8> from) {
  memory::check_for_canaries(from.data(), from.size());
  for (u64 done = 0, now = 0; done < from.size(); done += now) {
    now = within_page(at + done, from.size() - done);
    TRY(force_page(caller, at + done, Access::write, [&](u8* place) { memcpy(place, from.data() + done, now); }));
  }
  return {};
}

}  // namespace corral::vm

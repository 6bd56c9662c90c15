// Kernel access to user memory: through the page table and the direct map, never through user addresses.
// Context: a thread's step; the thread need not have the address space loaded. See address_space.h for why a resolved
// page stays for the rest of the step.
#include "lib/memory_functions.h"
#include "memory/canary.h"
#include "memory/page_allocator.h"
#include "vm/address_space.h"

namespace corral::vm {

namespace {

constexpr u64 largest_preparation = 1u << 20;

// Where a write goes that the table does not allow at once.
Result<u8*> resolve_for_writing(AddressSpace& space, Caller& caller, VirtualAddress to) {
  if (u8* page = caller.prepared.find(space, to.page()); page != nullptr) return page + to.value % page_size;
  return space.resolve(caller, to, Access::write);
}

}  // namespace

Result<u8*> AddressSpace::resolve(Caller& caller, VirtualAddress address, Access access) {
  if (access != Access::execute) {
    if (u8* place = reach(address, access)) [[likely]]
      return place;
  }
  return fault_in(caller, address, access);
}

Result<u8*> AddressSpace::fault_in(Caller& caller, VirtualAddress address, Access access) {
  if (address.value >= user_end) return Errno::efault;
  const VirtualAddress page = address.page();
  join_active();
  for (;;) {
    arch::Translation found;
    if (table_.lookup(page, found) && permits(found.rights, access)) {
      return arch::direct(found.frame) + address.value % page_size;
    }
    const Result<void> settled = handle_fault(caller, page, access);
    if (!settled.ok()) return of_kernel_access(settled.error());
  }
}

Result<void> copy_in(AddressSpace& space, Caller& caller, void* to, VirtualAddress from, u64 size) {
  auto* bytes = static_cast<u8*>(to);
  while (size != 0) {
    const u64 now = within_page(from, size);
    const u8* place = space.reach(from, Access::read);
    memcpy(bytes, place != nullptr ? place : TRY(space.resolve(caller, from, Access::read)), now);
    bytes += now;
    from = from + now;
    size -= now;
  }
  return {};
}

Result<void> copy_out(AddressSpace& space, Caller& caller, VirtualAddress to, const void* from, u64 size) {
  memory::check_for_canaries(from, size);
  const auto* bytes = static_cast<const u8*>(from);
  while (size != 0) {
    const u64 now = within_page(to, size);
    u8* place = space.reach(to, Access::write);
    memcpy(place != nullptr ? place : TRY(resolve_for_writing(space, caller, to)), bytes, now);
    bytes += now;
    to = to + now;
    size -= now;
  }
  return {};
}

Result<void> prepare(AddressSpace& space, Caller& caller, VirtualAddress start, u64 size, Access access) {
  if (size > largest_preparation) return Errno::einval;
  while (size != 0) {
    const u64 now = within_page(start, size);
    u8* const place = TRY(space.resolve(caller, start, access));
    if (access == Access::write) caller.prepared.note(space, start.page(), place - start.value % page_size);
    start = start + now;
    size -= now;
  }
  return {};
}

Result<u64> copy_string_in(AddressSpace& space, Caller& caller, char* to, u64 size, VirtualAddress from) {
  u64 length = 0;
  while (length < size) {
    const u64 now = within_page(from + length, size - length);
    const u8* text = TRY(space.resolve(caller, from + length, Access::read));
    for (u64 i = 0; i < now; ++i) {
      to[length] = static_cast<char>(text[i]);
      if (text[i] == 0) return length;
      ++length;
    }
  }
  return Errno::enametoolong;
}

}  // namespace corral::vm

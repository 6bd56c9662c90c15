// Changing the rights of areas: mprotect. See address_space.h.
//
// Rights that are taken away are taken from the page table at once and then dropped on every core. Rights that are
// given reach the page table at once too, except the right to write private pages (a fault decides whether the page must
// be copied first) and pages whose backing must be told of writes.
#include "vm/address_space.h"

namespace corral::vm {

Result<void> AddressSpace::change_protection(Caller& caller, VirtualAddress start, VirtualAddress end, Protection protection) {
  TRY(isolate(start, end));
  struct Context {
    arch::PageTable& table;
    const Area& area;
    TranslationDrop& drop;
  };
  const auto change = [](void* c, VirtualAddress page, const arch::Translation& found) {
    auto& context = *static_cast<Context*>(c);
    const arch::Rights& had = found.rights;
    arch::Rights has = rights_of(context.area);
    const bool told_first = context.area.backing && context.area.backing->notices_writes();
    if (!context.area.shared || told_first) has.write = has.write && had.write;
    if (has == had) return;
    context.table.protect(page, has);
    const bool lost = (had.write && !has.write) || (had.execute && !has.execute) || (had.user && !has.user);
    if (lost && found.large) context.drop.include_large(page);
    if (lost) context.drop.include(page);
  };
  for (Area* area = areas_.first_above(start); area != nullptr && area->start < end; area = areas_.next(*area)) {
    if (area->protection == protection) continue;
    area->protection = protection;
    Context context{table_, *area, caller.drop};
    table_.for_each(area->start, area->end, change, &context);
  }
  areas_.join(start, end);
  return {};
}

Result<void> AddressSpace::protect(Caller& caller, VirtualAddress start, u64 length, Protection protection,
                                   bool from_start_of_growing) {
  if (start.value % page_size != 0) return Errno::einval;
  if (length == 0) return {};
  const VirtualAddress end = start + round_up(length, page_size);
  if (end <= start) return Errno::enomem;
  if (!enter(caller)) return Errno::blocked;
  if (!caller.taking) {
    const Result<void> changed = [&]() -> Result<void> {
      LockGuard guard{lock_};
      if (from_start_of_growing) start = TRY(start_of_growing(start, end));
      // As far as there are areas without a gap, and up to the first that refuses: the error counts afterwards.
      VirtualAddress until = areas_.covered_until(start, end);
      caller.note = until < end ? static_cast<u64>(Errno::enomem) : 0;
      if (protection.write) {
        for (const Area* area = areas_.first_above(start); area != nullptr && area->start < until; area = areas_.next(*area)) {
          if (area->may_write) continue;
          until = area->start > start ? area->start : start;
          caller.note = static_cast<u64>(Errno::eacces);
        }
      }
      if (until > start) TRY(change_protection(caller, start, until, protection));
      return {};
    }();
    if (!changed.ok()) return give_up(caller, changed.error());
    caller.taking = true;
  }
  if (!drop_everywhere(caller)) return Errno::blocked;
  const auto error = static_cast<Errno>(caller.note);
  leave(caller);
  return error;
}

}  // namespace corral::vm

// Resizing and moving areas: mremap. See address_space.h.
//
// Stages: 0 check; 1 take out what is at the new place (fixed); 2 take out the end of the old range (shrinking);
// 3 resize or move; 4 every core forgets the old place. A moved page is reachable at both places until stage 4 is over,
// which harms nobody: it is the same page, and nobody has been told of the new place.
#include "memory/page_allocator.h"
#include "trace/panic.h"
#include "vm/address_space.h"

namespace corral::vm {

Result<void> AddressSpace::check_remap(const RemapRequest& request) {
  if (areas_.find(request.old_start) == nullptr) return Errno::efault;
  if (!request.fixed && !request.keeps_old) return {};
  const u64 old_length = round_up(request.old_length, page_size);
  const u64 new_length = round_up(request.new_length, page_size);
  const VirtualAddress to = request.new_start;
  if (to.value % page_size != 0) return Errno::einval;
  if (new_length > user_end || to.value > user_end - new_length) return Errno::einval;
  if (request.old_start + old_length > to && to + new_length > request.old_start) return Errno::einval;
  if (request.fixed && to.value < lowest_address) return Errno::eperm;
  return {};
}

Result<void> AddressSpace::move_pages(Caller& caller, VirtualAddress from, VirtualAddress to, u64 length) {
  TRY(split_for_move(from, to, length));
  struct Context {
    arch::PageTable& table;
    TranslationDrop& drop;
    VirtualAddress from, to;
    Errno error;
  } context{table_, caller.drop, from, to, Errno{}};
  // First all at the new place, since that may need memory; then away from the old one.
  table_.for_each(
      from, from + length,
      [](void* c, VirtualAddress page, const arch::Translation& found) {
        auto& move = *static_cast<Context*>(c);
        if (move.error != Errno{}) return;
        const VirtualAddress place = move.to + (page - move.from);
        move.error = (found.large ? move.table.map_large(place, found.frame, found.rights)
                                  : move.table.map(place, found.frame, found.rights))
                         .error();
      },
      &context);
  const auto take = [](void* c, VirtualAddress page, const arch::Translation&) {
    auto& move = *static_cast<Context*>(c);
    arch::Translation was;
    move.table.unmap(page, was);
    if (move.error != Errno{}) return;
    move.drop.include(page);
    if (was.large) move.drop.include_large(page);
  };
  const VirtualAddress given_up = context.error == Errno{} ? from : to;
  table_.for_each(given_up, given_up + length, take, &context);
  return context.error;
}

Result<void> AddressSpace::resize_area(Caller& caller, const RemapRequest& request, u64 old_length, u64 new_length) {
  const VirtualAddress old_start = request.old_start;
  const VirtualAddress old_end = old_start + old_length;
  Area* area = areas_.find(old_start);
  if (area == nullptr) return Errno::efault;
  if (old_length == 0 && !area->shared) return Errno::einval;
  if (old_length > area->end - old_start) return Errno::efault;
  if (new_length > user_end) return Errno::enomem;
  const u64 growth = request.keeps_old ? new_length : new_length - old_length;
  TRY(check_growth(growth, 0, !area->shared && area->protection.write));
  caller.note = old_start.value;
  if (!request.fixed && !request.keeps_old) {
    const bool fits =
        old_end == area->end && new_length <= user_end - old_start.value && areas_.is_free(old_end, old_start + new_length);
    if (fits && old_length != 0) {
      areas_.extend(*area, old_start + new_length);
      return {};
    }
    if (!request.may_move) return Errno::enomem;
  }
  VirtualAddress place = request.new_start;
  if (!request.fixed && !areas_.find_room(new_length, VirtualAddress{user_end}, place)) return Errno::enomem;
  auto* moved = new (std::nothrow) Area;
  if (moved == nullptr) return Errno::enomem;
  caller.area = moved;  // goes with the operation if that fails
  moved->copy_attributes(*area);
  moved->first_page = area->page_index(old_start);
  if (moved->kind != AreaKind::file) moved->kind = AreaKind::anonymous;
  moved->start = place;
  moved->end = place + new_length;
  if (old_length != 0) {
    TRY(isolate(old_start, old_end));
    const Result<void> pages = move_pages(caller, old_start, place, old_length);
    if (!pages.ok()) {
      areas_.join(old_start, old_end);
      return pages;
    }
    if (request.keeps_old) {
      areas_.find(old_start)->locked = false;
      areas_.join(old_start, old_end);
    } else {
      begin_unsettled(old_start, old_end);
      Area* old = areas_.take(old_start, old_end);
      KERNEL_ASSERT(old != nullptr && old->following == nullptr);
      old->following = caller.removed;
      caller.removed = old;
    }
  }
  areas_.insert(*std::exchange(caller.area, nullptr));
  caller.note = place.value;
  return {};
}

Result<VirtualAddress> AddressSpace::remap(Caller& caller, const RemapRequest& request) {
  if (request.old_start.value % page_size != 0) return Errno::einval;
  u64 old_length = round_up(request.old_length, page_size);
  const u64 new_length = round_up(request.new_length, page_size);
  if (new_length == 0) return Errno::einval;
  if (old_length < request.old_length || old_length > user_end) return Errno::einval;
  if (!enter(caller)) return Errno::blocked;
  if (caller.stage == 0) {
    Errno error;
    {
      LockGuard guard{lock_};
      error = check_remap(request).error();
    }
    if (error != Errno{}) return give_up(caller, error);
    if (request.fixed) begin_replacing(request.new_start, request.new_start + new_length);
    caller.stage = request.fixed ? 1 : 2;
  }
  Errno error{};
  if (caller.stage == 1) {
    error = take_out(caller, request.new_start, request.new_start + new_length).error();
    if (error == Errno{}) caller.stage = 2;
  }
  if (caller.stage == 2) {
    if (old_length > new_length) {
      error = take_out(caller, request.old_start + new_length, request.old_start + old_length).error();
    }
    if (error == Errno{}) caller.stage = 3;
  }
  if (old_length > new_length) old_length = new_length;
  if (caller.stage == 3) {
    caller.note = request.old_start.value;
    if (request.fixed || request.keeps_old || old_length < new_length) {
      LockGuard guard{lock_};
      error = resize_area(caller, request, old_length, new_length).error();
    }
    if (error == Errno{}) caller.stage = 4;
  }
  if (error == Errno{} && !drop_everywhere(caller)) error = Errno::blocked;
  if (error == Errno::blocked) return Errno::blocked;
  if (request.fixed) {
    LockGuard guard{lock_};
    end_replacing();
  }
  if (error != Errno{}) return give_up(caller, error);
  const VirtualAddress place{caller.note};
  leave(caller);
  return place;
}

}  // namespace corral::vm

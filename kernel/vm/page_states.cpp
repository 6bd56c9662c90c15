// What is mapped at each page, for those who look at a process from outside. See address_space.h.
#include "memory/page_allocator.h"
#include "vm/address_space.h"

namespace corral::vm {

void AddressSpace::note_page_states(const Area& area, VirtualAddress start, std::span<PageState> pages) {
  struct Context {
    const Area& area;
    VirtualAddress start;
    std::span<PageState> pages;
  } context{area, start, pages};
  const VirtualAddress end = start + pages.size() * page_size;
  table_.for_each(
      area.start < start ? start : area.start, area.end < end ? area.end : end,
      [](void* c, VirtualAddress page, const arch::Translation& found) {
        const auto& [of, first, states] = *static_cast<Context*>(c);
        const u64 size = found.large ? arch::large_page : page_size;
        const bool anonymous = is_anonymous(of, found);
        // The backing has one of the references to what is not anonymous.
        const u32 references = memory::frame_of(found.frame).references.load(Order::relaxed);
        for (VirtualAddress at = page < first ? first : page; at < page + size; at = at + page_size) {
          const u64 index = (at - first) / page_size;
          if (index >= states.size()) return;
          states[index] = {.present = true,
                           .anonymous = anonymous,
                           .mapped_once = references == (anonymous ? 1u : 2u),
                           .frame = {found.frame.value + (at - page)}};
        }
      },
      &context);
}

void AddressSpace::page_states(VirtualAddress start, std::span<PageState> pages) {
  for (PageState& page : pages) page = {};
  const VirtualAddress end = start + pages.size() * page_size;
  LockGuard guard{lock_};
  for (const Area* area = areas_.first_above(start); area != nullptr && area->start < end; area = areas_.next(*area)) {
    note_page_states(*area, start, pages);
  }
}

bool AddressSpace::shows_backing(VirtualAddress page) {
  LockGuard guard{lock_};
  const Area* area = areas_.find(page);
  arch::Translation found;
  return area != nullptr && table_.lookup(page, found) && !is_anonymous(*area, found);
}

}  // namespace corral::vm

// What pages of an area are in memory, for those who look at a process from outside. See address_space.h.
#include "memory/page_allocator.h"
#include "vm/address_space.h"

namespace corral::vm {

void PageCounts::add(const PageCounts& other) {
  shared_clean += other.shared_clean;
  shared_dirty += other.shared_dirty;
  private_clean += other.private_clean;
  private_dirty += other.private_dirty;
  anonymous += other.anonymous;
  large += other.large;
  share_bytes += other.share_bytes;
  locked += other.locked;
}

// A page of a file that has left the cache meanwhile is the program's, too, once that may write it.
bool AddressSpace::is_anonymous(const Area& area, const arch::Translation& found) {
  if (!area.backing) return true;
  return !area.shared && (found.rights.write || memory::frame_of(found.frame).state() == FrameState::copied);
}

PageCounts AddressSpace::count_pages(const Area& area) {
  struct Context {
    const Area& area;
    PageCounts counts;
  } context{area, {}};
  table_.for_each(
      area.start, area.end,
      [](void* c, VirtualAddress, const arch::Translation& found) {
        auto& [of, counts] = *static_cast<Context*>(c);
        // The backing has one of the references to what is not anonymous.
        const bool anonymous = is_anonymous(of, found);
        const bool dirty = anonymous || found.rights.write;
        const u64 pages = found.large ? arch::large_page / page_size : 1;
        const u32 references = found.large ? 1 : memory::frame_of(found.frame).references.load(Order::relaxed);
        const u32 users = anonymous || references < 2 ? references : references - 1;
        u64& kind = users > 1 ? (dirty ? counts.shared_dirty : counts.shared_clean)
                              : (dirty ? counts.private_dirty : counts.private_clean);
        kind += pages;
        if (anonymous) counts.anonymous += pages;
        if (found.large) counts.large += pages;
        counts.share_bytes += pages * page_size / (users == 0 ? 1 : users);
      },
      &context);
  if (area.locked) context.counts.locked = context.counts.resident();
  return context.counts;
}

bool AddressSpace::visit_area_with_pages(VirtualAddress& from, void (*visit)(void* context, const Area&, const PageCounts&),
                                         void* context) {
  LockGuard guard{lock_};
  const Area* area = areas_.first_above(from);
  if (area == nullptr) return false;
  from = area->end;
  visit(context, *area, count_pages(*area));
  return true;
}

}  // namespace corral::vm

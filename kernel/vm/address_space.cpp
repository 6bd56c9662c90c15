// Making, ending and describing address spaces. See address_space.h for the rules; faults.cpp, change.cpp, map.cpp,
// protect.cpp, remap.cpp, fork.cpp and user_memory.cpp for the rest of the class.
#include "vm/address_space.h"

#include "memory/page_allocator.h"
#include "vm/core_translation.h"
#include "vm/translation_drop.h"

namespace corral::vm {

namespace {

constinit Atomic<u64> last_number{0};

void release_table(void*, PhysicalAddress table) {
  memory::release_page(memory::frame_of(table));
}

void release_leaf(void*, VirtualAddress, const arch::Translation& translation) {
  memory::release_page(memory::frame_of(translation.frame));
}

}  // namespace

AddressSpace::AddressSpace(arch::PageTable table)
    : number_{last_number.fetch_add(1, Order::relaxed) + 1}, table_{table} {}

Result<Ref<AddressSpace>> AddressSpace::create() {
  arch::PageTable table = TRY(arch::PageTable::create());
  auto* space = new (std::nothrow) AddressSpace(table);
  if (space == nullptr) {
    table.destroy(release_table, nullptr);
    return Errno::enomem;
  }
  return Ref<AddressSpace>::adopt(space);
}

// No core has it loaded (each that has holds a reference), and entries that a core keeps under an id cannot be reached: the
// id is flushed before it serves another address space. So the pages can go at once.
AddressSpace::~AddressSpace() {
  table_.for_each(VirtualAddress{0}, VirtualAddress{user_end}, release_leaf, nullptr);
  table_.destroy(release_table, nullptr);
}

void AddressSpace::activate() {
  CoreTranslation::here().load(*this);
}

void AddressSpace::activate_kernel_only() {
  CoreTranslation::here().load_kernel_only();
}

void AddressSpace::set_break_start(VirtualAddress start) {
  LockGuard guard{lock_};
  break_start_ = break_ = start;
}

Usage AddressSpace::usage() {
  LockGuard guard{lock_};
  return {areas_.mapped_bytes(), resident_, table_.table_pages()};
}

void AddressSpace::for_each_area(void (*visit)(void* context, const Area& area), void* context) {
  LockGuard guard{lock_};
  for (const Area* area = areas_.first(); area != nullptr; area = areas_.next(*area)) visit(context, *area);
}

bool AddressSpace::covers(VirtualAddress start, VirtualAddress end) {
  LockGuard guard{lock_};
  return areas_.covered_until(start, end) == end;
}

Result<Frame*> AddressSpace::hold_page(VirtualAddress page) {
  LockGuard guard{lock_};  // pages are taken out of the table under it, so this one cannot go before it is shared
  arch::Translation found;
  if (page.value >= user_end || !table_.lookup(page, found) || !found.rights.user) return Errno::efault;
  Frame& frame = memory::frame_of(found.frame);
  memory::share_page(frame);
  return &frame;
}

Result<void> AddressSpace::residency(VirtualAddress start, std::span<u8> pages) {
  for (u8& page : pages) page = 0;
  struct Context {
    VirtualAddress start;
    std::span<u8> pages;
  } context{start, pages};
  const VirtualAddress end = start + pages.size() * page_size;
  LockGuard guard{lock_};
  if (areas_.covered_until(start, end) != end) return Errno::enomem;
  table_.for_each(
      start, end,
      [](void* c, VirtualAddress page, const arch::Translation&) {
        auto& into = *static_cast<Context*>(c);
        into.pages[(page - into.start) / page_size] = 1;
      },
      &context);
  return {};
}

arch::Rights AddressSpace::rights_of(const Area& area) {
  return {.write = area.protection.write, .execute = area.protection.execute, .user = !area.protection.none()};
}

bool AddressSpace::permits(const Area& area, Access access) {
  switch (access) {
    case Access::read: return !area.protection.none();  // the processor has no mapping that can be written but not read
    case Access::write: return area.protection.write;
    case Access::execute: return area.protection.execute;
  }
  return false;
}

bool AddressSpace::permits(const arch::Rights& rights, Access access) {
  return rights.user && (access != Access::write || rights.write) && (access != Access::execute || rights.execute);
}

void initialise() {
  TranslationDrop::initialise();
}

}  // namespace corral::vm

// See table_holder.h.
#include "vm/table_holder.h"

#include "memory/page_allocator.h"

namespace corral::vm {

namespace {

void release_table(void*, PhysicalAddress table) {
  memory::release_page(memory::frame_of(table));
}

}  // namespace

Result<Ref<TableHolder>> TableHolder::create() {
  arch::PageTable table = TRY(arch::PageTable::create());
  auto* holder = new (std::nothrow) TableHolder(table);
  if (holder == nullptr) {
    table.destroy(release_table, nullptr);
    return Errno::enomem;
  }
  return Ref<TableHolder>::adopt(holder);
}

TableHolder::~TableHolder() {
  table_.destroy(release_table, nullptr);
}

}  // namespace corral::vm

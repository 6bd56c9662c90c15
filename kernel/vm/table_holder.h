// The page table of an address space, kept until no core has it loaded: a core that rests keeps the last table loaded (it
// uses none of its user half), so a table may outlive its address space. The leaves do not: their pages go with the
// address space.
#pragma once

#include "arch/page_table.h"
#include "lib/ref.h"

namespace corral::vm {

class TableHolder final : public RefCounted<TableHolder> {
 public:
  static Result<Ref<TableHolder>> create();  // enomem
  ~TableHolder();
  [[nodiscard]] arch::PageTable& table() { return table_; }

 private:
  explicit TableHolder(arch::PageTable table) : table_{table} {}
  arch::PageTable table_;
};

}  // namespace corral::vm

// See ram_handles.h.
#include "fs/ram/ram_handles.h"

#include "fs/ram/ram_node.h"
#include "memory/heap.h"

namespace corral::fs {

RamHandles::Entry* RamHandles::entry(u64 number) {
  Entry* found = entries_.first_where([number](const Entry& entry) { return entry.number >= number; });
  return found != nullptr && found->number == number ? found : nullptr;
}

Result<void> RamHandles::add(RamNode& node, u64 number) {
  Entry* fresh = TRY(memory::make<Entry>());
  {
    LockGuard guard{lock_};
    if (entry(number) == nullptr) {
      fresh->node = &node;
      fresh->number = number;
      entries_.insert(*std::exchange(fresh, nullptr));
    }
  }
  delete fresh;
  return {};
}

Result<Ref<Inode>> RamHandles::find(u64 number) {
  LockGuard guard{lock_};
  const Entry* found = entry(number);
  if (found == nullptr || !found->node->retain_if_alive()) return Errno::estale;
  return Ref<Inode>::adopt(found->node);
}

void RamHandles::forget(u64 number) {
  Entry* gone = nullptr;
  {
    LockGuard guard{lock_};
    gone = entry(number);
    entries_.remove(*gone);
  }
  delete gone;
}

}  // namespace corral::fs

// Shared anonymous memory. See shared_memory.h.
#include "vm/shared_memory.h"

#include "memory/page_allocator.h"

namespace corral::vm {

namespace {

constexpr u32 node_shift = 9;
constexpr u64 node_entries = u64{1} << node_shift;
static_assert(node_entries * sizeof(Frame*) == page_size);

Frame** entries_of(const Frame& node) {
  return reinterpret_cast<Frame**>(memory::contents(node));
}

// As deep as the tree: at most four levels, since user addresses have 35 bits of page number.
// NOLINTNEXTLINE(misc-no-recursion): see above
void release_tree(Frame& node, u32 level) {
  for (u64 i = 0; i < node_entries; ++i) {
    Frame* entry = entries_of(node)[i];
    if (entry == nullptr) continue;
    if (level > 1) {
      release_tree(*entry, level - 1);
    } else {
      memory::release_page(*entry);
    }
  }
  memory::release_page(node);
}

}  // namespace

Result<Ref<Backing>> SharedMemory::create(u64 pages) {
  u32 levels = 1;
  while ((pages - 1) >> (levels * node_shift) != 0) ++levels;
  auto* memory = new (std::nothrow) SharedMemory(pages, levels);
  if (memory == nullptr) return Errno::enomem;
  return Ref<Backing>::adopt(memory);
}

SharedMemory::~SharedMemory() {
  LockGuard guard{lock_};
  if (root_ != nullptr) release_tree(*root_, levels_);
}

Result<Frame*> SharedMemory::page(u64 index) {
  if (index >= pages_) return Errno::efault;
  LockGuard guard{lock_};
  Frame** place = &root_;
  for (u32 level = levels_;; --level) {
    if (*place == nullptr) *place = TRY(memory::allocate_page(memory::Zero::yes));
    if (level == 0) break;
    place = &entries_of(**place)[(index >> ((level - 1) * node_shift)) % node_entries];
  }
  memory::share_page(**place);
  return *place;
}

// A short look: past one node's empty entries, of whichever level.
u64 SharedMemory::next_filled(u64 index) {
  if (index >= pages_) return index;
  LockGuard guard{lock_};
  const Frame* node = root_;
  u32 level = levels_;
  while (node != nullptr && level > 0) {
    --level;
    const u64 place = (index >> (level * node_shift)) % node_entries;
    const Frame* below = entries_of(*node)[place];
    if (below == nullptr) {
      u64 next = place + 1;
      while (next < node_entries && entries_of(*node)[next] == nullptr) ++next;
      const u64 before = index >> ((level + 1) * node_shift) << ((level + 1) * node_shift);
      return before + (next << (level * node_shift));
    }
    node = below;
  }
  return node == nullptr ? pages_ : index;
}

}  // namespace corral::vm

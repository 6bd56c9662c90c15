// See inode_backing.h.
#include "fs/inode_backing.h"

#include "fs/walk.h"
#include "lib/memory_functions.h"

namespace corral::fs {

InodeBacking::InodeBacking(Inode& inode) : inode_{Ref<Inode>::share(inode)} {
  inode.mappings.fetch_add(1, Order::seq_cst);
  const Attributes a = inode.attributes();
  identity_ = {a.device, a.inode};
  const std::span<char> room{path_, sizeof path_ - 1};
  const Result<std::string_view> path = path_of(inode, room);
  const std::string_view text = path.ok() ? path.value() : inode.label(room);
  memmove(path_, text.data(), text.size());
  path_[text.size()] = 0;
}

}  // namespace corral::fs

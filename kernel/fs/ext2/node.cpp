// What all files of an ext2 file system have. See node.h.
#include "fs/ext2/node.h"

#include "fs/device_files.h"
#include "fs/ext2/file_system.h"
#include "fs/step_memory.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs::ext2 {

namespace {

// Symbolic links, fifos, sockets, devices.
class PlainNode final : public Node {
 public:
  using Node::Node;
};

template <class T>
Result<Ref<Node>> made(Ext2FileSystem& file_system, InodeBlock inode) {
  Orphan* orphan = TRY(memory::make<Orphan>());
  Result<T*> node = memory::make<T>(file_system, std::move(inode), *orphan);
  if (!node.ok()) {
    delete orphan;
    return node.error();
  }
  return Ref<Node>{Ref<T>::adopt(node.value())};
}

}  // namespace

Node::Node(Ext2FileSystem& file_system, InodeBlock inode, Orphan& orphan)
    : Inode{file_system, inode.type()}, number{inode.number()}, inode_{std::move(inode)}, orphan_{&orphan} {
  file_flags.store(inode_.flags() & inode::visible_flags, Order::relaxed);
}

Node::~Node() {
  Ref<Inode> above;
  bool works = false;
  {
    LockGuard guard{ext2().lock()};
    ext2().forget(*this);
    if (is_removed()) {
      orphan_->number = number;
      ext2().add_orphan(*std::exchange(orphan_, nullptr));
    }
    ext2().end_if_clean();
    works = ext2().begin_work();
    above = place.leave();
  }
  if (works) ext2().start_worker();
  delete orphan_;
  let_go_upwards(std::move(above), [&](Inode& directory) -> Ref<Inode> {
    auto& node = static_cast<Node&>(directory);
    LockGuard guard{ext2().lock()};
    if (node.references() != 1) return {};  // found by its number meanwhile
    ext2().forget(node);
    return node.place.leave();
  });
}

Result<Ref<Node>> Node::make(Ext2FileSystem& file_system, InodeBlock inode) {
  switch (inode.type()) {
    case FileType::regular: return made<FileNode>(file_system, std::move(inode));
    case FileType::directory: return made<DirectoryNode>(file_system, std::move(inode));
    default: return made<PlainNode>(file_system, std::move(inode));
  }
}

Ext2FileSystem& Node::ext2() const {
  return static_cast<Ext2FileSystem&>(file_system());
}

Attributes Node::attributes() {
  Attributes answer;
  {
    LockGuard guard{ext2().lock()};
    const Result<Attributes> found = ext2().volume(nullptr).attributes(number);  // its block is in memory
    if (found.ok()) answer = found.value();
  }
  answer.inode = number;
  answer.type = type();
  answer.device = file_system().device();
  return answer;
}

Result<void> Node::change(const AttributeChange& wanted) {
  if (ext2().read_only()) return Errno::erofs;
  const i64 now = wall_time_ns();
  LockGuard guard{ext2().lock()};
  return ext2().volume(&stepping_thread()).change(number, wanted, now);
}

Result<Ref<Inode>> Node::parent() {
  LockGuard guard{ext2().lock()};
  if (place.directory()) return place.directory();
  if (number == inode::root) return Ref<Inode>::share(*this);
  return Errno::enoent;
}

Result<std::string_view> Node::name(std::span<char> to) {
  LockGuard guard{ext2().lock()};
  return place.name(to);
}

Result<std::string_view> Node::read_link(std::span<char> to) {
  if (type() != FileType::symlink) return Errno::einval;
  LockGuard guard{ext2().lock()};
  return ext2().volume(&stepping_thread()).read_link(number, to);
}

u32 Node::told_flags() const {
  constexpr u32 told = flag_compressed | flag_immutable | flag_append | flag_no_dump | flag_encrypted;
  return type() == FileType::regular || is_directory() ? told : 0;
}

Result<void> Node::set_flags(u32 wanted, bool may_protect) {
  if (told_flags() == 0) return Errno::enotty;
  const i64 now = wall_time_ns();
  LockGuard guard{ext2().lock()};
  const u32 flags = TRY(ext2().volume(&stepping_thread()).set_flags(number, wanted, may_protect, now));
  file_flags.store(flags & inode::visible_flags, Order::relaxed);
  return {};
}

Result<u64> Node::attribute(std::string_view name, std::span<u8> to) {
  LockGuard guard{ext2().lock()};
  return ext2().volume(&stepping_thread()).attribute(number, name, to);
}

Result<void> Node::set_attribute(std::string_view name, std::span<const u8> value, AttributeSetting setting) {
  if (ext2().read_only()) return Errno::erofs;
  const i64 now = wall_time_ns();
  Thread& thread = stepping_thread();
  return ext2().with_room(&thread, [&] {
    LockGuard guard{ext2().lock()};
    return ext2().volume(&thread).set_attribute(number, name, value, setting, now);
  });
}

Result<void> Node::remove_attribute(std::string_view name) {
  if (ext2().read_only()) return Errno::erofs;
  const i64 now = wall_time_ns();
  Thread& thread = stepping_thread();
  return ext2().with_room(&thread, [&] {  // of a block that others share there has to be a copy
    LockGuard guard{ext2().lock()};
    return ext2().volume(&thread).remove_attribute(number, name, now);
  });
}

Result<u64> Node::list_attributes(std::span<char> to, bool trusted) {
  LockGuard guard{ext2().lock()};
  return ext2().volume(&stepping_thread()).list_attributes(number, to, trusted);
}

Result<Ref<OpenFile>> Node::open(const OpenRequest& request) {
  switch (type()) {
    case FileType::fifo: return fifo_.open(*this, request);
    case FileType::character:
    case FileType::block: return open_device(*this, attributes().special, request);
    default: return Errno::enxio;
  }
}

Result<void> Node::sync(u64& progress) {
  return ext2().sync(progress);
}

}  // namespace corral::fs::ext2

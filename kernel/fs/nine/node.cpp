// What all files of a 9P server have. See node.h.
#include "fs/nine/node.h"

#include "fs/device_files.h"
#include "fs/nine/file_system.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/thread.h"

namespace corral::fs::nine {

namespace {

// Sockets, and what has no type of its own.
class PlainNode final : public Node {
 public:
  using Node::Node;
};

template <class T>
Result<Ref<Node>> made(NineFileSystem& file_system, const FileAttributes& attributes, u32 fid) {
  return Ref<Node>{Ref<T>::adopt(TRY(memory::make<T>(file_system, attributes, fid)))};
}

}  // namespace

Attributes attributes_of(const FileAttributes& from, u64 device) {
  Attributes to;
  to.device = device;
  to.inode = from.qid.path;
  to.type = type_of_mode(from.mode);
  to.permissions = from.mode & 07777;
  to.links = static_cast<u32>(from.links);
  to.user = from.user;
  to.group = from.group;
  to.special = DeviceNumber::decoded(from.special);
  to.size = from.size;
  to.blocks = from.blocks;
  to.accessed_ns = from.accessed_ns;
  to.modified_ns = from.modified_ns;
  to.changed_ns = to.born_ns = from.changed_ns;
  return to;
}

Node::Node(NineFileSystem& file_system, const FileAttributes& attributes, u32 its_fid)
    : Inode{file_system, type_of_mode(attributes.mode)},
      path{attributes.qid.path},
      fid{its_fid},
      known{attributes_of(attributes, file_system.device())} {}

Node::~Node() {
  Ref<Inode> above;
  {
    LockGuard guard{nine().names()};
    nine().forget(*this);
    above = place.leave();
  }
  server().clunk(fid);
  let_go_upwards(std::move(above), [&](Inode& directory) -> Ref<Inode> {
    auto& node = static_cast<Node&>(directory);
    LockGuard guard{nine().names()};
    if (node.references() != 1) return {};  // found by its number meanwhile
    nine().forget(node);
    return node.place.leave();
  });
}

FidHold::FidHold(Node& node) : node_{Ref<Node>::share(node)} {
  LockGuard guard{node.nine().names()};
  ++node.fid_holds;
}

FidHold::~FidHold() {
  LockGuard guard{node_->nine().names()};
  --node_->fid_holds;
}

Result<Ref<Node>> Node::make(NineFileSystem& file_system, const FileAttributes& attributes, u32 fid) {
  switch (type_of_mode(attributes.mode)) {
    case FileType::regular: return made<FileNode>(file_system, attributes, fid);
    case FileType::directory: return made<DirectoryNode>(file_system, attributes, fid);
    default: return made<PlainNode>(file_system, attributes, fid);
  }
}

NineFileSystem& Node::nine() const {
  return static_cast<NineFileSystem&>(file_system());
}

Server& Node::server() const {
  return nine().server();
}

Attributes Node::attributes() {
  Attributes answer;
  {
    LockGuard guard{nine().names()};
    answer = known;
  }
  note_attributes(answer);
  return answer;
}

bool Node::update(const FileAttributes& fresh, Instant) {
  const i64 before = known.changed_ns;
  known = attributes_of(fresh, known.device);
  if (before != known.changed_ns) link_ = {};
  return before != known.changed_ns;
}

Result<Ref<Inode>> Node::parent() {
  LockGuard guard{nine().names()};
  if (place.directory()) return place.directory();
  if (nine().root().get() == this) return Ref<Inode>::share(*this);
  return Errno::enoent;
}

Result<std::string_view> Node::name(std::span<char> to) {
  LockGuard guard{nine().names()};
  return place.name(to);
}

Result<std::string_view> Node::read_link(std::span<char> to) {
  if (type() != FileType::symlink) return Errno::einval;
  Ref<ReadLinkTalk> gone;
  LockGuard guard{nine().names()};
  if (!link_) link_ = Ref<ReadLinkTalk>::adopt(TRY(memory::make<ReadLinkTalk>(server(), fid)));
  const Result<void> answered = link_->run(stepping_thread());
  if (!answered.ok()) {
    if (answered.error() != Errno::blocked) std::swap(gone, link_);
    return answered.error();
  }
  const std::string_view text = link_->text();
  const u64 size = smaller(text.size(), to.size());
  memcpy(to.data(), text.data(), size);
  return std::string_view{to.data(), size};
}

Result<Ref<OpenFile>> Node::open(const OpenRequest& request) {
  switch (type()) {
    case FileType::fifo: return fifo_.open(*this, request);
    case FileType::character:
    case FileType::block: return open_device(*this, known.special, request);
    default: return Errno::enxio;
  }
}

}  // namespace corral::fs::nine

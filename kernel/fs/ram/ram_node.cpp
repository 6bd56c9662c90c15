// Attributes of files in memory, symbolic links, device nodes. See ram_node.h.
#include "fs/ram/ram_node.h"

#include "fs/device_files.h"
#include "fs/ram/ram_attributes.h"
#include "fs/ram/ram_directory.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

RamNode::RamNode(RamFileSystem& file_system, FileType type, u32 permissions)
    : Inode{file_system, type}, number_{file_system.next_inode_number()}, kept_{permissions} {
  file_system.count_file(true);
}

RamNode::~RamNode() {
  if (has_handle_.load(Order::relaxed)) [[unlikely]]
    ram().handles().forget(number_);
  delete extended_.load(Order::acquire);
  ram().count_file(false);
}

Result<u64> RamNode::attribute(std::string_view name, std::span<u8> to) {
  RamAttributes* attributes = extended_.load(Order::acquire);
  if (attributes == nullptr) return Errno::enodata;
  return attributes->get(name, to);
}

Result<void> RamNode::set_attribute(std::string_view name, std::span<const u8> value, AttributeSetting setting) {
  RamAttributes* attributes = extended_.load(Order::acquire);
  if (attributes == nullptr) {
    RamAttributes* made = TRY(memory::make<RamAttributes>(ram()));
    if (extended_.compare_exchange(attributes, made, Order::acq_rel, Order::acquire)) {
      attributes = made;
    } else {
      delete made;  // another thread was first, and its own is there
    }
  }
  TRY(attributes->set(name, value, setting));
  touch_changed();
  return {};
}

Result<void> RamNode::remove_attribute(std::string_view name) {
  RamAttributes* attributes = extended_.load(Order::acquire);
  if (attributes == nullptr) return Errno::enodata;
  TRY(attributes->remove(name));
  touch_changed();
  return {};
}

Result<u64> RamNode::list_attributes(std::span<char> to, bool trusted) {
  RamAttributes* attributes = extended_.load(Order::acquire);
  if (attributes == nullptr) return u64{0};
  return attributes->list(to, trusted);
}

Attributes RamNode::attributes() {
  Attributes a;
  a.device = file_system().device();
  a.inode = number_;
  a.type = type();
  a.links = links.load(Order::relaxed);
  a.size = size_now();
  a.blocks = pages_now() * (page_size / 512);
  kept_.tell(a);
  return a;
}

Result<void> RamNode::change(const AttributeChange& change) {
  kept_.change(change);
  return {};
}

u32 RamNode::told_flags() const {
  return type() == FileType::regular || is_directory() ? flag_immutable | flag_append | flag_no_dump : 0;
}

Result<void> RamNode::set_flags(u32 wanted, bool may_protect) {
  if (told_flags() == 0) return Errno::enotty;
  u32 now = file_flags.load(Order::relaxed);
  do {
    if (((now ^ wanted) & (flag_immutable | flag_append)) != 0 && !may_protect) return Errno::eperm;
    if ((wanted & ~(flag_immutable | flag_append | flag_no_dump | flag_no_access_time)) != 0) return Errno::eopnotsupp;
  } while (!file_flags.compare_exchange(now, wanted, Order::relaxed, Order::relaxed));
  touch_changed();
  return {};
}

void RamNode::inherit_flags(const RamNode& directory) {
  file_flags.store(directory.file_flags.load(Order::relaxed) & (flag_no_dump | flag_no_access_time), Order::relaxed);
}

Result<u64> RamNode::make_handle() {
  TRY(ram().handles().add(*this, number_));
  has_handle_.store(true, Order::relaxed);  // read by whoever lets go of the last reference, later
  return number_;
}

Result<Ref<Inode>> RamNode::parent() {
  LockGuard guard{ram().names()};
  if (place.directory == nullptr) return Errno::enoent;
  return Ref<Inode>::share(*place.directory);
}

Result<std::string_view> RamNode::name(std::span<char> to) {
  LockGuard guard{ram().names()};
  if (place.directory == nullptr || to.size() < place.name.size()) return Errno::enoent;
  memcpy(to.data(), place.name.data(), place.name.size());
  return std::string_view{to.data(), place.name.size()};
}

Result<Ref<RamNode>> RamLink::create(RamFileSystem& file_system, std::string_view target) {
  auto* text = static_cast<char*>(memory::allocate(target.size() + 1));
  if (text == nullptr) return Errno::enomem;
  memcpy(text, target.data(), target.size());
  text[target.size()] = 0;
  auto* made = new (std::nothrow) RamLink(file_system, text, target.size());
  if (made == nullptr) {
    memory::release(text);
    return Errno::enomem;
  }
  return Ref<RamNode>::adopt(made);
}

RamLink::~RamLink() {
  memory::release(text_);
}

Result<std::string_view> RamLink::read_link(std::span<char> to) {
  const u64 size = smaller(size_, to.size());
  memcpy(to.data(), text_, size);
  return std::string_view{to.data(), size};
}

Attributes RamDevice::attributes() {
  Attributes a = RamNode::attributes();
  a.special = device_;
  return a;
}

Result<Ref<OpenFile>> RamDevice::open(const OpenRequest& request) {
  return open_device(*this, device_, request);
}

}  // namespace corral::fs

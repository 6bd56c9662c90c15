// See ram_file_system.h.
#include "fs/ram/ram_file_system.h"

#include "fs/ram/ram_directory.h"
#include "memory/heap.h"

namespace corral::fs {

namespace {
constexpr u64 tmpfs_magic = 0x01021994;
constexpr u64 file_limit = 1u << 20;  // only told, not enforced: memory is the limit
}  // namespace

Result<Ref<RamFileSystem>> RamFileSystem::create(const char* type, u64 page_limit, u32 root_permissions) {
  Ref<RamFileSystem> made = Ref<RamFileSystem>::adopt(new (std::nothrow) RamFileSystem(type, page_limit));
  if (!made) return Errno::enomem;
  RamDirectory* root = TRY(memory::make<RamDirectory>(*made, root_permissions));
  root->become_root();
  made->root_ = root;
  return made;
}

RamFileSystem::~RamFileSystem() = default;

Ref<Inode> RamFileSystem::root() {
  return Ref<Inode>::share(*root_);
}

void RamFileSystem::dismantle() {
  root_->clear_tree();
  std::exchange(root_, nullptr)->drop();
}

FileSystemStatistics RamFileSystem::statistics() {
  if (magic_ != 0) return {.magic = magic_};
  const u64 used = pages_used_.load(Order::relaxed) + pages_of_bytes();
  const u64 files = files_.load(Order::relaxed);
  return {.magic = tmpfs_magic,
          .blocks = page_limit_,
          .blocks_free = used < page_limit_ ? page_limit_ - used : 0,
          .pages_beside = copies_.load(Order::relaxed),
          .files = file_limit,
          .files_free = files < file_limit ? file_limit - files : 0};
}

Result<void> RamFileSystem::charge_page() {
  if (pages_used_.fetch_add(1, Order::relaxed) + pages_of_bytes() >= page_limit_) {
    discharge(1);
    return Errno::enospc;
  }
  return {};
}

Result<void> RamFileSystem::charge_bytes(u64 bytes) {
  bytes_used_.fetch_add(bytes, Order::relaxed);
  if (pages_used_.load(Order::relaxed) + pages_of_bytes() > page_limit_) {
    discharge_bytes(bytes);
    return Errno::enospc;
  }
  return {};
}

Result<u64> RamFileSystem::handle_of(Inode& file) {
  if (own_files_only_) return Errno::eopnotsupp;
  return static_cast<RamNode&>(file).make_handle();
}

void RamFileSystem::count_file(bool more) {
  if (more) {
    files_.fetch_add(1, Order::relaxed);
  } else {
    files_.fetch_sub(1, Order::relaxed);
  }
}

}  // namespace corral::fs

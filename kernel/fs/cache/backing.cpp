// Files' pages as mappings see them.
#include "fs/cache/file_pages.h"
#include "fs/walk.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"

namespace corral::fs {

namespace {

class FileBacking final : public vm::Backing {
 public:
  FileBacking(Inode& inode, FilePages& pages) : inode_{Ref<Inode>::share(inode)}, pages_{pages}, told_{inode} {
    inode.mappings.fetch_add(1, Order::seq_cst);
    const Attributes a = inode.attributes();
    identity_ = {a.device, a.inode};
    const Result<std::string_view> path = path_of(inode, std::span{path_, sizeof path_ - 1});
    if (!path.ok()) return;
    memmove(path_, path.value().data(), path.value().size());
    path_[path.value().size()] = 0;
  }
  ~FileBacking() override { inode_->mappings.fetch_sub(1, Order::relaxed); }
  Result<Frame*> page(u64 index) override { return pages_.page(index, nullptr); }
  Result<Frame*> page_or_wait(u64 index, Waiter& waiter) override { return pages_.page(index, &waiter); }
  void pages_at_hand(u64 first, std::span<Frame*> frames) override { pages_.pages_at_hand(first, frames); }
  [[nodiscard]] bool notices_writes() const override { return true; }
  Result<void> prepare_write(u64 index, Waiter& waiter) override { return pages_.prepare_write(index, waiter); }
  Result<void> sync(u64& progress) override {
    TRY(inode_->sync(progress));
    return told_.of_file(*inode_);
  }
  [[nodiscard]] const void* file() const override { return static_cast<const Inode*>(inode_.get()); }
  [[nodiscard]] u64 cuts() const override { return inode_->cuts.load(Order::acquire); }
  [[nodiscard]] vm::FileIdentity identity() const override { return identity_; }
  [[nodiscard]] const char* name() const override { return path_; }

 private:
  Ref<Inode> inode_;  // of which pages_ is part
  FilePages& pages_;
  WriteErrorsTold told_;
  vm::FileIdentity identity_;
  char path_[256] = {};
};

}  // namespace

Result<Ref<vm::Backing>> make_backing(Inode& inode, FilePages& pages) {
  return Ref<vm::Backing>{Ref<FileBacking>::adopt(TRY(memory::make<FileBacking>(inode, pages)))};
}

}  // namespace corral::fs

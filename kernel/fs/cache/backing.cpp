// Files' pages as mappings see them.
#include "fs/cache/file_pages.h"
#include "fs/inode_backing.h"
#include "memory/heap.h"

namespace corral::fs {

namespace {

class FileBacking final : public InodeBacking {
 public:
  FileBacking(Inode& inode, FilePages& pages) : InodeBacking{inode}, pages_{pages}, told_{inode} {}
  Result<Frame*> page(u64 index) override { return pages_.page(index, nullptr); }
  Result<Frame*> page_or_wait(u64 index, Waiter& waiter) override { return pages_.page(index, &waiter); }
  void pages_at_hand(u64 first, std::span<Frame*> frames) override { pages_.pages_at_hand(first, frames); }
  [[nodiscard]] bool notices_writes() const override { return true; }
  Result<void> prepare_write(u64 index, Waiter& waiter) override { return pages_.prepare_write(index, waiter); }
  Result<void> sync(u64& progress) override {
    TRY(inode().sync(progress));
    return told_.of_file(inode());
  }

 private:
  FilePages& pages_;  // part of the inode
  WriteErrorsTold told_;
};

}  // namespace

Result<Ref<vm::Backing>> make_backing(Inode& inode, FilePages& pages) {
  return Ref<vm::Backing>{Ref<FileBacking>::adopt(TRY(memory::make<FileBacking>(inode, pages)))};
}

}  // namespace corral::fs

// See anonymous.h.
#include "fs/anonymous.h"

#include "fs/ram/ram_file.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"

namespace corral::fs {

namespace {
constinit RamFileSystem* files = nullptr;  // lives for ever
constinit Atomic<u64> next_number{1};
}  // namespace

Result<void> initialise_anonymous_files() {
  Ref<RamFileSystem> made = TRY(RamFileSystem::create("tmpfs", memory::page_statistics().total / 2));
  files = made.release();
  return {};
}

FileSystem& anonymous_files() {
  return *files;
}

u64 next_anonymous_number() {
  return next_number.fetch_add(1, Order::relaxed);
}

Result<Ref<Inode>> make_memory_file(u32 permissions) {
  return Ref<Inode>{Ref<RamFile>::adopt(TRY(memory::make<RamFile>(*files, permissions)))};
}

}  // namespace corral::fs

// Mounting the ext2 file system of a disk. See file_system.h.
#include "fs/ext2/file_system.h"
#include "fs/step_memory.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "memory/page_allocator.h"
#include "task/thread.h"
#include "trace/log.h"

namespace corral::fs::ext2 {

namespace {

// Kept by the step that mounts; the disk is its own, until the file system has taken it over.
class Mounting final : public Operation {
 public:
  Mounting(Disk& disk, bool read_only) : disk_{disk}, read_only_{read_only} {}
  ~Mounting() override {
    if (file_system) {
      file_system->dismantle();
    } else if (has_disk_) {
      disk_.give_back();
    }
  }
  Result<void> run(Waiter& waiter) override;
  Ref<Ext2FileSystem> file_system;
  bool finished = false;

 private:
  Result<void> read_superblock(Waiter& waiter);
  Disk& disk_;
  const bool read_only_;
  bool has_disk_ = false;
  u64 flush_ = 0;
  u64 mark_flush_ = 0;
  bool forgotten_ = false;  // once: what is read after that is what it waits for
};

Result<void> Mounting::read_superblock(Waiter& waiter) {
  // What was written to the disk as a whole is there, and nothing of it is believed any more.
  if (!forgotten_) {
    TRY(disk_.pages().flush(flush_, waiter));
    disk_.pages().forget_clean();
    forgotten_ = true;
  }
  Result<Frame*> page = disk_.pages().page(0, &waiter);
  if (!page.ok()) return page.error() == Errno::efault ? Errno::einval : page.error();
  u8 bytes[superblock_size];
  memcpy(bytes, memory::contents(*page.value()) + superblock_offset, superblock_size);
  memory::release_page(*page.value());
  const char* why = nullptr;
  const Result<Geometry> geometry = read_geometry(bytes, disk_.size(), why);
  if (!geometry.ok()) {
    log::error("ext2: {} is not mounted: {}", disk_.device_name(), why);
    return geometry.error();
  }
  const Geometry& g = geometry.value();
  if (disk_.read_only() && !read_only_) return Errno::eacces;
  if (!g.writable && !read_only_)
    log::notice("ext2: {}: uses features of ext4, so it is mounted to be read only", disk_.device_name());
  if (!g.was_clean && !read_only_)
    log::warning("ext2: {}: was not unmounted, or has errors: check it with e2fsck", disk_.device_name());
  Ref<Metadata> metadata = Ref<Metadata>::adopt(TRY(memory::make<Metadata>(disk_, g.block_size, g.blocks)));
  has_disk_ = false;  // it is the metadata's now
  file_system =
      Ref<Ext2FileSystem>::adopt(TRY(memory::make<Ext2FileSystem>(disk_, g, std::move(metadata), read_only_ || !g.writable)));
  return {};
}

Result<void> Mounting::run(Waiter& waiter) {
  if (finished) return {};
  if (!file_system) {
    has_disk_ = has_disk_ || disk_.take();
    if (!has_disk_) {
      Result<Ref<Ext2FileSystem>> detached = Ext2FileSystem::detached_from(disk_, read_only_);
      if (detached.ok()) file_system = detached.take();
      has_disk_ = !detached.ok() && disk_.take();  // it may have been given back by now
      if (!detached.ok() && !has_disk_) return detached.error();
    }
    if (!file_system) TRY(read_superblock(waiter));
  }
  TRY(file_system->start(waiter));
  // The disk says that it is in use before anything else on it changes.
  if (!file_system->read_only()) {
    TRY(file_system->metadata().pages().flush(mark_flush_, waiter));
    if (file_system->metadata().pages().errors().any()) return Errno::eio;
  }
  finished = true;
  return {};
}

}  // namespace

Result<Ref<FileSystem>> mount(Thread& thread, Disk& disk, bool read_only) {
  (void)TRY(StepMemory::perform(thread, [&]() -> Result<Ref<Operation>> {
    return Ref<Operation>{Ref<Mounting>::adopt(TRY(memory::make<Mounting>(disk, read_only)))};
  }));
  auto& done = static_cast<Mounting&>(*StepMemory::find(thread)->last());
  return Ref<FileSystem>{std::exchange(done.file_system, Ref<Ext2FileSystem>{})};
}

}  // namespace corral::fs::ext2

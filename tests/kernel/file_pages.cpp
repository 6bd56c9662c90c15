// In the kernel: what is written into the page cache of a file whose places must be waited for goes into it as a whole.
#include "fs/cache/file_pages.h"

#include "core/core.h"
#include "fs/ram/ram_directory.h"
#include "fs/transfer.h"
#include "kernel_test.h"
#include "lib/memory_functions.h"
#include "memory/heap.h"
#include "task/executive.h"

namespace corral::tests {

namespace {

using namespace fs;

constexpr u64 whole = 3 * page_size;

constinit u8 block[whole] = {};

// A file that is kept nowhere. One of its pages gets a place only when it is asked for the second time.
class SlowFile final : public Inode, public FilePages::Store {
 public:
  explicit SlowFile(FileSystem& file_system) : Inode{file_system, FileType::regular}, pages{*this, *this} {}
  [[nodiscard]] Attributes attributes() override { return {}; }

  Result<Extent> find(u64, u64 count, Waiter*) override { return Extent{{}, count}; }
  Result<PagePlace> reserve(u64 index, u32, u32, Waiter* waiter) override {
    if (index == slow_page) {
      slow_page = none;
      return waiter != nullptr ? Errno::blocked : Errno::eagain;
    }
    return PagePlace{index + 1};
  }
  PageRun* make_run() override { return new (std::nothrow) PageRun; }
  void start(PageRun& run) override { run.finished(run.bytes()); }

  static constexpr u64 none = ~u64{0};
  u64 slow_page = none;
  FilePages pages;
};

Waiter& waiter() {
  return *this_core().executive->current();
}

Ref<SlowFile> slow_file() {
  Result<Ref<RamFileSystem>> ram = RamFileSystem::create("tmpfs", 1);
  if (!ram.ok()) return {};
  Result<SlowFile*> made = memory::make<SlowFile>(*ram.value());
  return made.ok() ? Ref<SlowFile>::adopt(made.value()) : Ref<SlowFile>{};
}

Result<u64> write(SlowFile& file, u64 offset, u8 byte, Waiter* who) {
  memset(block, byte, whole);
  Transfer from{std::span<const u8>{block, whole}};
  return file.pages.write(offset, from, 0, whole, who);
}

Result<u64> append(SlowFile& file, u8 byte, u64& end) {
  memset(block, byte, whole);
  Transfer from{std::span<const u8>{block, whole}};
  return file.pages.append(from, 0, whole, end, &waiter());
}

// All `size` bytes from there on.
bool has(SlowFile& file, u64 offset, u64 size, u8 byte) {
  memset(block, 0xee, whole);
  Transfer to{std::span<u8>{block, size}};
  const Result<u64> got = file.pages.read(offset, to, 0, size, &waiter());
  if (!got.ok() || got.value() != size) return false;
  for (u64 i = 0; i < size; ++i) {
    if (block[i] != byte) return false;
  }
  return true;
}

bool forget(SlowFile& file) {
  LockGuard ending{file.pages.end_lock()};
  return file.pages.truncate(0, waiter()).ok() && file.pages.pages_in_memory() == 0;
}

}  // namespace

KERNEL_TEST(file_pages_a_write_that_has_to_wait_begins_again) {
  const Ref<SlowFile> file = slow_file();
  KERNEL_EXPECT(file);
  file->slow_page = 2;
  const Result<u64> waits = write(*file, 0, 'a', &waiter());
  KERNEL_EXPECT(!waits.ok() && waits.error() == Errno::blocked);
  // Cut and written by somebody else meanwhile: it is all there nevertheless.
  KERNEL_EXPECT(write(*file, 0, 'b', &waiter()).value() == whole);
  KERNEL_EXPECT(write(*file, 0, 'a', &waiter()).value() == whole && has(*file, 0, whole, 'a'));
  // Who does not wait is told how far it came.
  file->slow_page = 4;
  KERNEL_EXPECT(write(*file, whole, 'c', nullptr).value() == page_size && file->pages.size() == whole + page_size);
  KERNEL_EXPECT(forget(*file));
  KERNEL_PASSED;
}

KERNEL_TEST(file_pages_what_is_appended_is_there_once) {
  const Ref<SlowFile> file = slow_file();
  KERNEL_EXPECT(file);
  u64 end = 0;
  KERNEL_EXPECT(append(*file, 'a', end).value() == whole && end == whole);
  file->slow_page = 3;
  const Result<u64> waits = append(*file, 'b', end);
  KERNEL_EXPECT(!waits.ok() && waits.error() == Errno::blocked && file->pages.size() == whole);
  file->slow_page = 4;
  KERNEL_EXPECT(append(*file, 'b', end).value() == page_size && end == whole + page_size && file->pages.size() == end);
  KERNEL_EXPECT(append(*file, 'b', end).value() == whole && end == 2 * whole + page_size);
  KERNEL_EXPECT(has(*file, 0, whole, 'a') && has(*file, whole, whole, 'b') && has(*file, end - page_size, page_size, 'b'));
  KERNEL_EXPECT(forget(*file));
  KERNEL_PASSED;
}

}  // namespace corral::tests
